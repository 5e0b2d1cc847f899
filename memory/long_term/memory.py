"""Long-term memory: one outcome a task, found again by meaning and by words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from . import lexical
from .embedders import Embedder, SentenceTransformerEmbedder, embed_checked
from .outcome import Outcome, now
from .recall import Recall
from .store import Draft, RecordStore, Space, typed
from .terms import terms
from .vector_index import VectorIndex

CANDIDATES = 50
BATCH = 500


class LongTermMemory:
    def __init__(
        self,
        path: str | Path | None = None,
        *,
        url: str | None = None,
        embedder: Embedder | None = None,
        namespace: str = "default",
        token: str | None = None,
    ) -> None:
        self.namespace = namespace
        self.embedder: Embedder = embedder or SentenceTransformerEmbedder()
        self.path = Path(path) if path is not None else default_folder()
        self._store = RecordStore(self.path / "outcomes.sqlite3")
        self._namespace = self._store.namespace(namespace)
        self._index: VectorIndex | None = None

    @property
    def _vectors(self) -> VectorIndex:
        if self._index is None:
            model = self.embedder
            number = self._store.space(self._namespace, model.name, model.revision, model.dimension)
            self._space = Space(number, self.namespace, model.name, model.revision, model.dimension)
            self._index = VectorIndex(self._store, self.path, self._space)
        return self._index

    def remember(self, outcome: Outcome) -> str:
        return self.remember_many([outcome])[0]

    def remember_many(self, outcomes: Iterable[Outcome]) -> list[str]:
        index = self._vectors
        pending = [replace(outcome, namespace=self.namespace) for outcome in outcomes]
        for start in range(0, len(pending), BATCH):
            self._store.put(self._namespace, self._space.id, self._drafts(pending[start : start + BATCH]))
            index.advance()
        return [outcome.id for outcome in pending]

    def _drafts(self, outcomes: Sequence[Outcome]) -> list[Draft]:
        texts = [embedded_texts(outcome) for outcome in outcomes]
        vectors = embed_checked(self.embedder, [text for of_outcome in texts for text in of_outcome])
        drafts: list[Draft] = []
        start = 0
        for outcome, of_outcome in zip(outcomes, texts, strict=True):
            drafts.append(
                Draft(
                    outcome.id,
                    outcome.to_json(),
                    search_text(outcome),
                    outcome.finished_at.timestamp(),
                    attributes(outcome),
                    vectors[start : start + len(of_outcome)],
                )
            )
            start += len(of_outcome)
        return drafts

    def recall(
        self,
        goal: str,
        *,
        k: int = 5,
        min_score: float | None = None,
        status: str | None = None,
        tags: Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        budget_tokens: int | None = None,
    ) -> list[Recall]:
        if not goal.strip() or not len(self):
            return []
        total, _ = self._store.count(self._namespace)
        query = embed_checked(self.embedder, [goal])[0]
        cosines = dict(self._vectors.search(query, CANDIDATES))
        with self._store.reading() as db:
            words = lexical.weigh(db, self._namespace, total, terms(goal))
            rows = list(dict.fromkeys([*cosines, *lexical.candidates(db, words, CANDIDATES)]))
            counts = lexical.term_counts(db, words, rows)
        missing = [row for row in rows if row not in cosines]
        for row, cosine in zip(*self._similarities(query, missing), strict=True):
            cosines[row] = max(cosine, cosines.get(row, -1.0))
        top = sum(word.weight for word in words) or 1.0
        stored = self._store.stored(rows)
        found: list[Recall] = []
        for row, record in stored.items():
            held = counts[row]
            coverage = sum(word.weight for word in words if word.text in held) / top
            cosine = cosines.get(row)
            score = min(1.0, max(0.0, 0.3 * max(cosine or 0.0, 0.0) + 0.7 * coverage))
            outcome = Outcome.from_json(record.body)
            age = now() - outcome.finished_at
            found.append(Recall(outcome, score, cosine, coverage, tuple(held), age, record.helped))
        found.sort(key=lambda recall: -recall.score)
        return [recall for recall in found if recall.score >= (min_score or 0.0)][:k]

    def _similarities(self, query: Any, rows: list[int]) -> tuple[list[int], list[float]]:
        owners, vectors = self._store.vectors_of(self._space.id, rows)
        return owners, [float(value) for value in vectors @ query] if owners else []

    def get(self, id: str) -> Outcome | None:
        body = self._store.body(self._namespace, id)
        return None if body is None else Outcome.from_json(body)

    def __len__(self) -> int:
        return self._store.count(self._namespace)[0]

    def close(self) -> None:
        if self._index is not None:
            self._index.advance(wait=True)
            self._index.close()
            self._index = None
        self._store.close()

    def __enter__(self) -> LongTermMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def search_text(outcome: Outcome) -> str:
    return "\n".join(part for part in outcome.texts() if part.strip())


def embedded_texts(outcome: Outcome) -> list[str]:
    """The goal alone, as a new task is a goal; and everything, where there is more than the goal."""
    whole = search_text(outcome)
    return [whole] if whole == outcome.goal or not outcome.goal.strip() else [outcome.goal, whole]


def attributes(outcome: Outcome) -> tuple[tuple[str, str, object], ...]:
    """What an outcome can be filtered by, as (key, kind, value)."""
    found: list[tuple[str, str, object]] = [("", "status", outcome.status)]
    found += [("", "tag", tag) for tag in outcome.tags]
    for key, value in outcome.metadata.items():
        kind = typed(value)
        if kind is not None:
            found.append((key, *kind))
    return tuple(found)


def default_folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path("carryforward", appauthor=False) / "long-term"
