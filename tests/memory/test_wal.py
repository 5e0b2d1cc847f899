"""Opening a new file while another process has begun to write to it: it waits, where SQLite alone would refuse."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from carryforward.memory import Journal
from carryforward.memory.long_term.database import Database
from carryforward.memory.wal import write_ahead


def a_journal(path: Path) -> None:
    journal = Journal(path)
    assert journal.append("r", "note", {}) == 1
    journal.close()


def a_store(path: Path) -> None:
    store = Database(path)
    assert not store.read_only
    store.close()


@pytest.mark.parametrize("opened", [a_journal, a_store])
def test_opening_waits_for_a_first_writer(opened: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    first = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    first.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.2, lambda: (first.execute("COMMIT"), first.close()))
    done.start()
    opened(path)
    done.join()


def test_waiting_has_an_end(tmp_path: Path) -> None:
    first, second = (sqlite3.connect(tmp_path / "new.db", isolation_level=None) for _ in range(2))
    first.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        write_ahead(second, timeout=0.05)
    first.close()
    second.close()


def test_what_is_no_lock_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    sqlite3.connect(path).executescript("CREATE TABLE t (x)").connection.close()
    reader = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        write_ahead(reader, timeout=3600.0)
    reader.close()
