"""Which facts are shown when not all fit, and which of them need a word beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .rendering import Item, lines

MAX_TEXT = 160
"""Characters of the longest fact that is shown."""
SEPARATOR = 1
"""Tokens between two values."""


def fit(items: Iterable[Item], budget_tokens: int, measure: Callable[[str], int], visible: str = "") -> str:
    """The lines of the best items that take at most `budget_tokens`.

    Values that stand in `visible` are left out, and values inside a longer one that is shown already.
    """
    chosen = _choose(items, budget_tokens, measure, visible)
    while chosen:
        text = lines(chosen)
        tokens = measure(text)
        if tokens <= budget_tokens:
            return text
        chosen = chosen[: min(len(chosen) - 1, int(len(chosen) * budget_tokens / tokens))]
    return ""


def _choose(items: Iterable[Item], room: int, measure: Callable[[str], int], visible: str) -> list[Item]:
    """The best items, as long as their values alone fit the room."""
    chosen: list[Item] = []
    shown = ""
    for item in sorted(items, key=lambda i: (-i.points, -i.entry.last, i.fact.span)):
        text = item.line or item.fact.text
        if text in visible or text in shown or (len(text) > MAX_TEXT and not item.line):
            continue
        room -= measure(text) + SEPARATOR
        if room < 0:
            break
        chosen.append(item)
        shown = f"{shown}\n{text}"
    return chosen
