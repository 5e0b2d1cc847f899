"""Which facts are shown when not all fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter

from .rendering import Item, written

MAX_TEXT = 160
"""Characters of the longest fact that is shown."""
SEPARATOR = 1
"""Tokens between two values, or two lines."""


def fit(items: Iterable[Item], budget_tokens: int, measure: Callable[[str], int], visible: str = "") -> str:
    """The lines of the best items that take at most `budget_tokens`: one a source, in the order in which they came.

    Values that stand in `visible` are left out, and values inside a longer one that is shown already.
    """
    chosen = _choose(items, budget_tokens, measure, visible)
    groups: dict[str | None, list[Item]] = {}
    for item in chosen:
        groups.setdefault(item.fact.source, []).append(item)
    changed = set(groups)
    lines: dict[str | None, tuple[int, str, int]] = {}  # when the source came, its line, the line's tokens
    while chosen:
        for source in changed:
            group = groups[source]
            line = written(group)
            lines[source] = min(item.entry.last for item in group), line, measure(line) + SEPARATOR
        tokens = sum(cost for _, _, cost in lines.values()) - SEPARATOR
        if tokens <= budget_tokens:
            text = "\n".join(line for _, line, _ in sorted(lines.values(), key=itemgetter(0)))
            tokens = measure(text)
            if tokens <= budget_tokens:
                return text
        kept = min(len(chosen) - 1, int(len(chosen) * budget_tokens / tokens))
        left = set(map(id, chosen[kept:]))
        changed = {item.fact.source for item in chosen[kept:]}
        chosen = chosen[:kept]
        for source in changed:
            groups[source] = [item for item in groups[source] if id(item) not in left]
        for source in [source for source in changed if not groups[source]]:
            del groups[source], lines[source]
            changed.remove(source)
    return ""


def _choose(items: Iterable[Item], room: int, measure: Callable[[str], int], visible: str) -> list[Item]:
    """The best items, as long as their values alone fit the room."""
    chosen: list[Item] = []
    shown = ""
    for item in sorted(items, key=itemgetter(0)):
        text = item.line or item.fact.text
        if text in visible or text in shown or (len(text) > MAX_TEXT and not item.line):
            continue
        room -= measure(text) + SEPARATOR
        if room < 0:
            break
        chosen.append(item)
        shown = f"{shown}\n{text}"
    return chosen
