"""Which facts are shown when not all fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple

from .rendering import written
from .shelves import Item

MAX_TEXT = 160
"""Characters of the longest fact that is shown."""
SEPARATOR = 1
"""Tokens between two values."""


class _Line(NamedTuple):
    """What is said of one source, since when, for how many tokens and values."""

    last: int
    text: str
    tokens: int
    values: int


def fit(items: Iterable[Item], budget_tokens: int, measure: Callable[[str], int], visible: str = "") -> str:
    """The lines of the first items that take at most `budget_tokens`: one a source, in the order in which they came.

    Values that stand in `visible` are left out, and values inside a longer one that is shown already. `measure` counts
    the tokens of a value, or of one or more lines.
    """
    chosen = _choose(items, budget_tokens, measure, visible)
    lines: dict[str | None, _Line] = {}
    while chosen:
        groups: dict[str | None, list[Item]] = {}
        for item in chosen:
            groups.setdefault(item.fact.source, []).append(item)
        for source, group in groups.items():
            if source not in lines or lines[source].values != len(group):  # values only leave, so as many are the same
                text = written(group)
                lines[source] = _Line(min(i.entry.last for i in group), text, measure(text + "\n"), len(group))
        shown = [lines[source] for source in groups]
        tokens = sum(line.tokens for line in shown)
        if tokens <= budget_tokens:
            text = "\n".join(line.text for line in sorted(shown, key=itemgetter(0)))
            tokens = measure(text)
            if tokens <= budget_tokens:
                return text
        chosen = chosen[: min(len(chosen) - 1, int(len(chosen) * budget_tokens / tokens))]
    return ""


def _choose(items: Iterable[Item], room: int, measure: Callable[[str], int], visible: str) -> list[Item]:
    """The first items, as long as their values alone fit the room."""
    chosen: list[Item] = []
    shown = ""
    for item in items:
        text = item.line or item.fact.text
        if text in visible or text in shown or (len(text) > MAX_TEXT and not item.line):
            continue
        room -= measure(text) + SEPARATOR
        if room < 0:
            break
        chosen.append(item)
        shown = f"{shown}\n{text}"
    return chosen
