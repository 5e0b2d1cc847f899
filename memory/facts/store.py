"""`WorkingFacts`: the facts of a run, each with its source, ready to be shown for what has left the context."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from heapq import merge
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from .choosing import fit
from .entries import Entry, Index
from .extract import extract_facts
from .fact import Fact
from .ranking import recency, repetition, use, words_of
from .rendering import estimate
from .shelves import Item, Ranked, Shelf
from .sight import Sight

PINNED = 1000.0
WINDOW, USED, LOOKED_AT = 2000, 500, 1000
"""Entries that are weighed against each other when facts are shown: those seen last, those used last; and the
observations that are looked at for them."""


@dataclass(slots=True)
class _Observation:
    """What was observed; `facts` is None until the text is read."""

    text: str
    source: str
    call: str | None
    asked: str | None
    at: int
    facts: list[Fact] | None


class WorkingFacts:
    """The working facts of one run.

    `observe` reads an observation and keeps its facts; `defer` keeps the text and reads it when facts are
    first asked for. The same quantity seen again from the same tool supersedes the old value and keeps it
    as history; where two tools disagree, both values are shown and marked. A table becomes one line with its
    shape and extremes; its rows are shown one by one only where the task or an action speaks of them.

    Args:
        read: reads the facts of a text, as `extract_facts` does; one that remembers what it read serves several stores
            of the same run.
    """

    def __init__(self, read: Callable[..., list[Fact]] = extract_facts) -> None:
        self._extract = read
        self.on_edit: Callable[[dict[str, Any]], object] | None = None
        """Told of every pin, correction and deletion before it is made, so that a journal can hold it."""
        self._observations: list[_Observation] = []
        self._settled = 0
        self._index = Index()
        self._shelves: dict[int, Shelf] = {}  # by the time of the observation
        self._actions: list[tuple[str, str, int]] = []  # text, ref and time of those not read yet
        self._used: dict[str, list[str]] = {}  # refs of the actions, by the fact's text
        self._used_at: dict[str, int] = {}
        self._clock = 0
        self._pinned: list[Entry] = []
        self._about: tuple[str | None, frozenset[str]] = (None, frozenset())

    def observe(self, text: str, source: str, *, call: str | None = None, asked: str | None = None) -> list[Fact]:
        """Reads the facts of an observation.

        `source` is its ref ("m12"), `call` the tool that gave it, `asked` the arguments: only an answer to the same
        question supersedes an earlier one.
        """
        self.defer(text, source, call=call, asked=asked)
        return self._read(self._observations[-1])

    def defer(self, text: str, source: str, *, call: str | None = None, asked: str | None = None) -> None:
        """Takes an observation whose facts are read only when somebody asks for facts."""
        self._clock += 1
        self._observations.append(_Observation(text, source, call, asked, self._clock, None))

    def add(self, fact: Fact, *, call: str | None = None) -> None:
        """Keeps a fact that was found in another way (see `ModelExtractor`).

        Raises ValueError for a fact without a source.
        """
        if fact.source is None:
            raise ValueError(f"the fact {fact.text!r} has no source: give the ref of the message it stands in")
        self._clock += 1
        fact.at = self._clock
        self._observations.append(_Observation(fact.text, fact.source, call, None, self._clock, [fact]))

    def use(self, text: str, source: str) -> None:
        """Takes an action (the arguments of a call, an answer); the facts whose text stands in it count as used."""
        self._clock += 1
        self._actions.append((text, source, self._clock))

    def _read(self, observation: _Observation) -> list[Fact]:
        if observation.facts is None:
            observation.facts = self._extract(observation.text, source=observation.source)
            for fact in observation.facts:
                fact.at = observation.at
        return observation.facts

    def _entries(self) -> list[Entry]:
        """All entries, the observations that came since the last look included."""
        for observation in self._observations[self._settled :]:
            self._index.file(self._read(observation), observation.call, observation.asked, observation.at)
        self._settled = len(self._observations)
        for text, source, at in self._actions:
            for fact in self._extract(text, source=source):
                self._used[fact.text] = [*self._used.pop(fact.text, ()), source]  # the one used last stands last
                self._used_at[fact.text] = at
        self._actions.clear()
        return self._index.entries

    def __iter__(self) -> Iterator[Fact]:
        return (entry.fact for entry in self._entries() if not entry.deleted)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def readings(self) -> Iterator[Fact]:
        """Every fact as it was ever read, superseded ones included: what an answer may rest on."""
        return (fact for entry in self._entries() if not entry.deleted for fact in (*entry.older, entry.fact))

    def used(self) -> list[Fact]:
        """The facts whose text stood in an action, in the order in which they were first seen."""
        self._entries()
        return [fact for fact in self if fact.text in self._used]

    def used_by(self, fact: Fact | str) -> list[str]:
        """Refs of the actions in which a fact's text stood, oldest first."""
        self._entries()
        return list(self._used.get(fact if isinstance(fact, str) else fact.text, ()))

    def find(self, words: str) -> list[Fact]:
        """The facts whose text or label holds one of the words, best match first."""
        wanted = words_of(words)
        ranked: list[tuple[int, int, int, Fact]] = []
        for place, entry in enumerate(self._entries()):
            if entry.deleted:
                continue
            hits = len(wanted & words_of(f"{entry.fact.text} {entry.fact.label}")) + 2 * (entry.fact.text in words)
            if hits:
                ranked.append((-hits, -entry.last, place, entry.fact))
        return [fact for *_, fact in sorted(ranked, key=lambda r: r[:3])]

    def history(self, label: str) -> list[Fact]:
        """Every value read under this label, superseded ones included, oldest first."""
        self._entries()
        return self._index.history(label)

    def _entry(self, fact: Fact | str) -> Entry:
        text = fact if isinstance(fact, str) else fact.text
        for entry in reversed(self._entries()):
            if entry.fact.text == text and (isinstance(fact, str) or entry.fact == fact):
                return entry
        raise KeyError(f"no fact {text!r} is known: give a fact of this store or the exact text of one")

    def pin(self, fact: Fact | str) -> None:
        """Shows this fact first, whatever the ranking says. Raises KeyError for an unknown fact."""
        self._edit("pin", fact)

    def correct(self, fact: Fact | str, value: Decimal, text: str | None = None) -> Fact:
        """Replaces the number of a fact; the old reading stays in its history. Raises KeyError for an unknown fact."""
        return self._edit("correct", fact, value, text or str(value))

    def delete(self, fact: Fact | str) -> None:
        """Shows this fact no more. Raises KeyError for an unknown fact."""
        self._edit("delete", fact)

    def redo(self, edit: Mapping[str, Any]) -> None:
        """Makes an edit again that `on_edit` was told of."""
        value = None if edit["value"] is None else Decimal(edit["value"])
        self._apply(self._entry(Fact.from_dict(edit["fact"])), edit["what"], value, edit["text"])

    def _edit(self, what: str, fact: Fact | str, value: Decimal | None = None, text: str | None = None) -> Fact:
        entry = self._entry(fact)
        if self.on_edit is not None:
            written = None if value is None else str(value)
            self.on_edit({"what": what, "fact": entry.fact.to_dict(), "value": written, "text": text})
        self._apply(entry, what, value, text)
        return entry.fact

    def _apply(self, entry: Entry, what: str, value: Decimal | None, text: str | None) -> None:
        old = entry.fact
        if what == "pin":
            entry.pinned = True
            self._pinned.append(entry)
        elif what == "delete":
            entry.deleted = True
        else:
            entry.older.append(old)
            entry.take(
                Fact(old.kind, text or old.text, old.span, value, None, None, old.unit, old.source, old.at, old.label)
            )
            self._shelves.clear()

    def render(
        self,
        budget_tokens: int,
        about: str | None = None,
        *,
        sources: Collection[str] | None = None,
        count: Callable[[str], int] | None = None,
        visible: str | Sight = "",
    ) -> str:
        """The most useful facts in at most `budget_tokens`, one line a source: `m12 get_order: total 1,250.00 USD`.

        Only facts last seen in one of `sources` are shown (None: in any). `about` is the task's text,
        `count` the tokenizer (default: a cautious estimate by characters). Values that stand in the text `visible`
        are left out.
        """
        if self._about[0] != about:
            self._about = (about, words_of(about or ""))
            for entry in self._index.entries:
                entry.forget_worth()
            self._shelves.clear()
        return fit(map(itemgetter(1), self._ranked(sources)), budget_tokens, count or estimate, visible)

    def _ranked(self, sources: Collection[str] | None) -> Iterator[Ranked]:
        """What may be shown, best first: pinned, used lately, and the `WINDOW` seen last. Older ones can be found.

        So a step costs the same, however long the run.
        """
        self._entries()
        wanted, clock, used = self._about[1], self._clock, self._used
        streams = [iter(sorted(self._pinned_and_used(sources), key=itemgetter(0)))]
        room = WINDOW
        for at, entries in islice(reversed(self._index.by_time.items()), LOOKED_AT):
            shelf = self._shelves.get(at)
            if shelf is None:
                shelf = self._shelves[at] = Shelf(at, entries)
            if sources is None or shelf.source in sources:
                streams.append(shelf.items(clock, wanted, used))
                room -= len(shelf)
                if room <= 0:
                    break
        return merge(*streams, key=itemgetter(0))

    def _pinned_and_used(self, sources: Collection[str] | None) -> Iterator[Ranked]:
        by_text = self._index.by_text
        used = (by_text[text] for text in islice(reversed(self._used), USED) if text in by_text)
        for entry in {id(entry): entry for entry in chain(self._pinned, used)}.values():
            fact = entry.fact
            if entry.deleted or (sources is not None and (fact.source or "") not in sources):
                continue
            last = max(entry.last, self._used_at.get(fact.text, 0))
            points = entry.worth(self._about[1]) + repetition(entry.seen) + recency(self._clock - last)
            points += use(len(self._used.get(fact.text, ()))) + PINNED * entry.pinned
            yield (-points, -entry.last, fact.span), Item(entry, fact)
