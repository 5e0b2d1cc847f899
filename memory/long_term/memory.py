"""Long-term memory: one outcome a task, found again by meaning and by words."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from . import ranking
from .errors import NamespaceError
from .filters import attributes, matching
from .jsonl import read_outcomes, write_outcomes
from .outcome import Outcome
from .parts import BATCH, embed_outcomes, search_text
from .recall import Recall, within_budget, without_notes
from .search import Search
from .store import Draft
from .terms import fingerprint
from .upkeep import Upkeep


class LongTermMemory(Upkeep):
    """The outcomes of finished tasks, kept in a folder or on a Chroma server.

    Args:
        path: folder of the store, default the user's data folder; with `url`, of this machine's replica.
        url: a Chroma server that many machines share, as `http://localhost:8000`; `token` goes with each request.
        embedder: default `SentenceTransformerEmbedder()`, MiniLM in this process. Loaded when first needed.
        namespace: a wall; no query, id or import crosses it. Any text is a name.

    It may be used from several threads, and several processes may use one folder: what one has stored, the next
    call of another finds.

    Raises:
        StoreError: the folder cannot be used.
        ServerError: the server is away or refuses.
        NamespaceError: the namespace is blank.
    """

    def remember(self, outcome: Outcome) -> str:
        """Store an outcome and give its id; one of the same id is replaced. It is safe when this returns.

        Notes that `format_recalls` made are taken out of its texts: what was recalled is not remembered again.

        Raises:
            NamespaceError: the outcome belongs to another namespace.
            EmbedderError, StoreError, ServerError: nothing was stored.
        """
        return self.remember_many([outcome])[0]

    def remember_many(self, outcomes: Iterable[Outcome]) -> list[str]:
        """Store outcomes, a batch at a time; when it raises, whole batches before are stored."""
        waiting = iter(outcomes)
        ids: list[str] = []
        index = self._index
        while batch := [self._own(outcome) for outcome in islice(waiting, BATCH)]:
            vectors = embed_outcomes(self.embedder, batch)
            self._backend.put([_draft(outcome) for outcome in batch], vectors, index)
            ids += [outcome.id for outcome in batch]
        return ids

    def _own(self, outcome: Outcome) -> Outcome:
        if outcome.namespace not in (None, self.namespace):
            raise NamespaceError(
                f"outcome {outcome.id!r} belongs to the namespace {outcome.namespace!r}, this memory is "
                f"{self.namespace!r}; store it there, or make a copy with namespace=None"
            )
        return replace(
            outcome,
            namespace=self.namespace,
            goal=without_notes(outcome.goal),
            result=without_notes(outcome.result),
            summary=without_notes(outcome.summary),
            lessons=tuple(without_notes(lesson) for lesson in outcome.lessons),
        )

    def update(self, id: str, **changes: Any) -> Outcome:
        """Change fields of a stored outcome, and give the new one.

        Raises:
            OutcomeNotFoundError: no such id here.
            OutcomeError: a field does not exist or cannot have this value.
        """
        outcome = Outcome.from_dict(self._stored(id).to_dict() | changes | {"id": id})
        self.remember(outcome)
        return outcome

    def mark_helpful(self, id: str) -> None:
        """Note that a recalled outcome helped; it is preferred a little among equals.

        Raises:
            OutcomeNotFoundError: no such id here.
        """
        self._stored(id)
        self._backend.add_helped(id)

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
        count: Callable[[str], int] | None = None,
    ) -> list[Recall]:
        """At most `k` outcomes that fit a new task, the best first; none when nothing fits, or the goal is blank.

        Args:
            min_score: the relevance floor, default `ranking.FLOOR`, which was calibrated for MiniLM.
            status: `succeeded`, `failed` or `abandoned`.
            tags: all must be there.
            where: metadata to be equal, or within bounds: `{"user": "u1", "ts": {"gte": 120, "lte": 180}}`.
            budget_tokens: as many as `format_recalls` shows within it, measured by `count` (default tiktoken).

        Raises:
            OutcomeError: a filter makes no sense.
            EmbedderError, StoreError, ServerError: with what to do.
        """
        self._backend.sync()
        if k < 1 or not goal.strip() or not len(self._store):
            return []
        allowed = matching(self._store, status, tags, where)
        floor = ranking.FLOOR if min_score is None else min_score
        recalls = Search(self._store, self._index, self.embedder, goal, allowed).best(k, floor)
        return recalls if budget_tokens is None else within_budget(recalls, budget_tokens, count)

    def export_jsonl(self, path: str | Path) -> int:
        """Write every outcome of the namespace as one line of JSON; how many. An existing file is replaced whole."""
        return write_outcomes(path, self.outcomes())

    def import_jsonl(self, path: str | Path) -> int:
        """Store every outcome of an export, in place of those of the same ids; how many.

        All lines are read before anything is stored.

        Raises:
            OutcomeError: a line is no outcome.
            NamespaceError: a line belongs to another namespace.
        """
        return len(self.remember_many(list(read_outcomes(path, self._own))))


def _draft(outcome: Outcome) -> Draft:
    text = search_text(outcome)
    return Draft(
        outcome.id,
        uuid.uuid4().hex,
        outcome.to_json(),
        text,
        fingerprint(outcome.goal),
        fingerprint(text),
        outcome.finished_at.timestamp(),
        outcome.status == "succeeded",
        attributes(outcome),
    )
