"""SQLite's write-ahead mode (https://www.sqlite.org/wal.html): readers in other processes never wait for a writer."""

from __future__ import annotations

import sqlite3
import time

_PAUSE = 0.005  # seconds


def write_ahead(db: sqlite3.Connection, timeout: float) -> None:
    """Put the database in write-ahead mode, waiting up to `timeout` seconds for others that use the file.

    SQLite's own time-out does not hold here: of two processes that change the mode of a new file at once, one is
    refused at once (https://www.sqlite.org/c3ref/busy_handler.html: the handler is not called where it could deadlock).

    Raises:
        sqlite3.OperationalError: the file can't be written, or is still locked after that time.
    """
    until = time.monotonic() + timeout
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return
