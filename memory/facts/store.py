"""`WorkingFacts`: the facts of a run, each with its source, ready to be shown for what has left the context."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal

from .choosing import fit
from .entries import Entry, Index
from .extract import extract_facts
from .fact import Fact
from .ranking import Standing, score, words_of
from .rendering import Item, estimate, table_items

PINNED = 1000.0


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
    """

    def __init__(self) -> None:
        self._observations: list[_Observation] = []
        self._settled = 0
        self._index = Index()
        self._used: dict[str, int] = {}
        self._used_at: dict[str, int] = {}
        self._clock = 0

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
        """Marks the facts whose text stands in an action (the arguments of a call, an answer)."""
        self._clock += 1
        for fact in extract_facts(text, source=source):
            self._used[fact.text] = self._used.get(fact.text, 0) + 1
            self._used_at[fact.text] = self._clock

    def _read(self, observation: _Observation) -> list[Fact]:
        if observation.facts is None:
            observation.facts = extract_facts(observation.text, source=observation.source)
            for fact in observation.facts:
                fact.at = observation.at
        return observation.facts

    def _entries(self) -> list[Entry]:
        """All entries, the observations that came since the last look included."""
        for observation in self._observations[self._settled :]:
            self._index.file(self._read(observation), observation.call, observation.asked, observation.at)
        self._settled = len(self._observations)
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
        return [fact for fact in self if fact.text in self._used]

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
        self._entry(fact).pinned = True

    def correct(self, fact: Fact | str, value: Decimal, text: str | None = None) -> Fact:
        """Replaces the number of a fact; the old reading stays in its history. Raises KeyError for an unknown fact."""
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
        visible: str = "",
    ) -> str:
        """The most useful facts in at most `budget_tokens`, one line a source: `m12 get_order: total 1,250.00 USD`.

        Only facts last seen in one of `sources` are shown (None: in any). `about` is the task's text,
        `count` the tokenizer (default: a cautious estimate by characters). Values that stand in the text `visible`
        are left out.
        """
        entries = self._entries()
        wanted = words_of(about) if about else frozenset[str]()
        items: list[Item] = []
        for entry in entries:
            source = entry.fact.source or ""
            if not entry.deleted and (sources is None or source in sources):
                items.append(Item(self._points(entry, wanted), entry))
        return fit(table_items(items, self._used), budget_tokens, count or estimate, visible)

    def _points(self, entry: Entry, wanted: frozenset[str]) -> float:
        fact = entry.fact
        used_at = self._used_at.get(fact.text, 0)
        standing = Standing(
            kind=fact.kind,
            text=fact.text,
            has_unit=fact.unit is not None,
            age=self._clock - max(entry.last, used_at),
            seen=entry.seen,
            used=self._used.get(fact.text, 0),
            about=len(wanted & entry.words()) if wanted else 0,
            crowd=entry.crowd,
            is_key=_is_key(fact),
        )
        return score(standing) + (PINNED if entry.pinned else 0.0)


def _is_key(fact: Fact) -> bool:
    """Whether a fact is the key of a JSON object, as its text goes on."""
    return fact.origin is not None and not fact.is_figure and fact.origin.text.startswith('":', fact.span[1])
