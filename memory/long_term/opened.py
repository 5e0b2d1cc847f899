"""Opening a memory of one namespace, in a folder or on a server, and reading what is stored there."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..messages import clean
from .backend import Backend, FolderBackend, Index
from .database import Database
from .embedders import Embedder, SentenceTransformerEmbedder
from .errors import NamespaceError, OutcomeNotFoundError
from .filters import matching
from .outcome import STATUSES, Outcome
from .places import default_folder, replica_folder
from .store import RecordStore
from .vector_table import Space

log = logging.getLogger(__name__)


class OpenedMemory:
    """The part of `LongTermMemory` that opens, reads and closes; the arguments are explained there."""

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
            others = [space.model for space in index.others()]
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
            "other_models": [space.model for space in self._index.others()],
        }

    def close(self) -> None:
        """Finish the index and let go of the files; may be called again."""
        if not self._closed:
            self._closed = True
            self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
