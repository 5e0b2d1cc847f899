"""One memory for many machines, on a Chroma server: the records are a log there, and every machine follows it.

A server keeps no SQLite file of ours, so a collection of its own holds the log of all writes in one order. Each
machine replays it into a local replica, which serves the words and the filters; vectors stay on the server. The
replica is a cache: delete it, and it is read again.

Entry n of the log has the id n. Chroma ignores an `add` of an id that exists, so writers agree on the order by
adding the next id and looking who got it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import httpx
import numpy as np

from .chroma_folder import open_collection
from .database import select_in
from .embedders import Vectors
from .errors import ServerError
from .store import Draft, RecordStore
from .vector_index import SPARE, Vector, best_by_row
from .vector_table import Space

TIMEOUT = 30.0
_PAGE = 100
# Vectors of a record are stored as "{version}.0" and "{version}.1".
_PER_RECORD = 2
Item = TypeVar("Item")


class Server:
    """The connection to one Chroma server.

    Args:
        url: as `http://localhost:8000`.
        token: sent as bearer token, and as Chroma's own `X-Chroma-Token`.

    Raises:
        ServerError: from every method, when the server is away, too slow or refuses.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ServerError(f"{url!r} is no address of a Chroma server; give one like http://localhost:8000")
        headers = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}
        secure = parts.scheme == "https"
        with self.errors():
            # Chroma's client waits for ever; asking first with a limit tells a server that is away.
            httpx.get(f"{url.rstrip('/')}/api/v2/heartbeat", headers=headers, timeout=TIMEOUT).raise_for_status()
            import chromadb
            from chromadb.config import Settings

            self.client: Any = chromadb.HttpClient(
                host=parts.hostname,
                port=parts.port or (443 if secure else 80),
                ssl=secure,
                headers=headers,
                settings=Settings(anonymized_telemetry=False),
            )
            self.client._server._session.timeout = httpx.Timeout(TIMEOUT)
            self.batch = int(self.client.get_max_batch_size())

    @contextlib.contextmanager
    def errors(self) -> Generator[None]:
        try:
            from chromadb.errors import ChromaError
        except ImportError as error:
            raise ServerError(f"chromadb is not installed: {error}") from error
        try:
            yield
        except (httpx.HTTPError, ChromaError, ConnectionError, ValueError) as error:
            raise ServerError(
                f"the Chroma server at {self.url} failed: {type(error).__name__}: {error}; nothing was changed "
                "here. Check that it runs and that the token is right"
            ) from error

    def collection(self, name: str, description: dict[str, Any]) -> Any:
        with self.errors():
            return open_collection(self.client, name, description)

    def close(self) -> None:
        self.client.close()


class ServerBackend:
    """The log of one namespace on a server, and its replica here."""

    def __init__(self, store: RecordStore, server: Server, namespace: str) -> None:
        self.store = store
        self._server = server
        digest = hashlib.sha256(namespace.encode("utf-8", "backslashreplace")).hexdigest()
        self._log = server.collection(f"carryforward-log-{digest[:32]}", {"namespace": namespace})
        self._indexes: list[ServerIndex] = []
        self._follow_this_log()

    def _follow_this_log(self) -> None:
        """Start anew when the replica belongs to another log: another server, or one that was emptied."""
        name = str(self._log.id)
        with self.store.database.reading() as db:
            known = db.execute("SELECT log FROM namespaces WHERE id = ?", (self.store.namespace,)).fetchone()[0]
        if known != name:
            self.store.clear()
            with self.store.database.writing() as db:
                db.execute("UPDATE namespaces SET log = ?, position = 0 WHERE id = ?", (name, self.store.namespace))

    def index(self, space: Space) -> ServerIndex:
        index = ServerIndex(self._server, self.store, space)
        self._indexes.append(index)
        return index

    # ------------------------------------------------------------------ following the log

    def sync(self) -> None:
        while True:
            start = self._position()
            with self._server.errors():
                page = self._log.get(ids=[str(n) for n in range(start + 1, start + 1 + _PAGE)], include=["documents"])
            entries = sorted(zip(map(int, page["ids"]), page["documents"], strict=True))
            self._apply(start, entries)
            if len(entries) < _PAGE:
                return

    def _position(self) -> int:
        with self.store.database.reading() as db:
            found = db.execute("SELECT position FROM namespaces WHERE id = ?", (self.store.namespace,))
            return int(found.fetchone()[0])

    def _apply(self, start: int, entries: Sequence[tuple[int, str]]) -> None:
        """Replay entries, unless another process of this machine has done so meanwhile; one transaction."""
        if not entries:
            return
        with self.store.database.writing() as db:
            if self._position() != start:
                return
            for number, text in entries:
                entry = cast("dict[str, Any]", json.loads(text))
                if "put" in entry:
                    draft = entry["put"]
                    draft["attributes"] = tuple(tuple(item) for item in draft["attributes"])
                    self.store.put([Draft(**draft)], position=number)
                elif "delete" in entry:
                    self.store.delete(entry["delete"])
                elif "helped" in entry:
                    self.store.add_helped(entry["helped"])
            db.execute("UPDATE namespaces SET position = ? WHERE id = ?", (entries[-1][0], self.store.namespace))

    # ------------------------------------------------------------------ writing

    def put(self, drafts: Sequence[Draft], vectors: Sequence[Vectors], index: ServerIndex) -> None:
        """Vectors first: those without a record are not seen, a record without them would be half there."""
        index.add_versions({draft.version: of_draft for draft, of_draft in zip(drafts, vectors, strict=True)})
        self.sync()
        before = self._kept([draft.id for draft in drafts])
        self._append([{"put": dataclasses.asdict(draft)} for draft in drafts])
        self._erase(before)

    def delete(self, ids: Sequence[str]) -> int:
        self.sync()
        before = self._kept(ids)
        if before:
            self._append([{"delete": list(ids)}])
            self._erase(before)
        return len(before)

    def add_helped(self, identifier: str) -> None:
        self._append([{"helped": identifier}])

    def _append(self, entries: Sequence[dict[str, Any]]) -> None:
        """Add entries to the end of the log, and follow it to there."""
        waiting = [json.dumps(entry) for entry in entries]
        while waiting:
            self.sync()
            batch = waiting[: self._server.batch]
            ids = [str(self._position() + 1 + at) for at in range(len(batch))]
            mark = uuid.uuid4().hex
            with self._server.errors():
                self._log.add(
                    ids=ids,
                    documents=batch,
                    metadatas=[{"writer": mark}] * len(batch),
                    # Chroma wants a vector of everything; points of a circle keep its graph well-formed.
                    embeddings=[[math.cos(int(n)), math.sin(int(n))] for n in ids],
                )
                won = self._log.get(ids=ids, include=["metadatas"])
            mine = {n for n, said in zip(won["ids"], won["metadatas"], strict=True) if said["writer"] == mark}
            waiting = [text for n, text in zip(ids, batch, strict=True) if n not in mine] + waiting[len(batch) :]
        self.sync()

    def _kept(self, ids: Sequence[str]) -> list[tuple[str, int]]:
        """(version, number of its log entry) of those of `ids` that are stored."""
        with self.store.database.reading() as db:
            return select_in(
                db,
                "SELECT version, position FROM records WHERE namespace = ? AND id IN (*)",
                ids,
                self.store.namespace,
            )

    def _erase(self, kept: Sequence[tuple[str, int]]) -> None:
        """Take what was replaced or forgotten out of the log and the vectors; its text must not linger."""
        if kept:
            with self._server.errors():
                self._log.update(
                    ids=[str(number) for _, number in kept],
                    documents=["{}"] * len(kept),
                    embeddings=[[1.0, 0.0]] * len(kept),
                )
            for index in self._indexes:
                index.remove_versions([version for version, _ in kept])

    def close(self) -> None:
        self._server.close()
        self.store.database.close()


class ServerIndex:
    """The vectors of one space, kept by the server alone."""

    def __init__(self, server: Server, store: RecordStore, space: Space) -> None:
        self._server = server
        self._store = store
        self._space = space
        self._collection = server.collection(space.collection, space.description)

    def search(self, query: Vector, count: int) -> list[tuple[int, float]]:
        with self._server.errors():
            found = self._collection.query(query_embeddings=query[None], n_results=count + SPARE, include=["distances"])
        numbers, distances = found["ids"][0], found["distances"][0]
        rows = self._store.rows_of_versions({number.partition(".")[0] for number in numbers})
        best: dict[int, float] = {}
        for number, distance in zip(numbers, distances, strict=True):
            row = rows.get(number.partition(".")[0])
            if row is not None:
                best[row] = max(1.0 - distance, best.get(row, -1.0))
        return sorted(best.items(), key=lambda hit: -hit[1])[:count]

    def cosines(self, query: Vector, rows: list[int]) -> dict[int, float]:
        owners = {version: row for row, version in self._store.versions(rows).items()}
        found: list[int] = []
        vectors: list[Vector] = []
        for chunk in _chunks(sorted(owners), self._server.batch // _PER_RECORD):
            with self._server.errors():
                got = self._collection.get(ids=_vector_ids(chunk), include=["embeddings"])
            found += [owners[number.partition(".")[0]] for number in got["ids"]]
            vectors += list(np.asarray(got["embeddings"], dtype=np.float32))
        return best_by_row(query, found, np.array(vectors)) if found else {}

    def missing(self) -> list[int]:
        owners = {version: row for row, version in self._store.versions(self._store.rows()).items()}
        for chunk in _chunks(sorted(owners), self._server.batch // _PER_RECORD):
            with self._server.errors():
                got = self._collection.get(ids=[f"{version}.0" for version in chunk], include=[])
            for number in got["ids"]:
                del owners[number.partition(".")[0]]
        return sorted(owners.values())

    def add(self, vectors: dict[int, Vectors]) -> None:
        versions = self._store.versions(vectors)
        self.add_versions({versions[row]: of_row for row, of_row in vectors.items() if row in versions})

    def add_versions(self, vectors: Mapping[str, Vectors]) -> None:
        pairs = [
            (f"{version}.{part}", vector)
            for version, of_version in vectors.items()
            for part, vector in enumerate(of_version)
        ]
        for chunk in _chunks(pairs, self._server.batch):
            with self._server.errors():
                self._collection.upsert(ids=[n for n, _ in chunk], embeddings=[vector for _, vector in chunk])

    def remove_versions(self, versions: Sequence[str]) -> None:
        for chunk in _chunks(versions, self._server.batch // _PER_RECORD):
            with self._server.errors():
                # Chroma logs a warning for ids it does not have; only those there are named.
                there = self._collection.get(ids=_vector_ids(chunk), include=[])["ids"]
                if there:
                    self._collection.delete(ids=there)

    def other_models(self) -> list[str]:
        with self._server.errors():
            described = [
                cast("dict[str, object]", found.metadata or {}) for found in self._server.client.list_collections()
            ]
        return [
            str(each["model"])
            for each in described
            if each.get("namespace") == self._space.namespace and "model" in each and each != self._space.description
        ]

    def drop(self) -> None:
        with self._server.errors():
            self._server.client.delete_collection(self._space.collection)

    def close(self) -> None:
        """Nothing of its own to close."""


def _vector_ids(versions: Sequence[str]) -> list[str]:
    return [f"{version}.{part}" for version in versions for part in range(_PER_RECORD)]


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[at : at + size] for at in range(0, len(items), size))
