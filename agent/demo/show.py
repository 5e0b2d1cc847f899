"""Prints a run while it goes on: each step against the budget, what left the context, and what it was left with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from ...memory.carry import spans
from ...memory.memory import Memory
from ...memory.view import Compaction, Edit
from ..events import Event, Observed, Recalled, RunStarted, StepStarted, ToolCalled, Warned

_BAR = 20  # characters of the bar that shows how full the context is
_FACTS_SHOWN = 4  # lines
_LINE = 100  # characters of a call or a line of facts
_WHAT = {
    "clamp": "clamped",
    "mask": "masked",
    "shorten": "shortened",
    "fold": "folded",
    "drop": "dropped",
}


class Show:
    """Takes the events of one run after the other and prints them as lines."""

    def __init__(self, console: Console, memory: Memory) -> None:
        self._console = console
        self._memory = memory
        self._compactions = 0
        self._observed: dict[str, Mapping[str, Any]] = {}

    def event(self, event: Event) -> None:
        """Print what an event tells, if it is something to see."""
        if isinstance(event, RunStarted):
            self._compactions = 0
            self._print(f"[dim]run {event.run_id}[/]")
        elif isinstance(event, Recalled):
            for recall in event.recalls:
                self._print(f"[magenta]recalled[/] {escape(_short(recall.outcome.goal))}")
                self._print(f"         [dim]{escape(_short(recall.explain()))}[/]")
        elif isinstance(event, StepStarted):
            self._compacted()
            self._print(
                f"[bold]step {event.step:>2}[/]  {_bar(event.tokens, event.limit)} "
                f"{event.tokens:>5,} of {event.limit:,} tokens in {event.messages} messages"
            )
        elif isinstance(event, ToolCalled):
            self._observed[event.call] = event.arguments
        elif isinstance(event, Observed):
            self._call(event)
        elif isinstance(event, Warned):
            self._print(f"         [yellow]{escape(event.reason)}[/]")

    def _call(self, event: Observed) -> None:
        values = [v if isinstance(v, str) else json.dumps(v) for v in self._observed.pop(event.call, {}).values()]
        size = self._memory.counter.count(event.text)
        came = _short(event.text) if size <= 20 else f"{size:,} tokens"
        colour = "red" if event.failed else "cyan"
        self._print(f"         [{colour}]{event.name}[/] {escape(_short(', '.join(values)))} [dim]→[/] {escape(came)}")

    def _compacted(self) -> None:
        compactions = self._memory.short_term.compactions
        for compaction in compactions[self._compactions :]:
            self._print(f"         [green]{_what_left(compaction)}[/]")
            for line in _carried(compaction):
                self._print(f"         [dim]{escape(_short(line))}[/]")
        self._compactions = len(compactions)

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)


def _what_left(compaction: Compaction) -> str:
    """`masked m4, m6; folded m3-m12: 2,480 → 1,320 tokens`."""
    refs: dict[str, list[str]] = {}
    for edit in compaction.edits:
        if edit.action != "carry":
            refs.setdefault(_WHAT[edit.action], []).append(edit.ref)
    said = "; ".join(f"{what} {spans(list(dict.fromkeys(which)))}" for what, which in refs.items())
    return f"{said or 'carried forward anew'}: {compaction.before:,} → {compaction.after:,} tokens"


def _carried(compaction: Compaction) -> list[str]:
    """The lines of facts in the carried-forward block that the compaction has set."""
    block = next((edit.text for edit in reversed(_blocks(compaction.edits)) if edit.text), "")
    lines = (block or "").partition("Values seen:\n")[2].splitlines()[:-1]
    more = len(lines) - _FACTS_SHOWN
    return [f"carried {line}" for line in lines[:_FACTS_SHOWN]] + ([f"… and {more} more"] if more > 0 else [])


def _blocks(edits: Iterable[Edit]) -> Sequence[Edit]:
    return [edit for edit in edits if edit.action == "carry"]


def _bar(tokens: int, limit: int) -> str:
    full = min(_BAR, round(_BAR * tokens / limit))
    return f"[blue]{'█' * full}[/][dim]{'░' * (_BAR - full)}[/]"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
