"""Writes facts compactly: one line a source, values exactly as they stood, a word or two of label."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import NamedTuple

from .entries import Entry
from .fact import Fact
from .origin import CellOrigin
from .tables import Table

MAX_LABEL = 26
MAX_COLUMNS = 6
NEAR = 50
"""Characters within which two facts of one line stand together."""


class Item(NamedTuple):
    """An entry with its rank, ready to be chosen; `line` replaces what the entry would say of itself."""

    rank: tuple[float, int, tuple[int, int]]
    """What comes first, sorted upwards: points with the sign turned, then what was seen last, then what stood first."""
    entry: Entry
    fact: Fact
    line: str = ""


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
    """The short label, and all of it: `total 1,250.00 USD (was 1,190.00 USD; ≠ m4 1,200)`."""
    if entry.said is None:
        fact, older = entry.fact, entry.older
        notes = [f"was {older[-1].text}"] if older else []
        notes.extend(f"≠ {other.source} {other.text}" for other in entry.disagrees[-2:])
        own = short_label(fact.label)
        label = "" if fact.text in fact.label else own
        note = f" ({'; '.join(notes)})" if notes else ""
        entry.said = own, f"{label} {fact.text}{note}".strip()
    return entry.said


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
            group.sort(key=itemgetter(0))
            (points, last, place), best, fact, _ = group[0]
            out.append(Item((points - 0.5, last, place), best, fact, describe(table, best.cells)))
            out.extend(group[:MAX_COLUMNS])
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


def written(group: list[Item]) -> str:
    """The line of one source: its ref, the call that it answered, and what the items say, each value once."""
    call = next((item.entry.call for item in group if item.entry.call), None)
    group.sort(key=_place)
    return f"{group[0].fact.source or ''}{' ' + call if call else ''}: {'; '.join(_parts(group))}"


def _place(item: Item) -> tuple[int, int]:
    return item.fact.span


def _parts(group: list[Item]) -> Iterable[str]:
    """What the items say; a label that the item before already gave is not repeated."""
    parts: dict[str, None] = {}
    label = ""
    near = False  # whether an item stands close behind the one before it
    for at, item in enumerate(group):
        fact = item.fact
        behind, near = near, at + 1 < len(group) and _together(fact, group[at + 1].fact)
        if item.line:
            parts[item.line] = None
            label = ""
        elif fact.is_figure:
            own, words = say(item.entry)
            parts[words.removeprefix(own + " ") if own and own == label else words] = None
            label = own
        else:
            parts[fact.text if behind or near else f"{fact.nearest_word} {fact.text}".strip()] = None
    return parts


def _together(one: Fact, other: Fact) -> bool:
    """Whether two facts stand close together in one line of their text: then each tells what the other is."""
    first, second = one.origin, other.origin
    if first is None or second is None or other.span[0] - one.span[1] >= NEAR or first.text is not second.text:
        return False
    return "\n" not in first.text[one.span[1] : other.span[0]]
