"""Clamp: a large observation is shortened when it arrives."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..observations import clamp
from ..view import Line, View
from .base import Desk, Watermarks
from .keep import drop_oldest


@dataclass(frozen=True, slots=True)
class Clamp(Watermarks):
    """Shortens each observation that is larger than `share` of the room, once, when it arrives.

    What is cut stays readable by its ref; the figures in it are shown first. Old steps are left out when that is
    not enough.
    """

    share: float = 0.25

    def arrive(self, view: View, line: Line, desk: Desk) -> None:
        """Shorten the observation if it is larger than its share."""
        clamp_line(view, line, desk, int(desk.room * self.share))

    def compact(self, view: View, goal: int, desk: Desk) -> None:
        """Leave out the oldest steps."""
        drop_oldest(view, goal, keep=1)


_LEAST = 100  # tokens of text: a small room is no reason to show next to nothing of what was just asked for


def clamp_line(view: View, line: Line, desk: Desk, room: int) -> None:
    """Shorten a line's text to `room` tokens, framing counted; figures of the cut part first."""
    if line.tokens <= room:
        return
    frame = desk.counter.message(replace(line.message, content=None))
    room = max(room - frame, _LEAST)
    if line.tokens <= frame + room:
        return

    def values(tokens: int, shown: str) -> str:
        return desk.facts.render(tokens, desk.about, sources={line.ref}, count=desk.counter.count, visible=shown)

    text = clamp(line.message.outline, room, desk.counter, line.ref, about=desk.about, values=values)
    view.rewrite("clamp", line, text)
