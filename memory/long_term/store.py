"""The records on disk: one SQLite file that holds every outcome, its terms and its vectors.

A record is acknowledged when its transaction is committed. Vector indexes are built from here and can be
rebuilt from here. Several processes may use one file (WAL mode); nothing is cached between calls, so what one
process wrote is seen by the next call of another.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..messages import clean
from . import lexical
from .errors import StoreError
from .terms import terms

Vectors = NDArray[np.float32]

log = logging.getLogger(__name__)
SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE namespaces (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    records INTEGER NOT NULL DEFAULT 0, terms INTEGER NOT NULL DEFAULT 0);
CREATE TABLE records (row INTEGER PRIMARY KEY AUTOINCREMENT, namespace INTEGER NOT NULL, id TEXT NOT NULL,
    body TEXT NOT NULL, search_text TEXT NOT NULL, terms INTEGER NOT NULL, finished_at REAL NOT NULL,
    helped INTEGER NOT NULL DEFAULT 0, UNIQUE (namespace, id));
CREATE INDEX records_by_time ON records (namespace, finished_at);
CREATE TABLE attributes (namespace INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, value NOT NULL,
    row INTEGER NOT NULL, PRIMARY KEY (namespace, key, kind, value, row)) WITHOUT ROWID;
CREATE INDEX attributes_by_row ON attributes (row);
CREATE TABLE terms (id INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, term TEXT NOT NULL,
    records INTEGER NOT NULL, UNIQUE (namespace, term));
CREATE TABLE postings (term INTEGER NOT NULL, row INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (term, row)) WITHOUT ROWID;
CREATE TABLE spaces (id INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, model TEXT NOT NULL,
    revision TEXT NOT NULL, dimension INTEGER NOT NULL, indexed INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0, UNIQUE (namespace, model, revision, dimension));
CREATE TABLE vectors (id INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, row INTEGER NOT NULL,
    vector BLOB NOT NULL);
CREATE INDEX vectors_by_row ON vectors (row, space);
CREATE INDEX vectors_by_space ON vectors (space, id);
CREATE TABLE graves (space INTEGER NOT NULL, vector INTEGER NOT NULL, PRIMARY KEY (space, vector)) WITHOUT ROWID;
"""

_MAGIC = b"SQLite format 3\0"
# Python integers and SQLite's differ above 64 bits; larger ones are compared as floats.
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Space:
    """Where the vectors of one namespace and one embedding model live."""

    id: int
    namespace: str
    model: str
    revision: str
    dimension: int

    @property
    def collection(self) -> str:
        """A collection name that Chroma accepts, whatever the namespace and the model are called."""
        identity = "\n".join([self.namespace, self.model, self.revision, str(self.dimension)])
        return f"carryforward-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"

    @property
    def description(self) -> dict[str, str | int]:
        return {
            "namespace": self.namespace,
            "model": self.model,
            "revision": self.revision,
            "dimension": self.dimension,
        }


@dataclass(frozen=True, slots=True)
class Draft:
    """A record to be stored: its body (JSON), the text it is found by, and what it can be filtered by."""

    id: str
    body: str
    search_text: str
    finished_at: float
    attributes: tuple[tuple[str, str, object], ...]
    vectors: Vectors
    """Shape (number of embedded texts, dimension)."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as read back; `row` never names another version of it."""

    row: int
    body: str
    finished_at: float
    terms: int
    helped: int


def typed(value: object) -> tuple[str, object] | None:
    """(kind, comparable value) of a filterable value: booleans, numbers and texts never equal each other."""
    match value:
        case bool():
            return "bool", int(value)
        case int() | float():
            if isinstance(value, float) and math.isnan(value):
                return None
            return "number", value if -_INT64 <= value < _INT64 else float(value)
        case str():
            return "text", clean(value)
        case _:
            return None


class RecordStore:
    """The SQLite file of one long-term memory.

    Raises:
        StoreError: from every method, when the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self.read_only = False
        if is_broken(path):
            set_aside(path)
        with self._errors():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._db = self._connect(path)
            except (sqlite3.OperationalError, OSError) as error:
                if not path.is_file():
                    raise StoreError(f"cannot create {path}: {error}; choose a folder that can be written") from error
                self._db = sqlite3.connect(
                    f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
                )
                self.read_only = True

    @staticmethod
    def _connect(path: Path) -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
        if version > SCHEMA_VERSION:
            raise StoreError(f"{path} was written by a newer version of carryforward; update to open it")
        return db

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            advice = "the disk is full" if "full" in str(error) else "check that the file is whole and writable"
            raise StoreError(f"{self.path}: {error}; {advice}. What was acknowledged is kept") from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._errors():
            yield self._db

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed when the block ends, undone when it raises."""
        if self.read_only:
            raise StoreError(f"{self.path} is read-only; outcomes can be recalled but not stored")
        with self._lock, self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    # ------------------------------------------------------------------ namespaces and vector spaces

    def namespace(self, name: str) -> int:
        return self._named(
            "SELECT id FROM namespaces WHERE name = ?", "INSERT INTO namespaces (name) VALUES (?)", (name,)
        )

    def space(self, namespace: int, model: str, revision: str, dimension: int) -> int:
        return self._named(
            "SELECT id FROM spaces WHERE namespace = ? AND model = ? AND revision = ? AND dimension = ?",
            "INSERT INTO spaces (namespace, model, revision, dimension) VALUES (?, ?, ?, ?)",
            (namespace, model, revision, dimension),
        )

    def _named(self, select: str, insert: str, key: tuple[object, ...]) -> int:
        with self.reading() as db:
            found = db.execute(select, key).fetchone()
        if found is None:
            with self.writing() as db:
                found = db.execute(select, key).fetchone()
                if found is None:
                    db.execute(insert, key)
                    found = db.execute(select, key).fetchone()
        return int(found[0])

    # ------------------------------------------------------------------ writing

    def put(self, namespace: int, space: int, drafts: Sequence[Draft]) -> None:
        """Store records, each in place of an earlier one of the same id; one transaction."""
        last = {draft.id: draft for draft in drafts}
        with self.writing() as db:
            helped = self._delete(db, namespace, last)
            counted: dict[int, Counter[str]] = {}
            for draft in last.values():
                counts = Counter(terms(draft.search_text))
                cursor = db.execute(
                    "INSERT INTO records (namespace, id, body, search_text, terms, finished_at, helped) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        namespace,
                        draft.id,
                        draft.body,
                        clean(draft.search_text),
                        counts.total(),
                        draft.finished_at,
                        helped.get(draft.id, 0),
                    ),
                )
                row = int(cursor.lastrowid or 0)
                counted[row] = counts
                db.executemany(
                    "INSERT OR IGNORE INTO attributes (namespace, key, kind, value, row) VALUES (?, ?, ?, ?, ?)",
                    ((namespace, key, kind, value, row) for key, kind, value in draft.attributes),
                )
                db.executemany(
                    "INSERT INTO vectors (space, row, vector) VALUES (?, ?, ?)",
                    ((space, row, vector.tobytes()) for vector in draft.vectors),
                )
            lexical.add_terms(db, namespace, counted)
            db.execute(
                "UPDATE namespaces SET records = records + ?, terms = terms + ? WHERE id = ?",
                (len(counted), sum(counts.total() for counts in counted.values()), namespace),
            )

    def delete(self, namespace: int, ids: Iterable[str]) -> int:
        """How many of `ids` were stored, and are no longer."""
        with self.writing() as db:
            return len(self._delete(db, namespace, ids))

    @staticmethod
    def _delete(db: sqlite3.Connection, namespace: int, ids: Iterable[str]) -> dict[str, int]:
        gone: dict[str, int] = {}
        for identifier in ids:
            found = db.execute(
                "SELECT row, search_text, terms, helped FROM records WHERE namespace = ? AND id = ?",
                (namespace, identifier),
            ).fetchone()
            if found is None:
                continue
            row, text, length, helped = found
            gone[identifier] = helped
            lexical.remove_terms(db, namespace, row, set(terms(text)))
            db.execute("INSERT INTO graves SELECT space, id FROM vectors WHERE row = ?", (row,))
            for table in ("vectors", "attributes", "records"):
                db.execute(f"DELETE FROM {table} WHERE row = ?", (row,))
            db.execute(
                "UPDATE namespaces SET records = records - 1, terms = terms - ? WHERE id = ?", (length, namespace)
            )
        return gone

    # ------------------------------------------------------------------ reading

    def count(self, namespace: int) -> tuple[int, int]:
        """(records, terms) of the namespace."""
        with self.reading() as db:
            found = db.execute("SELECT records, terms FROM namespaces WHERE id = ?", (namespace,)).fetchone()
        return (0, 0) if found is None else (int(found[0]), int(found[1]))

    def body(self, namespace: int, identifier: str) -> str | None:
        with self.reading() as db:
            found = db.execute(
                "SELECT body FROM records WHERE namespace = ? AND id = ?", (namespace, clean(identifier))
            ).fetchone()
        return None if found is None else str(found[0])

    def bodies(self, namespace: int) -> Iterator[str]:
        """Every record's body, the oldest first, read in pages so that writers are not held up."""
        after: tuple[float, int] = (-math.inf, 0)
        while True:
            with self.reading() as db:
                page = db.execute(
                    "SELECT finished_at, row, body FROM records WHERE namespace = ? AND (finished_at, row) > (?, ?) "
                    "ORDER BY finished_at, row LIMIT 500",
                    (namespace, *after),
                ).fetchall()
            if not page:
                return
            yield from (str(body) for _, _, body in page)
            after = page[-1][:2]

    def stored(self, rows: Sequence[int]) -> dict[int, Stored]:
        with self.reading() as db:
            return {
                row: Stored(row, body, finished_at, length, helped)
                for row, body, finished_at, length, helped in db.execute(
                    "SELECT row, body, finished_at, terms, helped FROM records "
                    f"WHERE row IN ({','.join('?' * len(rows))})",
                    list(rows),
                )
            }

    # ------------------------------------------------------------------ vectors

    def vectors_after(self, space: int, last: int, limit: int = -1) -> tuple[list[int], Vectors]:
        """Ids and vectors, shape (n, dimension), that were added after the vector `last`, in order."""
        with self.reading() as db:
            found = db.execute(
                "SELECT id, vector FROM vectors WHERE space = ? AND id > ? ORDER BY id LIMIT ?", (space, last, limit)
            ).fetchall()
        if not found:
            return [], np.empty((0, 0), dtype=np.float32)
        return [number for number, _ in found], np.stack([np.frombuffer(blob, np.float32) for _, blob in found])

    def rows_of(self, vectors: Sequence[int]) -> dict[int, int]:
        """vector id -> row of its record; deleted ones are left out."""
        with self.reading() as db:
            marks = ",".join("?" * len(vectors))
            return dict(db.execute(f"SELECT id, row FROM vectors WHERE id IN ({marks})", list(vectors)).fetchall())

    def vectors_of(self, space: int, rows: Sequence[int]) -> tuple[list[int], Vectors]:
        """Rows (repeated for each of their vectors) and the vectors, shape (n, dimension)."""
        marks = ",".join("?" * len(rows))
        with self.reading() as db:
            found = db.execute(
                f"SELECT row, vector FROM vectors WHERE row IN ({marks}) AND space = ?", (*rows, space)
            ).fetchall()
        if not found:
            return [], np.empty((0, 0), dtype=np.float32)
        return [row for row, _ in found], np.stack([np.frombuffer(blob, np.float32) for _, blob in found])

    def index_state(self, space: int) -> tuple[int, int]:
        """(last vector id that Chroma holds, how often Chroma was changed)."""
        with self.reading() as db:
            indexed, generation = db.execute("SELECT indexed, generation FROM spaces WHERE id = ?", (space,)).fetchone()
        return int(indexed), int(generation)

    def waiting(self, space: int) -> int:
        """Changes that Chroma has not got yet: vectors to add and to take out."""
        with self.reading() as db:
            return int(
                db.execute(
                    "SELECT (SELECT COUNT(*) FROM vectors WHERE space = s.id AND id > s.indexed) "
                    "+ (SELECT COUNT(*) FROM graves WHERE space = s.id) FROM spaces s WHERE id = ?",
                    (space,),
                ).fetchone()[0]
            )

    def graves(self, space: int, limit: int) -> list[int]:
        with self.reading() as db:
            return [
                number for (number,) in db.execute("SELECT vector FROM graves WHERE space = ? LIMIT ?", (space, limit))
            ]

    def mark_indexed(self, space: int, last: int, buried: Sequence[int]) -> int:
        """Note what Chroma now holds; the new generation."""
        with self.writing() as db:
            db.executemany("DELETE FROM graves WHERE space = ? AND vector = ?", ((space, number) for number in buried))
            db.execute("UPDATE spaces SET indexed = ?, generation = generation + 1 WHERE id = ?", (last, space))
            return int(db.execute("SELECT generation FROM spaces WHERE id = ?", (space,)).fetchone()[0])

    def forget_indexes(self) -> None:
        """Note that Chroma holds nothing; all vectors are given to it again."""
        with self.writing() as db:
            db.execute("UPDATE spaces SET indexed = 0, generation = generation + 1")
            db.execute("DELETE FROM graves")


def is_broken(path: Path) -> bool:
    """True for a file that is there but is no SQLite database."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) != _MAGIC


def set_aside(path: Path) -> Path:
    """Rename a broken file or folder so that a new one can take its place; nothing is deleted."""
    kept = path.with_name(f"{path.name}.broken-{time.time_ns()}")
    path.rename(kept)
    log.warning("%s is damaged; it is kept aside as %s", path, kept.name)
    return kept
