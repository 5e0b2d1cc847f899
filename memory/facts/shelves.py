"""The entries of one observation, best first: sorted once, so that those of many need only be merged."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from .entries import Entry
from .fact import Fact
from .origin import CellOrigin
from .ranking import recency, repetition
from .tables import Table

OF_ONE = 500
"""Entries of one observation that are weighed against those of others."""
MAX_COLUMNS = 6
TABLE_POINTS = 0.5
"""What the line of a table is worth beside the best of its cells."""


class Item(NamedTuple):
    """An entry that may be shown; `line` replaces what the entry would say of itself."""

    entry: Entry
    fact: Fact
    line: str = ""


Rank = tuple[float, int, tuple[int, int]]
"""What comes first, sorted upwards: points with the sign turned, then what was seen last, then what stood first."""
Ranked = tuple[Rank, Item]


class Shelf:
    """The entries that were last seen in the observation at the time `at`."""

    __slots__ = ("_entries", "_sorted", "at")

    def __init__(self, at: int, entries: Mapping[int, Entry]) -> None:
        self.at = at
        self._entries = entries
        self._sorted: list[tuple[float, Item]] | None = None

    def __len__(self) -> int:
        return min(len(self._entries), OF_ONE)

    @property
    def source(self) -> str:
        """The observation's ref; empty where no entry is left."""
        return next((entry.fact.source or "" for entry in self._entries.values()), "")

    def items(self, clock: int, wanted: frozenset[str], used: Container[str]) -> Iterator[Ranked]:
        """The best entries first; those that were seen again since, pinned or used are not among them."""
        if self._sorted is None:
            self._sorted = self._in_order(wanted)
        now, left = recency(clock - self.at), OF_ONE
        columns: dict[int, int] = {}
        for points, item in self._sorted:
            entry, fact, line = item
            if not line:
                if entry.last != self.at or entry.deleted or entry.pinned or fact.text in used:
                    continue
                if entry.table is not None:
                    shown = columns[id(entry.table)] = columns.get(id(entry.table), 0) + 1
                    if shown > MAX_COLUMNS:
                        continue
                left -= 1
                if left < 0:
                    return
            yield (-points - now, -self.at, fact.span), item

    def _in_order(self, wanted: frozenset[str]) -> list[tuple[float, Item]]:
        """All entries with their points, recency left out, and a line for each large table, before its best cell.

        Whether an entry may be shown is not asked here: when this is called must make no difference.
        """
        found = [(e.worth(wanted) + repetition(e.seen), Item(e, e.fact)) for e in self._entries.values()]
        found.sort(key=_by_points)
        best = {id(item.entry.table): (points, item) for points, item in reversed(found) if item.entry.table}
        for points, item in best.values():
            table, cells = item.entry.table, item.entry.cells
            if table is not None:
                found.append((points + TABLE_POINTS, item._replace(line=describe(table, cells))))
        found.sort(key=_by_points)
        return found


def _by_points(ranked: tuple[float, Item]) -> tuple[float, tuple[int, int]]:
    return -ranked[0], ranked[1].fact.span


def describe(table: Table, facts: list[Fact]) -> str:
    """`table 120x3 (name, price): price 3.10 to 98.00`: shape, headings and the extremes of each column."""
    rows, columns = table.shape
    heads = ", ".join([h for h in table.head if h][:MAX_COLUMNS])
    by_column: dict[str, list[Fact]] = {}
    for fact in facts:
        if isinstance(fact.origin, CellOrigin) and fact.value is not None:
            by_column.setdefault(fact.origin.heading, []).append(fact)
    ranges: list[str] = []
    for heading, group in list(by_column.items())[:MAX_COLUMNS]:
        low = min(group, key=lambda f: f.value or 0)
        high = max(group, key=lambda f: f.value or 0)
        ranges.append(f"{heading} {low.text} to {high.text}".strip())
    return f"table {rows}x{columns}{f' ({heads})' if heads else ''}: " + ", ".join(ranges)
