"""Finding the outcomes for a new task: candidates from both sides, one score, one entry for what says the same."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from . import ranking
from .backend import Index
from .embedders import Embedder, JudgesLegibility
from .outcome import Outcome, now
from .parts import embed_query, split
from .recall import Recall
from .store import RecordStore, Stored
from .terms import fingerprint

# Candidates from each side. More changes no measure on the development sets.
CANDIDATES = 50
# Up to so many records that pass a filter are all scored; reading 2,000 vectors takes about 10 ms.
SCORE_ALL = 2_000
# Upper bounds of what recency and help add to a score when ordering: between neighbours, never over relevance.
RECENCY, HELP = 0.01, 0.01
HALF_LIFE = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record with its scores, as `Recall` has them."""

    stored: Stored
    score: float
    cosine: float | None
    lexical: float
    matched: tuple[str, ...]


class Search:
    """One search over one namespace.

    `allowed` are the rows that pass the caller's filters, None for all.
    """

    def __init__(
        self, store: RecordStore, index: Index, embedder: Embedder, goal: str, allowed: Collection[int] | None
    ) -> None:
        self._store = store
        self._index = index
        self._goal = goal
        self._key = fingerprint(goal)
        self._vector = embed_query(embedder, goal)
        legibility = embedder.legibility(split(goal)[0]) if isinstance(embedder, JudgesLegibility) else 1.0
        self._trust = ranking.trust(legibility)
        self._allowed = allowed
        self._now = now()

    def best(self, count: int, floor: float) -> list[Recall]:
        """At most `count` outcomes at or above `floor`, the best first.

        Looks deeper when filters or records that say the same leave too few of the candidates.
        """
        size = len(self._store)
        depth = CANDIDATES
        while True:
            found = self._distinct(self._scored(depth))
            complete = depth >= size or (self._allowed is not None and len(self._allowed) <= SCORE_ALL)
            if complete or len(found) >= count:
                return self._recalls([candidate for candidate in found if candidate.score >= floor][:count])
            depth *= 8

    def _scored(self, depth: int) -> list[Candidate]:
        words = self._store.words(self._goal, depth)
        if self._allowed is not None and len(self._allowed) <= SCORE_ALL:
            rows = sorted(self._allowed)
            cosines = self._index.cosines(self._vector, rows)
        else:
            cosines = dict(self._index.search(self._vector, depth))
            rows = list(dict.fromkeys([*cosines, *words.candidates]))
            if self._allowed is not None:
                rows = [row for row in rows if row in self._allowed]
            cosines |= self._index.cosines(self._vector, [row for row in rows if row not in cosines])
        counts = self._store.term_counts(words, rows)
        found: list[Candidate] = []
        for stored in self._store.stored(rows):
            held = counts[stored.row]
            lexical = ranking.coverage(words.query, held, stored.terms, words.mean_length)
            if self._key and self._key in (stored.goal_key, stored.text_key):
                lexical = 1.0
            cosine = cosines.get(stored.row)
            if cosine is not None:
                cosine = min(1.0, max(-1.0, cosine))  # float32 gives 1.0000001 for equal texts
            score = ranking.score(cosine, lexical, self._trust)
            found.append(Candidate(stored, score, cosine, lexical, tuple(held)))
        found.sort(key=lambda candidate: -(candidate.score + self._boost(candidate.stored)))
        return found

    def _boost(self, stored: Stored) -> float:
        age = max(0.0, self._now.timestamp() - stored.finished_at)
        recency = 0.5 ** (age / HALF_LIFE.total_seconds())
        return RECENCY * recency + HELP * stored.helped / (stored.helped + 1)

    @staticmethod
    def _distinct(ranked: list[Candidate]) -> list[Candidate]:
        """One entry for records that say the same or solve the same goal, the newest, at the best one's place.

        Of one goal, what succeeded and what did not are told apart: one is an example, the other a warning.
        """
        kept: list[Candidate] = []
        place: dict[tuple[str, str, bool], int] = {}
        for candidate in ranked:
            stored = candidate.stored
            keys = [("text", stored.text_key, stored.succeeded)]
            if stored.goal_key:
                keys.append(("goal", stored.goal_key, stored.succeeded))
            at = next((place[key] for key in keys if key in place), None)
            if at is None:
                at = len(kept)
                kept.append(candidate)
            elif (stored.finished_at, stored.row) > (kept[at].stored.finished_at, kept[at].stored.row):
                kept[at] = candidate
            for key in keys:
                place[key] = at
        return kept

    def _recalls(self, candidates: list[Candidate]) -> list[Recall]:
        bodies = self._store.bodies_of([candidate.stored.row for candidate in candidates])
        recalls: list[Recall] = []
        for candidate in candidates:
            stored = candidate.stored
            if stored.row not in bodies:
                continue
            outcome = Outcome.from_json(bodies[stored.row])
            same = self._store.same("goal_key", stored.goal_key) + self._store.same("text_key", stored.text_key)
            recalls.append(
                Recall(
                    outcome,
                    candidate.score,
                    candidate.cosine,
                    candidate.lexical,
                    self._trust,
                    candidate.matched,
                    self._now - outcome.finished_at,
                    stored.helped,
                    tuple(other for other in dict.fromkeys(same) if other != stored.id),
                )
            )
        return recalls
