"""Which facts are shown when not all fit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple

from .rendering import beginning, say, written
from .shelves import Item
from .sight import Sight

MAX_TEXT = 160
"""Characters of the longest fact that is shown."""
SEPARATOR = 1
"""Tokens between two values."""
NAMED = 2
"""Tokens beside a name: its separator, and a word of label that it has if no other name is near."""
SPARE = 1.15
"""So many times the budget is chosen from, since what is likely is on the high side."""
ENOUGH = 0.95
"""Of the budget: more is not tried."""


class _Line(NamedTuple):
    """What is said of one source, since when, for how many tokens and values."""

    last: int
    text: str
    tokens: int
    values: int


def fit(items: Iterable[Item], budget_tokens: int, measure: Callable[[str], int], visible: str | Sight = "") -> str:
    """The lines of the first items that take at most `budget_tokens`: one a source, in the order in which they came.

    Values that stand in `visible` are left out, and values inside a longer one that is shown already. `measure` counts
    the tokens of a value, or of one or more lines.
    """
    chosen, guesses = _choose(items, int(budget_tokens * SPARE), measure, visible)
    lines: dict[str | None, _Line] = {}
    shown, fitting, most = "", 0, len(chosen)
    number = min(most, max(1, bisect_right(guesses, budget_tokens)))
    while number > fitting:
        text, tokens = _write(chosen[:number], lines, measure)
        if tokens > budget_tokens:
            most = number - 1
        else:
            shown, fitting = text, number
            if tokens >= budget_tokens * ENOUGH:
                break
        number = min(most, bisect_right(guesses, guesses[number - 1] * budget_tokens / tokens))
    return shown


def _write(items: list[Item], lines: dict[str | None, _Line], measure: Callable[[str], int]) -> tuple[str, int]:
    """The lines of some items, and their tokens; `lines` keeps those written before, of fewer or more items."""
    groups: dict[str | None, list[Item]] = {}
    for item in items:
        groups.setdefault(item.fact.source, []).append(item)
    for source, group in groups.items():
        if source not in lines or lines[source].values != len(group):  # the items are always the first, so the same
            text = written(group)
            lines[source] = _Line(min(item.entry.last for item in group), text, measure(text + "\n"), len(group))
    shown = sorted((lines[source] for source in groups), key=itemgetter(0))
    return "\n".join(line.text for line in shown), sum(line.tokens for line in shown)


def _choose(
    items: Iterable[Item], room: int, measure: Callable[[str], int], visible: str | Sight
) -> tuple[list[Item], list[int]]:
    """The first items that fit the room by what each is likely to take, and what all up to each are."""
    chosen: list[Item] = []
    guesses: list[int] = []
    sources: set[str | None] = set()
    guess, shown = 0, ""
    for item in items:
        entry, fact, line = item
        text = line or fact.text
        if text in visible or text in shown or (len(text) > MAX_TEXT and not line):
            continue
        guess += measure(say(entry)[1]) + SEPARATOR if fact.is_figure and not line else measure(text) + NAMED
        if fact.source not in sources:
            sources.add(fact.source)
            guess += measure(beginning(item)) + SEPARATOR
        if guess > room and chosen:  # the first is tried all the same
            break
        chosen.append(item)
        guesses.append(guess)
        shown = f"{shown}\n{text}"
    return chosen, guesses
