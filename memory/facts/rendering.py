"""Writes facts compactly: one line a source, values exactly as they stood, a word or two of label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .fact import Fact

MAX_LABEL = 24
MAX_TEXT = 160


@dataclass(slots=True)
class Item:
    """A fact with its score, ready to be chosen."""

    points: float
    last: int
    source: str
    call: str | None
    fact: Fact
    note: str = ""


def estimate(text: str) -> int:
    """A cautious token count without a tokenizer: three characters a token, one for each Chinese character."""
    wide = sum(1 for c in text if c > "⺀")
    return (len(text) - wide) // 3 + wide + 1


def say(item: Item) -> str:
    """`total 1,250.00 USD`: label and value."""
    fact = item.fact
    label = fact.label
    if len(label) > MAX_LABEL:
        label = label[-MAX_LABEL:].partition(" ")[2] or label[-MAX_LABEL:]
    return f"{label} {fact.text}{item.note}".strip()


def lines(items: list[Item]) -> str:
    """One line a source, in the order in which the sources came; each value once."""
    by_source: dict[str, list[Item]] = {}
    for item in items:
        by_source.setdefault(item.source, []).append(item)
    out: list[str] = []
    for source, group in sorted(by_source.items(), key=lambda g: min(i.last for i in g[1])):
        call = next((i.call for i in group if i.call), None)
        group.sort(key=lambda i: i.fact.span)
        parts = list(dict.fromkeys(say(i) for i in group))
        out.append(f"{source}{' ' + call if call else ''}: " + "; ".join(parts))
    return "\n".join(out)


def fit(items: list[Item], budget_tokens: int, count: Callable[[str], int] | None) -> str:
    """The best items whose lines take at most `budget_tokens`."""
    measure = count or estimate
    items = [i for i in items if len(i.fact.text) <= MAX_TEXT]
    items.sort(key=lambda i: (-i.points, -i.last, i.fact.span))
    chosen: list[Item] = []
    spent = 0
    for item in items:
        spent += (len(item.fact.text) + 8) // 4 + 1
        if spent > budget_tokens * 2:
            break
        chosen.append(item)
    while chosen:
        text = lines(chosen)
        tokens = measure(text)
        if tokens <= budget_tokens:
            return text
        keep = min(len(chosen) - 1, int(len(chosen) * budget_tokens / tokens))
        chosen = chosen[:keep]
    return ""
