"""Policies that leave out whole steps, and keep no word of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..view import View
from .base import Desk, Watermarks


@dataclass(frozen=True, slots=True)
class KeepAll(Watermarks):
    """Keeps everything; only a context that does not fit at all is shortened, by the guarantee."""

    def compact(self, view: View, goal: int, desk: Desk) -> None:
        """Nothing leaves by this policy."""


@dataclass(frozen=True, slots=True)
class KeepLast(Watermarks):
    """Keeps the last steps that fit under the low mark, at most `steps` of them."""

    steps: int | None = None

    def compact(self, view: View, goal: int, desk: Desk) -> None:
        """Leave out the oldest steps."""
        drop_oldest(view, goal, keep=1, most=self.steps)


@dataclass(frozen=True, slots=True)
class KeepEnds(Watermarks):
    """Keeps the first `first` steps, which often say how the work is set up, and the last ones that fit."""

    first: int = 2

    def compact(self, view: View, goal: int, desk: Desk) -> None:
        """Leave out steps from the middle, the oldest first."""
        drop_oldest(view, goal, keep=1, skip=self.first)


def drop_oldest(view: View, goal: int, *, keep: int, skip: int = 0, most: int | None = None) -> None:
    """Take out the oldest steps until the view is at `goal`, sparing the first `skip` and the last `keep`."""
    steps = view.steps()
    for at, step in enumerate(steps[: len(steps) - keep]):
        too_many = most is not None and len(steps) - at > most
        if at < skip or (view.tokens <= goal and not too_many):
            continue
        view.remove("drop", step)
