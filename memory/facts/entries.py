"""The index behind the store: one entry a fact, series of values of the same quantity, disagreements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from .fact import Fact
from .ranking import words_of, worth
from .tables import Table

CROWD = 200
"""Observations with more figures than this are not compared figure by figure with earlier ones."""
TABLE_CELLS = 24
"""A table with more figures than this is shown as one line."""
DOUBTS = 10
"""Values of other tools that a new value is set against, the last ones."""


@dataclass(slots=True)
class Entry:
    """One fact as the store knows it: its newest reading, the older ones, and who says otherwise."""

    fact: Fact
    call: str | None
    asked: str | None
    last: int
    crowd: int
    seen: int = 1
    pinned: bool = False
    deleted: bool = False
    table: Table | None = None
    cells: list[Fact] = field(default_factory=list[Fact])
    """All figures of the table, shared by its entries."""
    older: list[Fact] = field(default_factory=list[Fact])
    disagrees: list[Fact] = field(default_factory=list[Fact])

    said: tuple[str, str] | None = None
    """What `rendering.say` wrote; None where something new is to be said."""

    _worth: float | None = None

    def take(self, fact: Fact) -> None:
        """Put another reading in the place of the last one."""
        self.fact, self.said, self._worth = fact, None, None

    def see(self, fact: Fact, at: int, call: str | None) -> None:
        """Take a reading of a later observation."""
        self.take(fact)
        self.last, self.call = at, call
        self.seen += 1

    def doubt(self, other: Fact) -> None:
        """Note that another source says otherwise."""
        self.disagrees.append(other)
        self.said = None

    def forget_worth(self) -> None:
        """The task has changed."""
        self._worth = None

    def worth(self, wanted: frozenset[str]) -> float:
        """What its fact is worth to a task with these words; reckoned once a reading and task."""
        if self._worth is None:
            text = f"{self.fact.text} {self.fact.label}" if self.crowd <= CROWD else self.fact.text
            about = len(wanted & words_of(text)) if wanted else 0
            self._worth = worth(self.fact, about, self.crowd)
        return self._worth


@dataclass(slots=True)
class _Series:
    """The entries of one quantity, and the last of them by its value and by the call that gave it."""

    entries: list[Entry] = field(default_factory=list[Entry])
    by_numbers: dict[tuple[Decimal, ...], Entry] = field(default_factory=dict[tuple[Decimal, ...], Entry])
    by_question: dict[tuple[str | None, str | None], Entry] = field(
        default_factory=dict[tuple[str | None, str | None], Entry]
    )


_Quantity = tuple[str, str, str, str]  # label, subject, kind, unit


@lru_cache(maxsize=4096)
def normal(label: str) -> str:
    """A label as it is compared: words only, in lower case."""
    return re.sub(r"\W+", " ", label).strip().casefold()


class Index:
    """All entries in the order in which they came, found again by text or by what they measure."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.by_time: dict[int, dict[int, Entry]] = {}  # those last seen at a time, by their `id`
        self.by_text: dict[str, Entry] = {}
        self._named: dict[tuple[str, str], Entry] = {}
        self._series: dict[_Quantity, _Series] = {}

    def file(self, facts: list[Fact], call: str | None, asked: str | None, at: int) -> None:
        """Takes the facts of one observation in."""
        figures = [f for f in facts if f.is_figure]
        crowded = len(figures) > CROWD
        subject = next((f.text for f in facts if f.kind in ("identifier", "email", "path") and not _is_key(f)), "")
        big_tables = _big_tables(figures)
        for fact in facts:
            if not fact.is_figure:
                self._name(fact, call, asked, at, len(facts))
                continue
            table = fact.origin.table if fact.origin else None
            if table is not None and id(table) in big_tables:
                entry = self._append(fact, call, asked, at, len(facts))
                entry.table, entry.cells = table, big_tables[id(table)]
            elif crowded:
                self._append(fact, call, asked, at, len(facts))
            else:
                self._figure(fact, call, asked, at, len(facts), subject)

    def _append(self, fact: Fact, call: str | None, asked: str | None, at: int, crowd: int) -> Entry:
        entry = Entry(fact, call, asked, at, crowd)
        self.entries.append(entry)
        self._seen(entry)
        return entry

    def _seen(self, entry: Entry) -> None:
        self.by_time.setdefault(entry.last, {})[id(entry)] = entry
        self.by_text[entry.fact.text] = entry

    def _see_again(self, entry: Entry, fact: Fact, at: int, call: str | None) -> None:
        del self.by_time[entry.last][id(entry)]
        entry.see(fact, at, call)
        self._seen(entry)

    def _name(self, fact: Fact, call: str | None, asked: str | None, at: int, crowd: int) -> None:
        """Identifiers, dates and the like: one entry a text, shown with its newest source."""
        key = (fact.kind, fact.text)
        entry = self._named.get(key)
        if entry is None:
            self._named[key] = self._append(fact, call, asked, at, crowd)
            return
        if entry.last != at:
            entry.crowd = min(entry.crowd, crowd)
            self._see_again(entry, fact, at, call)

    def _figure(self, fact: Fact, call: str | None, asked: str | None, at: int, crowd: int, subject: str) -> None:
        """A figure with a label may be a new value of a quantity that is known already.

        Only the same tool, asked the same, supersedes its own value; asked otherwise, it speaks of something else.
        `subject` is the first name in the observation: the total of another order is another quantity.
        """
        label = normal(fact.label)
        if not label:
            self._append(fact, call, asked, at, crowd)
            return
        key = (label, subject, fact.kind, fact.unit or "")
        series = self._series.setdefault(key, _Series())
        same = series.by_numbers.get(fact.numbers)
        answer = series.by_question.get((call, asked)) if call is not None else None
        if same is not None and same.last < at and same.fact.numbers == fact.numbers:
            self._see_again(same, fact, at, call)
        elif answer is not None and answer.last < at and (answer.call, answer.asked) == (call, asked):
            answer.older.append(answer.fact)
            self._see_again(answer, fact, at, call)
            series.by_numbers[fact.numbers] = answer
        else:
            entry = self._append(fact, call, asked, at, crowd)
            for other in [e for e in series.entries if e.last < at and (call is None or e.call != call)][-DOUBTS:]:
                other.doubt(fact)
                entry.doubt(other.fact)
            series.entries.append(entry)
            series.by_numbers[fact.numbers] = series.by_question[call, asked] = entry

    def history(self, label: str) -> list[Fact]:
        """Every value whose label holds `label`, oldest first."""
        wanted = normal(label)
        facts = (fact for entry in self.entries for fact in (*entry.older, entry.fact))
        found = (fact for fact in facts if wanted and wanted in normal(fact.label))
        return sorted(found, key=lambda f: (f.at or 0, f.span))


def _is_key(fact: Fact) -> bool:
    """Whether a name is a JSON key."""
    return fact.origin is not None and fact.origin.text.startswith('":', fact.span[1])


def _big_tables(figures: list[Fact]) -> dict[int, list[Fact]]:
    """The figures of each table that has many."""
    cells: dict[int, list[Fact]] = {}
    for fact in figures:
        if fact.origin is not None and fact.origin.table is not None:
            cells.setdefault(id(fact.origin.table), []).append(fact)
    return {key: facts for key, facts in cells.items() if len(facts) > TABLE_CELLS}
