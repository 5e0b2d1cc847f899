"""The records: every outcome with its terms and its vectors, in one SQLite file.

A record is acknowledged when its transaction is committed. Vector indexes are built from here and can be
rebuilt from here. Nothing is cached between calls, so what one process wrote is seen by the next call of another.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..messages import clean
from . import lexical
from .database import Database, select_in
from .embedders import Vectors
from .lexical import QueryTerm
from .terms import terms


@dataclass(frozen=True, slots=True)
class Draft:
    """A record to be stored: its body (JSON), what it is found by, and what it can be filtered by.

    `version` is new for every writing; `goal_key` and `text_key` are equal for records that say the same.
    """

    id: str
    version: str
    body: str
    search_text: str
    goal_key: str
    text_key: str
    finished_at: float
    succeeded: bool
    attributes: tuple[tuple[str, str, object], ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """What ranking needs of a record; `row` never names another version of it."""

    row: int
    id: str
    terms: int
    goal_key: str
    text_key: str
    finished_at: float
    succeeded: bool
    helped: int


@dataclass(frozen=True, slots=True)
class Words:
    """What the lexical index says about a query: its terms, and for candidates how often each holds each."""

    query: list[QueryTerm]
    candidates: list[int]
    mean_length: float


class RecordStore:
    """The records of one namespace; another namespace's are out of reach of every method."""

    def __init__(self, database: Database, namespace: str) -> None:
        self.database = database
        self.namespace = named_row(
            database,
            "SELECT id FROM namespaces WHERE name = ?",
            "INSERT INTO namespaces (name) VALUES (?)",
            (clean(namespace),),
        )

    def put(
        self, drafts: Sequence[Draft], space: int = 0, vectors: Sequence[Vectors] = (), position: int = 0
    ) -> list[str]:
        """Store records, each in place of an earlier one of the same id, with their vectors (shape (n, dimension)
        each) if there are any; one transaction. Gives the versions that were replaced."""
        last = {draft.id: at for at, draft in enumerate(drafts)}
        with self.database.writing() as db:
            replaced = self._delete(db, last)
            counted: dict[int, Counter[str]] = {}
            for at in last.values():
                draft = drafts[at]
                counts = Counter(terms(clean(draft.search_text)))
                _, helped = replaced.get(draft.id, ("", 0))
                cursor = db.execute(
                    "INSERT INTO records (namespace, id, version, body, search_text, terms, goal_key, text_key, "
                    "finished_at, succeeded, helped, position) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        self.namespace,
                        draft.id,
                        draft.version,
                        draft.body,
                        clean(draft.search_text),
                        counts.total(),
                        clean(draft.goal_key),
                        clean(draft.text_key),
                        draft.finished_at,
                        draft.succeeded,
                        helped,
                        position,
                    ),
                )
                row = int(cursor.lastrowid or 0)
                counted[row] = counts
                db.executemany(
                    "INSERT OR IGNORE INTO attributes (namespace, key, kind, value, row) VALUES (?, ?, ?, ?, ?)",
                    ((self.namespace, key, kind, value, row) for key, kind, value in draft.attributes),
                )
                if vectors:
                    db.executemany(
                        "INSERT INTO vectors (space, row, vector) VALUES (?, ?, ?)",
                        ((space, row, vector.tobytes()) for vector in vectors[at]),
                    )
            lexical.add_terms(db, self.namespace, counted)
            self._count(db, len(counted), sum(counts.total() for counts in counted.values()))
        return [version for version, _ in replaced.values()]

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Take records out; the versions of those that were there."""
        with self.database.writing() as db:
            return [version for version, _ in self._delete(db, ids).values()]

    def clear(self) -> None:
        """Take every record of the namespace out."""
        with self.database.writing() as db:
            ids = db.execute("SELECT id FROM records WHERE namespace = ?", (self.namespace,)).fetchall()
            self._delete(db, [identifier for (identifier,) in ids])

    def _delete(self, db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, tuple[str, int]]:
        """id -> (version, helped) of what was deleted."""
        gone: dict[str, tuple[str, int]] = {}
        for identifier in ids:
            found = db.execute(
                "SELECT row, version, search_text, terms, helped FROM records WHERE namespace = ? AND id = ?",
                (self.namespace, clean(identifier)),
            ).fetchone()
            if found is None:
                continue
            row, version, text, length, helped = found
            gone[identifier] = (version, helped)
            lexical.remove_terms(db, self.namespace, row, set(terms(text)))
            db.execute("INSERT INTO graves SELECT space, id FROM vectors WHERE row = ?", (row,))
            for table in ("vectors", "attributes", "records"):
                db.execute(f"DELETE FROM {table} WHERE row = ?", (row,))
            self._count(db, -1, -length)
        return gone

    def _count(self, db: sqlite3.Connection, records: int, length: int) -> None:
        db.execute(
            "UPDATE namespaces SET records = records + ?, terms = terms + ? WHERE id = ?",
            (records, length, self.namespace),
        )

    def add_helped(self, identifier: str) -> bool:
        """Count one more time that an outcome helped; False if it is not stored."""
        with self.database.writing() as db:
            cursor = db.execute(
                "UPDATE records SET helped = helped + 1 WHERE namespace = ? AND id = ?",
                (self.namespace, clean(identifier)),
            )
            return cursor.rowcount > 0

    # ------------------------------------------------------------------ reading

    def __len__(self) -> int:
        return self._totals()[0]

    def _totals(self) -> tuple[int, int]:
        with self.database.reading() as db:
            found = db.execute("SELECT records, terms FROM namespaces WHERE id = ?", (self.namespace,)).fetchone()
        return int(found[0]), int(found[1])

    def body(self, identifier: str) -> str | None:
        with self.database.reading() as db:
            found = db.execute(
                "SELECT body FROM records WHERE namespace = ? AND id = ?", (self.namespace, clean(identifier))
            ).fetchone()
        return None if found is None else str(found[0])

    def bodies(self, *, newest_first: bool = False) -> Iterator[tuple[int, str]]:
        """(row, body) of every record by time, read in pages so that writers are not held up."""
        sign, order = ("<", "DESC") if newest_first else (">", "ASC")
        after: tuple[float, int] = (math.inf if newest_first else -math.inf, 0)
        while True:
            with self.database.reading() as db:
                page = db.execute(
                    "SELECT finished_at, row, body FROM records WHERE namespace = ? "
                    f"AND (finished_at, row) {sign} (?, ?) ORDER BY finished_at {order}, row {order} LIMIT 500",
                    (self.namespace, *after),
                ).fetchall()
            if not page:
                return
            yield from ((row, str(body)) for _, row, body in page)
            after = (page[-1][0], page[-1][1])

    def stored(self, rows: Iterable[int]) -> list[Stored]:
        with self.database.reading() as db:
            return [
                Stored(*found)
                for found in select_in(
                    db,
                    "SELECT row, id, terms, goal_key, text_key, finished_at, succeeded, helped FROM records "
                    "WHERE row IN (*)",
                    rows,
                )
            ]

    def bodies_of(self, rows: Iterable[int]) -> dict[int, str]:
        """row -> body; a row that was deleted meanwhile is left out."""
        with self.database.reading() as db:
            return dict(select_in(db, "SELECT row, body FROM records WHERE row IN (*)", rows))

    def same(self, column: str, key: str) -> list[str]:
        """Ids of the records with this `goal_key` or `text_key`, the newest first."""
        with self.database.reading() as db:
            return [
                identifier
                for (identifier,) in db.execute(
                    f"SELECT id FROM records WHERE namespace = ? AND {column} = ? AND {column} <> '' "
                    # The signs keep SQLite from walking through all times, instead of looking up the key.
                    "ORDER BY +finished_at DESC, +row DESC",
                    (self.namespace, key),
                )
            ]

    def versions(self, rows: Iterable[int]) -> dict[int, str]:
        with self.database.reading() as db:
            return dict(select_in(db, "SELECT row, version FROM records WHERE row IN (*)", rows))

    def rows_of_versions(self, versions: Iterable[str]) -> dict[str, int]:
        with self.database.reading() as db:
            return dict(
                select_in(
                    db,
                    "SELECT version, row FROM records WHERE namespace = ? AND version IN (*)",
                    versions,
                    self.namespace,
                )
            )

    def rows(self) -> list[int]:
        with self.database.reading() as db:
            return [
                row
                for (row,) in db.execute("SELECT row FROM records WHERE namespace = ? ORDER BY row", (self.namespace,))
            ]

    def words(self, query: str, count: int) -> Words:
        """The query's terms, and the `count` rows that hold most of their weight."""
        total, length = self._totals()
        with self.database.reading() as db:
            weighed = lexical.weigh(db, self.namespace, total, terms(query))
            return Words(weighed, lexical.candidates(db, weighed, count), length / total if total else 0.0)

    def term_counts(self, words: Words, rows: Sequence[int]) -> Mapping[int, Mapping[str, int]]:
        with self.database.reading() as db:
            return lexical.term_counts(db, words.query, rows)


def named_row(database: Database, select: str, insert: str, key: tuple[object, ...]) -> int:
    """The id of the row of this key, made if need be (0 if it is missing in a file that cannot be written)."""
    with database.reading() as db:
        found = db.execute(select, key).fetchone()
    if found is None:
        if database.read_only:
            return 0
        with database.writing() as db:
            found = db.execute(select, key).fetchone()
            if found is None:
                db.execute(insert, key)
                found = db.execute(select, key).fetchone()
    return int(found[0])
