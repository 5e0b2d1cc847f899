"""Writes facts compactly: one line a source, values exactly as they stood, a word or two of label."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .entries import Entry
from .fact import Fact
from .origin import CellOrigin
from .tables import Table

MAX_LABEL = 26
MAX_COLUMNS = 6
NEAR = 50
"""Characters within which two facts of one line stand together."""


@dataclass(slots=True)
class Item:
    """An entry with its score, ready to be chosen; `line` replaces what the entry would say of itself."""

    points: float
    entry: Entry
    line: str = ""

    @property
    def fact(self) -> Fact:
        return self.entry.fact


def estimate(text: str) -> int:
    """A cautious token count without a tokenizer: three characters a token, one for each Chinese character."""
    wide = sum(1 for c in text if c > "⺀")
    return (len(text) - wide) // 3 + wide + 1


def short_label(label: str) -> str:
    """The end of a long label: the last steps of a path, the last words of a phrase."""
    if len(label) <= MAX_LABEL:
        return label
    tail = label[-MAX_LABEL:]
    for mark in (".", " "):
        head, found, rest = tail.partition(mark)
        if found and rest and len(head) < MAX_LABEL - 3:
            return rest
    return tail


def say(entry: Entry) -> tuple[str, str]:
    """The short label, and all of it, written once a reading: `total 1,250.00 USD (was 1,190.00 USD; ≠ m4 1,200)`."""
    fact, older, others = entry.fact, entry.older, entry.disagrees
    said = entry.said
    if said is not None and said[0] is fact and said[1] == len(older) and said[2] == len(others):
        return said[3], said[4]
    notes = [f"was {older[-1].text}"] if older else []
    notes.extend(f"≠ {other.source} {other.text}" for other in others[-2:])
    own = short_label(fact.label)
    label = "" if fact.text in fact.label else own
    note = f" ({'; '.join(notes)})" if notes else ""
    words = f"{label} {fact.text}{note}".strip()
    entry.said = (fact, len(older), len(others), own, words)
    return own, words


def table_items(items: list[Item], used: Collection[str]) -> list[Item]:
    """The cells of large tables become one item a table, beside the cells of the rows that matter."""
    out: list[Item] = []
    cells: dict[int, list[Item]] = {}
    for item in items:
        table = item.entry.table
        if table is None or item.entry.pinned or item.fact.text in used:
            out.append(item)
        else:
            cells.setdefault(id(table), []).append(item)
    for group in cells.values():
        table = group[0].entry.table
        if table is not None:
            best = max(group, key=lambda i: i.points)
            out.append(Item(best.points + 0.5, best.entry, describe(table, best.entry.cells)))
            out.extend(sorted(group, key=lambda i: -i.points)[:MAX_COLUMNS])
    return out


def describe(table: Table, facts: list[Fact]) -> str:
    """`table 120x3 (name, price): price 3.10 to 98.00`: shape, headings and the extremes of each column."""
    rows, columns = table.shape
    heads = [h for h in table.head if h][:MAX_COLUMNS]
    by_column: dict[str, list[Fact]] = {}
    for fact in facts:
        if isinstance(fact.origin, CellOrigin) and fact.value is not None:
            by_column.setdefault(fact.origin.heading, []).append(fact)
    ranges: list[str] = []
    for heading, group in list(by_column.items())[:MAX_COLUMNS]:
        low = min(group, key=lambda f: f.value or 0)
        high = max(group, key=lambda f: f.value or 0)
        ranges.append(f"{heading} {low.text} to {high.text}".strip())
    return f"table {rows}x{columns} ({', '.join(heads)}): " + ", ".join(ranges)


def lines(items: list[Item]) -> str:
    """One line a source, in the order in which the sources came; each value once."""
    by_source: dict[str, list[Item]] = {}
    for item in items:
        by_source.setdefault(item.fact.source or "", []).append(item)
    out: list[str] = []
    for source, group in sorted(by_source.items(), key=lambda g: min(i.entry.last for i in g[1])):
        call = next((i.entry.call for i in group if i.entry.call), None)
        group.sort(key=lambda i: i.fact.span)
        out.append(f"{source}{' ' + call if call else ''}: " + "; ".join(_parts(group)))
    return "\n".join(out)


def _parts(group: list[Item]) -> list[str]:
    """What the items say; a label that the item before already gave is not repeated."""
    parts: dict[str, None] = {}
    label = ""
    for at, item in enumerate(group):
        fact = item.entry.fact
        if item.line:
            parts[item.line] = None
            label = ""
        elif fact.is_figure:
            own, words = say(item.entry)
            parts[words.removeprefix(own + " ") if own and own == label else words] = None
            label = own
        else:
            neighbours = (*group[max(at - 1, 0) : at], *group[at + 1 : at + 2])
            alone = not any(_together(fact, other.entry.fact) for other in neighbours)
            parts[f"{fact.nearest_word} {fact.text}".strip() if alone else fact.text] = None
    return list(parts)


def _together(one: Fact, other: Fact) -> bool:
    """Whether two facts stand close together in one line of their text: then each tells what the other is."""
    if one.origin is None or other.origin is None or one.origin.text is not other.origin.text:
        return False
    first, second = (one.span, other.span) if one.span <= other.span else (other.span, one.span)
    return second[0] - first[1] < NEAR and "\n" not in one.origin.text[first[1] : second[0]]
