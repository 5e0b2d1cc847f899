"""`WorkingFacts`: the facts of a run, each with its source, ready to be shown for what has left the context."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from .extract import extract_facts
from .fact import Bound, Fact
from .ranking import Standing, overlap, score, words_of
from .rendering import Item, fit, say


@dataclass(slots=True)
class Entry:
    """One fact as the store knows it: its newest reading, the older ones, and how it was used."""

    fact: Fact
    call: str | None
    first: int
    last: int
    seen: int = 1
    pinned: bool = False
    deleted: bool = False
    older: list[Fact] = field(default_factory=list[Fact])
    disagrees: list[Fact] = field(default_factory=list[Fact])


@dataclass(slots=True)
class _Observation:
    source: str
    call: str | None
    at: int
    facts: list[Fact]


class WorkingFacts:
    """The working facts of one run.

    `observe` reads an observation and keeps its facts; nothing else is done with them until they are asked
    for. The same quantity seen again from the same tool supersedes the old value and keeps it as history;
    where two tools disagree, both values are shown and marked.
    """

    def __init__(self) -> None:
        self._observations: list[_Observation] = []
        self._settled = 0
        self._entries: dict[tuple[str, ...], Entry] = {}
        self._by_label: dict[tuple[str, str], list[Entry]] = {}
        self._used: dict[str, int] = {}
        self._used_at: dict[str, int] = {}
        self._clock = 0

    def observe(self, text: str, source: str, *, call: str | None = None) -> list[Fact]:
        """Reads the facts of an observation. `source` is its ref ("m12"), `call` the tool that gave it."""
        facts = extract_facts(text, source=source)
        self._clock += 1
        for fact in facts:
            fact.at = self._clock
        self._observations.append(_Observation(source, call, self._clock, facts))
        return facts

    def add(self, fact: Fact, *, call: str | None = None) -> None:
        """Keeps a fact that was found in another way (see `ModelExtractor`). It needs a source."""
        if fact.source is None:
            raise ValueError(f"the fact {fact.text!r} has no source: give the ref of the message it stands in")
        self._clock += 1
        fact.at = self._clock
        self._observations.append(_Observation(fact.source, call, self._clock, [fact]))

    def use(self, text: str, source: str) -> None:
        """Marks the facts whose text stands in an action (arguments of a call, an answer)."""
        self._clock += 1
        for fact in extract_facts(text, source=source):
            self._used[fact.text] = self._used.get(fact.text, 0) + 1
            self._used_at[fact.text] = self._clock

    def _settle(self) -> None:
        """Takes the observations that came since the last look into the index."""
        for observation in self._observations[self._settled :]:
            for fact in observation.facts:
                self._file(fact, observation)
        self._settled = len(self._observations)

    def _file(self, fact: Fact, observation: _Observation) -> None:
        if fact.is_figure:
            key = (fact.kind, fact.text, fact.source or "", str(fact.span[0]))
        else:
            key = (fact.kind, fact.text)
        entry = self._entries.get(key)
        if entry is None:
            self._entries[key] = Entry(fact, observation.call, observation.at, observation.at)
            return
        entry.seen += 1
        entry.last = observation.at
        entry.fact = fact
        entry.call = observation.call or entry.call

    def __iter__(self) -> Iterator[Fact]:
        self._settle()
        return (entry.fact for entry in self._entries.values() if not entry.deleted)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, words: str) -> list[Fact]:
        """The facts whose text, label or unit holds one of the words, best match first."""
        wanted = words_of(words)
        self._settle()
        ranked: list[tuple[int, int, Fact]] = []
        for entry in self._entries.values():
            fact = entry.fact
            if entry.deleted:
                continue
            hits = overlap(wanted, (fact.text, fact.label)) + 2 * (fact.text in words)
            if hits:
                ranked.append((-hits, -entry.last, fact))
        return [fact for _, _, fact in sorted(ranked, key=lambda r: (r[0], r[1]))]

    def history(self, label: str) -> list[Fact]:
        """Every value read under this label, oldest first."""
        wanted = _normal(label)
        self._settle()
        return sorted((f for f in self if f.label and wanted in _normal(f.label)), key=lambda f: (f.at or 0, f.span))

    def _entry(self, fact: Fact | str) -> Entry:
        self._settle()
        text = fact if isinstance(fact, str) else fact.text
        for entry in reversed(list(self._entries.values())):
            if entry.fact.text == text and (isinstance(fact, str) or entry.fact == fact):
                return entry
        raise KeyError(f"no fact {text!r} is known")

    def pin(self, fact: Fact | str) -> None:
        """Shows this fact first, whatever the ranking says. Raises KeyError for an unknown fact."""
        self._entry(fact).pinned = True

    def correct(self, fact: Fact | str, value: Decimal, text: str | None = None) -> Fact:
        """Replaces the number of a fact; the old reading stays in its history. Raises KeyError."""
        entry = self._entry(fact)
        old = entry.fact
        new = Fact(old.kind, text or str(value), old.span, value, None, None, old.unit, old.source, old.at, old.label)
        entry.older.append(old)
        entry.fact = new
        return new

    def delete(self, fact: Fact | str) -> None:
        """Shows this fact no more. Raises KeyError for an unknown fact."""
        self._entry(fact).deleted = True

    def render(
        self,
        budget_tokens: int,
        about: str | None = None,
        *,
        sources: Collection[str] | None = None,
        count: Callable[[str], int] | None = None,
    ) -> str:
        """The most useful facts in at most `budget_tokens`, one line a source.

        Only facts last seen in one of `sources` are shown (None: in any). `about` is the task's text,
        `count` the tokenizer (default: a cautious estimate by characters).
        """
        self._settle()
        wanted = words_of(about) if about else frozenset[str]()
        crowd = {o.source: len(o.facts) for o in self._observations}
        items: list[Item] = []
        for entry in self._entries.values():
            fact = entry.fact
            source = fact.source or ""
            if entry.deleted or (sources is not None and source not in sources):
                continue
            used = self._used.get(fact.text, 0)
            last = max(entry.last, self._used_at.get(fact.text, 0))
            standing = Standing(
                fact.kind,
                fact.text,
                fact.unit is not None,
                self._clock - last,
                entry.seen,
                used,
                overlap(wanted, (fact.text,)) if wanted else 0,
                crowd.get(source, 1),
            )
            points = score(standing) + (1000.0 if entry.pinned else 0.0)
            items.append(Item(points, entry.last, source, entry.call, fact))
        return fit(items, budget_tokens, count)


def _normal(label: str) -> str:
    return re.sub(r"\W+", " ", label).strip().casefold()


__all__ = ["Bound", "WorkingFacts", "say"]
