"""The SQLite file of one long-term memory: its tables, its transactions, and what happens when it is broken."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

from ..wal import write_ahead
from .errors import StoreError

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE namespaces (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    records INTEGER NOT NULL DEFAULT 0, terms INTEGER NOT NULL DEFAULT 0,
    log TEXT NOT NULL DEFAULT '', position INTEGER NOT NULL DEFAULT 0);
CREATE TABLE records (row INTEGER PRIMARY KEY AUTOINCREMENT, namespace INTEGER NOT NULL, id TEXT NOT NULL,
    version TEXT NOT NULL UNIQUE, body TEXT NOT NULL, search_text TEXT NOT NULL, terms INTEGER NOT NULL,
    goal_key TEXT NOT NULL, text_key TEXT NOT NULL, finished_at REAL NOT NULL, succeeded INTEGER NOT NULL,
    helped INTEGER NOT NULL DEFAULT 0, position INTEGER NOT NULL DEFAULT 0, UNIQUE (namespace, id));
CREATE INDEX records_by_time ON records (namespace, finished_at, row);
CREATE INDEX records_by_goal ON records (namespace, goal_key) WHERE goal_key <> '';
CREATE INDEX records_by_text ON records (namespace, text_key);
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
CREATE TABLE graves (space INTEGER NOT NULL, vector INTEGER NOT NULL, PRIMARY KEY (space, vector)) WITHOUT ROWID
"""
_MAGIC = b"SQLite format 3\0"
# SQLite takes up to 32,766 values in one statement.
_VALUES = 30_000
_TIMEOUT = 60.0  # seconds to wait for another process that writes
log = logging.getLogger(__name__)


class Database:
    """One connection, shared by the threads of a process; write-ahead mode, so that processes can share the file.

    A file that is no SQLite database is kept aside under another name, with a warning, and a new one is made. A
    file that cannot be written is opened for reading.

    Raises:
        StoreError: from every method, when the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.read_only = False
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if is_broken(path):
                set_aside(path)
            self._db = self._open()
        except (sqlite3.OperationalError, OSError) as error:
            if not os.access(path, os.R_OK):
                raise StoreError(f"cannot create {path}: {error}; choose a folder that can be written") from error
            # Without a write-ahead file nobody writes, and SQLite need not make one, which it could not.
            still = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{still}", uri=True, check_same_thread=False)
            self.read_only = True
        except sqlite3.DatabaseError as error:
            log.warning("%s: %s", path, error)
            set_aside(path)
            self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=_TIMEOUT, check_same_thread=False, isolation_level=None)
        try:
            write_ahead(db, _TIMEOUT)
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            db.execute("COMMIT")
        except sqlite3.Error:
            db.close()
            raise
        if version > SCHEMA_VERSION:
            db.close()
            raise StoreError(f"{self.path} was written by a newer version of carryforward; update to open it")
        return db

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        with self._lock, self._errors():
            yield self._db

    @contextlib.contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """One transaction: committed when the block ends, undone when it raises. Inside another, a part of it."""
        if self.read_only:
            raise StoreError(f"{self.path} is read-only: outcomes can be recalled, but not stored")
        with self._lock, self._errors():
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            advice = "free some space" if "full" in str(error) else "check that it is whole and can be written"
            raise StoreError(f"{self.path}: {error}; {advice}. What was acknowledged before is kept") from error


def select_in(
    db: sqlite3.Connection, statement: str, values: Iterable[object], *before: object
) -> list[tuple[Any, ...]]:
    """Rows of a statement with `IN (*)`, whatever the number of values; `before` fills the marks before it."""
    wanted = list(values)
    found: list[tuple[Any, ...]] = []
    for at in range(0, len(wanted), _VALUES):
        chunk = wanted[at : at + _VALUES]
        marks = ",".join("?" * len(chunk))
        found += db.execute(statement.replace("IN (*)", f"IN ({marks})"), (*before, *chunk)).fetchall()
    return found


def is_broken(path: Path) -> bool:
    """True for a file that is there but is no SQLite database."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) != _MAGIC


def set_aside(path: Path) -> None:
    """Rename a broken database so that a new one can take its place; nothing is deleted."""
    stamp = time.time_ns()
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        if file.exists():
            file.rename(file.with_name(f"{file.name}.broken-{stamp}"))
    log.warning("%s is damaged; it is kept aside as %s.broken-%d", path, path.name, stamp)
