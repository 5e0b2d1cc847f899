"""Finding the outcomes for a new task: candidates from both sides, one score, one entry for what says the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from . import ranking
from .backend import Index
from .embedders import Embedder, JudgesLegibility
from .outcome import Outcome, now
from .parts import embed_query, split
from .recall import Recall
from .store import RecordStore, Stored, Words
from .terms import fingerprint

# Candidates from each side. More changes no measure on the development sets.
CANDIDATES = 50
# Up to so many records that pass a filter are all scored; reading 2,000 vectors takes about 10 ms.
SCORE_ALL = 2_000
# Upper bounds of what recency and help add to a score when ordering: between neighbours, never over relevance.
RECENCY, HELP = 0.01, 0.01
HALF_LIFE = timedelta(days=90)


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
            recalls = self._merged(depth)
            complete = depth >= size or (self._allowed is not None and len(self._allowed) <= SCORE_ALL)
            if complete or len(recalls) >= count:
                return [recall for recall in recalls if recall.score >= floor][:count]
            depth *= 8

    def _merged(self, depth: int) -> list[Recall]:
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
        scored = self._scored(words, rows, cosines)
        scored.sort(key=lambda item: -item[2])
        return [self._stands_for(stored, recall) for stored, recall, _ in self._distinct(scored)]

    def _scored(
        self, words: Words, rows: Sequence[int], cosines: dict[int, float]
    ) -> list[tuple[Stored, Recall, float]]:
        counts = self._store.term_counts(words, rows)
        found: list[tuple[Stored, Recall, float]] = []
        for stored in self._store.stored(rows):
            held = counts[stored.row]
            lexical = ranking.coverage(words.query, held, stored.terms, words.mean_length)
            cosine = cosines.get(stored.row)
            if self._key and self._key in (stored.goal_key, stored.text_key):
                lexical = 1.0
            outcome = Outcome.from_json(stored.body)
            recall = Recall(
                outcome,
                ranking.score(cosine, lexical, self._trust),
                cosine,
                lexical,
                self._trust,
                tuple(held),
                self._now - outcome.finished_at,
                stored.helped,
            )
            found.append((stored, recall, recall.score + _boost(recall)))
        return found

    @staticmethod
    def _distinct(scored: list[tuple[Stored, Recall, float]]) -> list[tuple[Stored, Recall, float]]:
        """One entry for records that say the same or solve the same goal, the newest, at the best one's place.

        Of one goal, what succeeded and what did not are told apart: one is an example, the other a warning.
        """
        kept: list[tuple[Stored, Recall, float]] = []
        place: dict[tuple[str, str, bool], int] = {}
        for item in scored:
            stored, recall, _ = item
            keys = [("text", stored.text_key, recall.is_warning)]
            if stored.goal_key:
                keys.append(("goal", stored.goal_key, recall.is_warning))
            at = next((place[key] for key in keys if key in place), None)
            if at is None:
                at = len(kept)
                kept.append(item)
            elif (stored.finished_at, stored.row) > (kept[at][0].finished_at, kept[at][0].row):
                kept[at] = item
            for key in keys:
                place[key] = at
        return kept

    def _stands_for(self, stored: Stored, recall: Recall) -> Recall:
        earlier = dict.fromkeys(
            self._store.same("goal_key", stored.goal_key) + self._store.same("text_key", stored.text_key)
        )
        earlier.pop(stored.id, None)
        return replace(recall, history=tuple(earlier)) if earlier else recall


def _boost(recall: Recall) -> float:
    age = max(timedelta(), recall.age)
    return RECENCY * 0.5 ** (age / HALF_LIFE) + HELP * recall.helped / (recall.helped + 1)
