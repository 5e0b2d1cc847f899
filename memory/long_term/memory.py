"""Long-term memory: one outcome a task, found again by meaning and by words."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from ..messages import clean
from . import ranking
from .backend import Backend, FolderBackend, Index
from .database import Database
from .embedders import Embedder, SentenceTransformerEmbedder
from .errors import NamespaceError, OutcomeError, OutcomeNotFoundError
from .filters import attributes, matching
from .outcome import STATUSES, Outcome, now
from .parts import embed_outcomes, search_text
from .places import default_folder, replica_folder
from .recall import Recall, format_recalls, without_notes
from .retention import beyond
from .search import Search
from .store import Draft, RecordStore
from .terms import fingerprint
from .vector_table import Space

# Outcomes embedded and stored at a time: a kill loses at most so many that were not acknowledged.
BATCH = 256
log = logging.getLogger(__name__)


class LongTermMemory:
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

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        url: str | None = None,
        embedder: Embedder | None = None,
        namespace: str = "default",
        token: str | None = None,
    ) -> None:
        if not namespace.strip() or clean(namespace) != namespace:
            raise NamespaceError(f"unusable namespace {namespace!r}: give a readable name")
        self.namespace = namespace
        self.embedder: Embedder = embedder or SentenceTransformerEmbedder()
        self.path = Path(path) if path is not None else replica_folder(url) if url else default_folder()
        self._opened_index: Index | None = None
        self._closed = False
        self._backend = self._open(url, token)
        self._store = self._backend.store

    def _open(self, url: str | None, token: str | None) -> Backend[Any]:
        if url is None:
            store = RecordStore(Database(self.path / "outcomes.sqlite3"), self.namespace)
            return FolderBackend(store, self.path)
        from .chroma_http import ChromaServer
        from .server import ServerBackend

        server = ChromaServer(url, token)
        store = RecordStore(Database(self.path / "replica.sqlite3"), self.namespace)
        return ServerBackend(store, server, self.namespace)

    @property
    def _index(self) -> Index:
        if self._opened_index is None:
            index: Index = self._backend.index(Space.of(self.namespace, self.embedder))
            others = index.other_models()
            if others and index.missing():
                log.warning(
                    "outcomes in namespace %r were embedded with %s, but this memory was opened with %s: until "
                    "they are embedded again (reindex), they are found by their words alone",
                    self.namespace,
                    ", ".join(others),
                    self.embedder.name,
                )
            self._opened_index = index
        return self._opened_index

    # ------------------------------------------------------------------ writing

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

    def forget(
        self,
        id: str | None = None,
        *,
        older_than: timedelta | datetime | None = None,
        tag: str | None = None,
        namespace: str | None = None,
    ) -> int:
        """Delete one outcome by id, or all that are older and have the tag; how many were deleted.

        `namespace` empties this memory's namespace, and must be its name: a wall is not forgotten across.

        Raises:
            NamespaceError: `namespace` is another one.
            ValueError: nothing was named.
        """
        if namespace not in (None, self.namespace):
            raise NamespaceError(f"this memory is {self.namespace!r}; open {namespace!r} to forget it")
        if id is not None:
            return self._backend.delete([id])
        if older_than is None and tag is None and namespace is None:
            raise ValueError("say what to forget: an id, older_than=, tag= or namespace=")
        limit = _moment(older_than)
        tags = () if tag is None else (tag,)
        doomed = [o.id for o in self.outcomes(tags=tags) if limit is None or o.finished_at < limit]
        return self._backend.delete(doomed)

    def retain(
        self,
        *,
        newest: int | None = None,
        within: timedelta | datetime | None = None,
        per_goal: int | None = None,
        keep_status: Sequence[str] = (),
        keep_tags: Sequence[str] = (),
        dry_run: bool = False,
    ) -> list[str]:
        """Forget what goes beyond any of the limits; the ids of what was forgotten, the oldest first.

        Args:
            newest: so many outcomes stay at most, the newest.
            within: what was finished earlier goes: an age, or a moment.
            per_goal: so many of the same goal stay at most, the newest; what succeeded and what did not are counted
                apart.
            keep_status, keep_tags: what has one of these statuses or tags stays, and is not counted.
            dry_run: forget nothing, only tell what would be.

        Raises:
            ValueError: no limit was named, or one is negative.
            OutcomeError: an unknown status.
        """
        limits = (newest, within, per_goal)
        if limits == (None, None, None) or any(isinstance(limit, int) and limit < 0 for limit in limits):
            raise ValueError("say what may stay: newest=, within= or per_goal=, none of them negative")
        self._backend.sync()
        gone = beyond(
            self._store,
            newest=newest,
            since=_moment(within),
            per_goal=per_goal,
            keep_status=keep_status,
            keep_tags=keep_tags,
        )
        if not dry_run:
            self._backend.delete(gone)
        return gone

    # ------------------------------------------------------------------ reading

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
        if budget_tokens is None:
            return recalls
        if count is None:
            from ..tokens import TokenCounter

            count = TokenCounter().count
        while recalls and recalls[-1].outcome.id not in format_recalls(recalls, budget_tokens, count):
            recalls.pop()
        return recalls

    def get(self, id: str) -> Outcome | None:
        """The outcome of this id, exactly as it was stored; None if there is none here."""
        self._backend.sync()
        body = self._store.body(id)
        return None if body is None else Outcome.from_json(body)

    def _stored(self, id: str) -> Outcome:
        outcome = self.get(id)
        if outcome is None:
            raise OutcomeNotFoundError(f"no outcome {id!r} in the namespace {self.namespace!r}")
        return outcome

    def outcomes(
        self,
        *,
        status: str | None = None,
        tags: Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        newest_first: bool = False,
    ) -> Iterator[Outcome]:
        """Every stored outcome that passes the filters of `recall`, by the time it was finished."""
        self._backend.sync()
        allowed = matching(self._store, status, tags, where)
        for row, body in self._store.bodies(newest_first=newest_first):
            if allowed is None or row in allowed:
                yield Outcome.from_json(body)

    def __len__(self) -> int:
        self._backend.sync()
        return len(self._store)

    def stats(self) -> dict[str, Any]:
        """Counts and places, as plain values."""
        self._backend.sync()
        counts = {status: len(matching(self._store, status, (), None) or ()) for status in sorted(STATUSES)}
        return {
            "namespace": self.namespace,
            "path": str(self.path),
            "outcomes": len(self._store),
            **counts,
            "bytes": sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file()),
            "model": self.embedder.name,
            "not_embedded": len(self._index.missing()),
            "other_models": self._index.other_models(),
        }

    # ------------------------------------------------------------------ moving and embedding anew

    def export_jsonl(self, path: str | Path) -> int:
        """Write every outcome of the namespace as one line of JSON; how many. An existing file is replaced whole."""
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"cannot write {target}: there is no folder {target.parent}")
        partial = target.with_name(f"{target.name}.{uuid.uuid4().hex}.part")
        written = 0
        try:
            with partial.open("w", encoding="utf-8") as file:
                for outcome in self.outcomes():
                    file.write(outcome.to_json() + "\n")
                    written += 1
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        return written

    def import_jsonl(self, path: str | Path) -> int:
        """Store every outcome of an export, in place of those of the same ids; how many.

        All lines are read before anything is stored.

        Raises:
            OutcomeError: a line is no outcome.
            NamespaceError: a line belongs to another namespace.
        """
        outcomes: list[Outcome] = []
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    outcomes += [self._own(Outcome.from_json(line))] if line.strip() else []
                except (OutcomeError, NamespaceError) as error:
                    raise type(error)(f"{path}, line {number}: {error}") from error
        return len(self.remember_many(outcomes))

    def reindex(
        self, embedder: Embedder, *, progress: Callable[[int, int], None] | None = None, drop_old: bool = False
    ) -> int:
        """Embed every outcome with another model, then use it; how many were embedded.

        The old index serves until the new one is whole. Stopped and called again, it goes on where it was.

        Args:
            progress: called with (done, total).
            drop_old: delete the old model's vectors at the end; other processes may still use them.
        """
        self._backend.sync()
        index = self._backend.index(Space.of(self.namespace, embedder))
        missing = index.missing()
        done = 0
        for at in range(0, len(missing), BATCH):
            bodies = self._store.bodies_of(missing[at : at + BATCH])
            vectors = embed_outcomes(embedder, [Outcome.from_json(body) for body in bodies.values()])
            index.add(dict(zip(bodies, vectors, strict=True)))
            done += len(bodies)
            if progress is not None:
                progress(done, len(missing))
        old, self._opened_index, self.embedder = self._opened_index, index, embedder
        if drop_old and old is not None:
            old.drop()
        return done

    def close(self) -> None:
        """Finish the index and let go of the files; may be called again."""
        if not self._closed:
            self._closed = True
            self._backend.close()

    def __enter__(self) -> LongTermMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _moment(limit: timedelta | datetime | None) -> datetime | None:
    """A limit in time as a moment: so long ago, or itself; without a zone it is local time."""
    if isinstance(limit, timedelta):
        return now() - limit
    return limit.astimezone() if limit is not None and limit.tzinfo is None else limit


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
