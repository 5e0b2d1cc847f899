"""The vectors of record: every embedding of one space (namespace and embedding model), and what Chroma has of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .database import Database, select_in
from .embedders import Embedder, Vectors
from .store import RecordStore, named_row


@dataclass(frozen=True, slots=True)
class Space:
    """Where the vectors of one namespace and one embedding model live; other models' never mix with them."""

    namespace: str
    model: str
    revision: str
    dimension: int

    @classmethod
    def of(cls, namespace: str, embedder: Embedder) -> Space:
        return cls(namespace, embedder.name, embedder.revision, embedder.dimension)

    @property
    def collection(self) -> str:
        """A collection name that Chroma accepts, whatever the namespace and the model are called."""
        identity = "\n".join([self.namespace, self.model, self.revision, str(self.dimension)])
        digest = hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest()
        return f"carryforward-{digest[:32]}"

    @property
    def description(self) -> dict[str, str | int]:
        return {
            "namespace": self.namespace,
            "model": self.model,
            "revision": self.revision,
            "dimension": self.dimension,
        }


class VectorTable:
    def __init__(self, store: RecordStore, space: Space) -> None:
        self.database: Database = store.database
        self._namespace = store.namespace
        self._space = space
        self.id = named_row(
            self.database,
            "SELECT id FROM spaces WHERE namespace = ? AND model = ? AND revision = ? AND dimension = ?",
            "INSERT INTO spaces (namespace, model, revision, dimension) VALUES (?, ?, ?, ?)",
            (self._namespace, space.model, space.revision, space.dimension),
        )

    def after(self, last: int, limit: int = -1) -> tuple[list[int], Vectors]:
        """Ids and vectors, shape (n, dimension), that were added after the vector `last`, in order."""
        with self.database.reading() as db:
            found = db.execute(
                "SELECT id, vector FROM vectors WHERE space = ? AND id > ? ORDER BY id LIMIT ?",
                (self.id, last, limit),
            ).fetchall()
        return [number for number, _ in found], _stack([blob for _, blob in found])

    def owners(self, vectors: Iterable[int]) -> dict[int, int]:
        """vector id -> row of its record; deleted ones are left out."""
        with self.database.reading() as db:
            return dict(select_in(db, "SELECT id, row FROM vectors WHERE id IN (*)", vectors))

    def of_rows(self, rows: Iterable[int]) -> tuple[list[int], Vectors]:
        """Rows (repeated for each of their vectors) and the vectors, shape (n, dimension)."""
        with self.database.reading() as db:
            found = select_in(db, "SELECT row, vector FROM vectors WHERE space = ? AND row IN (*)", rows, self.id)
        return [row for row, _ in found], _stack([blob for _, blob in found])

    def add(self, vectors: dict[int, Vectors]) -> None:
        """Store the vectors of records that had none in this space; records deleted meanwhile are left out."""
        with self.database.writing() as db:
            alive = {row for (row,) in select_in(db, "SELECT row FROM records WHERE row IN (*)", vectors)}
            db.executemany(
                "INSERT INTO vectors (space, row, vector) VALUES (?, ?, ?)",
                ((self.id, row, vector.tobytes()) for row in alive for vector in vectors[row]),
            )

    def missing(self, limit: int = -1) -> list[int]:
        """Rows of records that have no vector in this space."""
        with self.database.reading() as db:
            return [
                row
                for (row,) in db.execute(
                    "SELECT row FROM records r WHERE namespace = ? AND NOT EXISTS "
                    "(SELECT 1 FROM vectors v WHERE v.row = r.row AND v.space = ?) LIMIT ?",
                    (self._namespace, self.id, limit),
                )
            ]

    def others(self) -> list[Space]:
        """The spaces of other models that embedded records of this namespace."""
        with self.database.reading() as db:
            return [
                Space(self._space.namespace, *model)
                for model in db.execute(
                    "SELECT model, revision, dimension FROM spaces s WHERE namespace = ? AND id <> ? "
                    "AND EXISTS (SELECT 1 FROM vectors v WHERE v.space = s.id)",
                    (self._namespace, self.id),
                )
            ]

    def drop(self) -> None:
        """Delete every vector of this space."""
        with self.database.writing() as db:
            db.execute("INSERT INTO graves SELECT space, id FROM vectors WHERE space = ?", (self.id,))
            db.execute("DELETE FROM vectors WHERE space = ?", (self.id,))

    # ------------------------------------------------------------------ what Chroma has

    def index_state(self) -> tuple[int, int]:
        """(last vector id that Chroma holds, how often Chroma was changed)."""
        with self.database.reading() as db:
            found = db.execute("SELECT indexed, generation FROM spaces WHERE id = ?", (self.id,)).fetchone()
        return (0, 0) if found is None else (int(found[0]), int(found[1]))

    def waiting(self) -> int:
        """Changes that Chroma has not got yet: vectors to add and to take out."""
        with self.database.reading() as db:
            found = db.execute(
                "SELECT (SELECT COUNT(*) FROM vectors WHERE space = s.id AND id > s.indexed) "
                "+ (SELECT COUNT(*) FROM graves WHERE space = s.id) FROM spaces s WHERE id = ?",
                (self.id,),
            ).fetchone()
        return 0 if found is None else int(found[0])

    def graves(self, limit: int) -> list[int]:
        """Ids of deleted vectors that Chroma still holds."""
        with self.database.reading() as db:
            return [
                number
                for (number,) in db.execute("SELECT vector FROM graves WHERE space = ? LIMIT ?", (self.id, limit))
            ]

    def mark_indexed(self, last: int, buried: Sequence[int]) -> int:
        """Note what Chroma now holds; the new generation."""
        with self.database.writing() as db:
            db.executemany(
                "DELETE FROM graves WHERE space = ? AND vector = ?", ((self.id, number) for number in buried)
            )
            db.execute("UPDATE spaces SET indexed = ?, generation = generation + 1 WHERE id = ?", (last, self.id))
            return int(db.execute("SELECT generation FROM spaces WHERE id = ?", (self.id,)).fetchone()[0])


def forget_indexes(database: Database) -> None:
    """Note that Chroma holds nothing of any space; all vectors are given to it again."""
    with database.writing() as db:
        db.execute("UPDATE spaces SET indexed = 0, generation = generation + 1")
        db.execute("DELETE FROM graves")


def _stack(blobs: list[bytes]) -> Vectors:
    if not blobs:
        return np.empty((0, 0), dtype=np.float32)
    return np.stack([np.frombuffer(blob, dtype=np.float32) for blob in blobs])
