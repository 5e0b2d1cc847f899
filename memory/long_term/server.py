"""One memory for many machines, on a Chroma server: the records are a log there, and every machine follows it.

A server keeps no SQLite file of ours, so a collection of its own holds the log of all writes in one order. Each
machine replays it into a local replica, which serves the words and the filters; vectors stay on the server. The
replica is a cache: delete it, and it is read again.

Entry n of the log has the id n. Chroma ignores an `add` of an id that exists, so writers agree on the order by
adding the next id and looking who got it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from .chroma_http import ChromaServer
from .database import select_in
from .embedders import Vectors
from .store import Draft, RecordStore
from .vector_index import SPARE, Vector, best_by_row
from .vector_table import Space

_PAGE = 100
# Vectors of a record are stored as "{version}.0" and "{version}.1".
_PER_RECORD = 2
Item = TypeVar("Item")


class ServerBackend:
    """The log of one namespace on a server, and its replica here."""

    def __init__(self, store: RecordStore, server: ChromaServer, namespace: str) -> None:
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
            page = self._log.documents([str(n) for n in range(start + 1, start + 1 + _PAGE)])
            entries = sorted((int(n), text) for n, text in page.items())
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
            # Chroma wants a vector of everything; points of a circle keep its graph well-formed.
            angles = np.array([int(n) for n in ids], dtype=np.float32)
            points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
            self._log.add(ids, points, batch, {"writer": mark})
            mine = {n for n, said in self._log.metadata(ids).items() if said["writer"] == mark}
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
            self._log.replace_documents([str(number) for _, number in kept], "{}")
            for index in self._indexes:
                index.remove_versions([version for version, _ in kept])

    def close(self) -> None:
        self._server.close()
        self.store.database.close()


class ServerIndex:
    """The vectors of one space, kept by the server alone."""

    def __init__(self, server: ChromaServer, store: RecordStore, space: Space) -> None:
        self._server = server
        self._store = store
        self._space = space
        self._collection = server.collection(space.collection, space.description)

    def search(self, query: Vector, count: int) -> list[tuple[int, float]]:
        hits = [(number.partition(".")[0], cosine) for number, cosine in self._collection.nearest(query, count + SPARE)]
        rows = self._store.rows_of_versions({version for version, _ in hits})
        best: dict[int, float] = {}
        for version, cosine in hits:
            row = rows.get(version)
            if row is not None:
                best[row] = max(cosine, best.get(row, -1.0))
        return sorted(best.items(), key=lambda hit: -hit[1])[:count]

    def cosines(self, query: Vector, rows: list[int]) -> dict[int, float]:
        owners = {version: row for row, version in self._store.versions(rows).items()}
        found: list[int] = []
        vectors: list[Vector] = []
        for chunk in _chunks(sorted(owners), self._server.batch // _PER_RECORD):
            numbers, of_chunk = self._collection.vectors(_vector_ids(chunk))
            found += [owners[number.partition(".")[0]] for number in numbers]
            vectors += list(of_chunk)
        return best_by_row(query, found, np.array(vectors)) if found else {}

    def missing(self) -> list[int]:
        owners = {version: row for row, version in self._store.versions(self._store.rows()).items()}
        for chunk in _chunks(sorted(owners), self._server.batch // _PER_RECORD):
            for number in self._collection.present([f"{version}.0" for version in chunk]):
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
            self._collection.upsert([number for number, _ in chunk], np.stack([vector for _, vector in chunk]))

    def remove_versions(self, versions: Sequence[str]) -> None:
        for chunk in _chunks(versions, self._server.batch // _PER_RECORD):
            self._collection.delete(_vector_ids(chunk))

    def others(self) -> list[Space]:
        mine = self._space.description
        return [
            Space(**each)
            for each in self._server.descriptions()
            if each.keys() == mine.keys() and each["namespace"] == mine["namespace"] and each != mine
        ]

    def drop(self) -> None:
        self._collection.drop()


def _vector_ids(versions: Sequence[str]) -> list[str]:
    return [f"{version}.{part}" for version in versions for part in range(_PER_RECORD)]


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[at : at + size] for at in range(0, len(items), size))
