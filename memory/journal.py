"""The append-only record of runs: the truth that contexts, traces, resume and look-ups are computed from.

One SQLite file in write-ahead mode: a killed process loses nothing that was acknowledged.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, cast

from filelock import FileLock, Timeout

from .messages import HIDDEN, clean, redacted_value
from .wal import write_ahead

log = logging.getLogger("carryforward.journal")

SCHEMA_VERSION = 1
_TIMEOUT = 30.0  # seconds to wait for another process that writes
_SHORTEST_SECRET = 4  # characters; hiding shorter ones would riddle every text with holes

_SCHEMA = """
CREATE TABLE entries (
    run TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) WITHOUT ROWID
"""


IN_MEMORY = ":memory:"
_INSERT = "INSERT INTO entries VALUES (?, ?, ?, ?, ?)"
_JSON = json.JSONEncoder(ensure_ascii=False)
_Row = tuple[int, str, str, bytes]  # seq, kind, time, body


class JournalError(RuntimeError):
    """The journal can't be opened, written, or claimed; the text says which file and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a run: `seq` counts from 1 without gaps, `at` is the time in UTC (ISO 8601)."""

    run: str
    seq: int
    kind: str
    at: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run in few words: its first and last time, and how many entries it has."""

    run: str
    started_at: str
    last_at: str
    entries: int


class Journal:
    """An append-only record of runs in one SQLite file, or in memory.

    Raises:
        JournalError: the file is no journal, was written by a newer version, or can't be opened.
    """

    def __init__(self, path: str | Path = IN_MEMORY) -> None:
        self.path = str(path)
        self._lock = threading.Lock()
        self._secrets: set[str] = set()  # in every form in which they may be written
        self._secret: re.Pattern[str] | None = None
        self._last: dict[str, int] = {}  # the last `seq` written here, by run
        self._may_wait = self.path == IN_MEMORY  # whether rows are written only when somebody reads
        self._waiting: list[tuple[str, int, str, str, str]] = []
        self._claims: dict[str, FileLock | None] = {}
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=_TIMEOUT)
        except sqlite3.Error as error:
            raise JournalError(f"journal {self.path}: {error}; check that its folder exists and is writable") from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._db.close()
            raise JournalError(f"journal {self.path}: {error}; give another path, or move the file aside") from error
        except JournalError:
            self._db.close()
            raise

    def _prepare(self) -> None:
        write_ahead(self._db, _TIMEOUT)
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("BEGIN IMMEDIATE")
        version = cast(int, self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            self._db.execute("ROLLBACK")
            raise JournalError(
                f"journal {self.path} was written by a newer version (schema {version}, this one reads "
                f"{SCHEMA_VERSION}); upgrade carryforward"
            )
        if version == 0:
            self._db.execute(_SCHEMA)
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._db.execute("COMMIT")

    def redact(self, secret: str) -> None:
        """From now on this secret is replaced by `[secret]` in all that is written, also where JSON or Python's `repr`
        escape characters of it."""
        if len(secret) >= _SHORTEST_SECRET:
            self._secrets |= _forms(secret)
            longest_first = sorted(self._secrets, key=len, reverse=True)  # one inside another must not break it up
            self._secret = re.compile("|".join(map(re.escape, longest_first)))

    @property
    def has_secrets(self) -> bool:
        """Whether any secret is known."""
        return self._secret is not None

    def redacted(self, text: str) -> str:
        """The text with every known secret replaced."""
        return text if self._secret is None else self._secret.sub(HIDDEN, text)

    def append(self, run: str, kind: str, body: Mapping[str, Any]) -> int:
        """Write one entry; it is in the file when this returns. Returns its `seq`.

        Raises:
            JournalError: the entry can't be written (disk full, read-only file); nothing was written then.
        """
        text = clean(_JSON.encode(redacted_value(body, self.redacted) if self._secret else body))
        at = datetime.now(UTC).isoformat()
        try:
            with self._lock:
                seq = self._last[run] = self._insert(run, kind, at, text)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise JournalError(f"journal {self.path}: entry {kind!r} of run {run} not written: {error}") from error
        return seq

    def _insert(self, run: str, kind: str, at: str, text: str) -> int:
        """Write a row after the last that was written here or, where somebody else wrote too, after the last of all."""
        seq = self._last.get(run, 0) + 1
        if self._may_wait:
            f"{run}{kind}".encode()  # what no database takes is refused now, not when the rows are written
            self._waiting.append((run, seq, kind, at, text))
            return seq
        if seq > 1:
            try:
                self._db.execute(_INSERT, (run, seq, kind, at, text))
            except sqlite3.IntegrityError:
                pass
            else:
                return seq
        row = self._db.execute(
            "INSERT INTO entries SELECT ?1, coalesce(max(seq), 0) + 1, ?2, ?3, ?4 FROM entries WHERE run = ?1"
            " RETURNING seq",
            (run, kind, at, text),
        ).fetchone()
        return cast(int, row[0])

    def entries(self, run: str, kind: str | None = None) -> list[Entry]:
        """The entries of a run in order, of one kind or all. What of the file is damaged is left out and logged.

        Raises:
            JournalError: the file can't be read, or it is damaged so that nothing of the run can be.
        """
        return list(self._read(run, kind))

    def _read(self, run: str, kind: str | None) -> Iterator[Entry]:
        for seq, found, at, text in self._rows(run, kind):
            try:
                body: Any = json.loads(text.decode("utf-8"))
                damage = "it is no object"
            except ValueError as error:  # damaged bytes: the row stays in the file, to be looked at
                body, damage = None, str(error)
            if isinstance(body, dict):
                yield Entry(run, seq, found, at, cast(dict[str, Any], body))
            else:
                log.warning("journal %s: entry %s of run %s is damaged and left out: %s", self.path, seq, run, damage)

    def _rows(self, run: str, kind: str | None) -> list[_Row]:
        """The rows of a run in order; where the file is damaged within, those before and those after it."""
        rows, damage = self._walk(run, kind, "ASC")
        if damage is None:
            return rows
        before = rows[-1][0] if rows else 0
        after = [row for row in self._walk(run, kind, "DESC")[0] if row[0] > before][::-1]
        if not rows and not after:
            raise JournalError(f"journal {self.path}: run {run} can't be read: {damage}; the file is kept") from damage
        log.warning(
            "journal %s is damaged (%s): of run %s, the entries after %s%s are left out; the file is kept as it is",
            self.path,
            damage,
            run,
            before,
            f" and before {after[0][0]}" if after else "",
        )
        return rows + after

    def _walk(
        self, run: str, kind: str | None, order: Literal["ASC", "DESC"]
    ) -> tuple[list[_Row], sqlite3.DatabaseError | None]:
        """The rows of a run up to the first damaged place of the file, and what is wrong there."""
        chosen = "run = ?1 AND kind = ?2" if kind else "run = ?1"
        query = f"SELECT seq, kind, at, CAST(body AS BLOB) FROM entries WHERE {chosen} ORDER BY seq {order}"
        rows: list[_Row] = []
        with self._lock:
            self._write_waiting()
            try:
                for row in self._db.execute(query, (run, kind) if kind else (run,)):
                    rows.append(row)  # noqa: PERF402 - what came before an error is kept
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_CORRUPT:
                    raise JournalError(f"journal {self.path}: run {run} can't be read: {error}") from error
                return rows, error
        return rows, None

    def runs(self) -> list[RunInfo]:
        """All runs, the newest last.

        Raises:
            JournalError: the file can't be read.
        """
        query = "SELECT run, min(at), max(at), count(*) FROM entries GROUP BY run ORDER BY min(at), run"
        try:
            with self._lock:
                self._write_waiting()
                rows = self._db.execute(query).fetchall()
        except sqlite3.DatabaseError as error:
            raise JournalError(f"journal {self.path}: the runs can't be listed: {error}") from error
        return [RunInfo(*row) for row in rows]

    def _write_waiting(self) -> None:
        if self._waiting:
            self._db.executemany(_INSERT, self._waiting)
            self._waiting.clear()

    def claim(self, run: str) -> None:
        """Reserve a run for this process, until `release`, `close` or the end of the process.

        Raises:
            JournalError: another live process (or another journal object) works on the run.
        """
        if run in self._claims:
            raise JournalError(f"run {run} is already being worked on here; wait until it ends")
        if self.path == IN_MEMORY:  # no other process can see it
            self._claims[run] = None
            return
        lock = FileLock(self._lock_path(run), timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            raise JournalError(f"run {run} is being worked on by another process; wait until it ends") from error
        self._claims[run] = lock

    def release(self, run: str) -> None:
        """Give a claimed run free."""
        lock = self._claims.pop(run, None)
        if lock is not None:
            lock.release()

    def _lock_path(self, run: str) -> str:
        folder = Path(self.path + ".locks")
        folder.mkdir(exist_ok=True)
        own = blake2b(
            run.encode("utf-8", "surrogatepass"), digest_size=8
        ).hexdigest()  # ids that read alike differ here
        return str(folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', run)[:100]}-{own}.lock")

    def close(self) -> None:
        """Close the file and give all claimed runs free."""
        for run in list(self._claims):
            self.release(run)
        self._may_wait = False
        self._waiting.clear()
        self._db.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _forms(secret: str) -> set[str]:
    """A secret as it is, as it stands in a JSON text or in one inside another, and as `repr` shows it."""
    in_json = {json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    twice = {json.dumps(form, ensure_ascii=False)[1:-1] for form in in_json}
    return {secret, clean(secret), repr(secret)[1:-1], *in_json, *twice}
