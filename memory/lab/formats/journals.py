"""Our own journals: each run's messages as they were recorded."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from ...journal import Journal, JournalError
from ..transcripts import TranscriptError
from .common import Draft, as_object

MAGIC = b"SQLite format 3\0"


def drafts(path: Path) -> Iterator[Draft]:
    """The runs of a journal, the oldest first.

    Raises:
        TranscriptError: the file is an SQLite database, but not a journal, or can't be read.
    """
    _check(path)
    try:
        with Journal(path) as journal:
            runs = journal.runs()
            if not runs:
                raise TranscriptError(f"{path}: the journal holds no run")
            for run in runs:
                entries = journal.entries(run.run, "message")
                yield Draft([as_object(entry.body.get("message")) for entry in entries], "journal", run.run)
    except JournalError as error:
        raise TranscriptError(str(error)) from error


def _check(path: Path) -> None:
    """Opening a foreign database as a journal would write to it, so it is looked at first, read-only."""
    try:
        database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
        try:
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        finally:
            database.close()
    except sqlite3.Error as error:
        raise TranscriptError(f"{path}: an SQLite file that can't be read: {error}") from error
    if "entries" not in tables:
        raise TranscriptError(f"{path}: an SQLite file, but not a journal (it has no table of entries)")
