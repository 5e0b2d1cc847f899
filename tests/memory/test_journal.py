"""The journal: append-only, exact, safe between processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from carryforward.memory import Journal, JournalError
from hypothesis import given
from hypothesis import strategies as st

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=8))
def test_entries_come_back_in_order_as_they_were(bodies: list[dict[str, object]]) -> None:
    with Journal() as journal:
        assert [journal.append("r", "note", body) for body in bodies] == list(range(1, len(bodies) + 1))
        assert [entry.body for entry in journal.entries("r")] == bodies


def test_runs_and_kinds_are_kept_apart() -> None:
    journal = Journal()
    journal.append("a", "message", {"n": 1})
    journal.append("b", "message", {"n": 2})
    journal.append("a", "outcome", {"n": 3})
    assert [e.body["n"] for e in journal.entries("a")] == [1, 3]
    assert [e.body["n"] for e in journal.entries("a", "outcome")] == [3]
    assert [(r.run, r.entries) for r in journal.runs()] == [("a", 2), ("b", 1)]


def test_known_secrets_are_never_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.redact("sk-test-000")
    journal.append("r", "note", {"key sk-test-000": ["it is sk-test-000", {"deep": "Bearer sk-test-000"}]})
    journal.close()
    assert b"sk-test-000" not in (tmp_path / "j.db").read_bytes()
    assert "[secret]" in str(Journal(tmp_path / "j.db").entries("r")[0].body)


def test_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(JournalError, match="move the file aside"):
        Journal(path)
    assert path.read_bytes() == b"not a database at all" * 100


def test_journal_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(JournalError, match=r"newer version.*upgrade"):
        Journal(path)


def test_missing_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="folder exists"):
        Journal(tmp_path / "no" / "j.db")


@pytest.mark.parametrize("damage", ["\0" * 300, b"\xff\xfe\x00", "5", "null", '{"text"'])
def test_damaged_entry_is_left_out_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str | bytes
) -> None:
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        for text in ("go", "lost", "QX-77"):
            journal.append("r", "message", {"text": text})
    db = sqlite3.connect(path)
    db.execute("UPDATE entries SET body = CAST(? AS TEXT) WHERE seq = 2", (damage,))
    db.commit()
    db.close()
    assert [e.body["text"] for e in Journal(path).entries("r")] == ["go", "QX-77"]
    assert "entry 2 of run r" in caplog.text


PAGE = 4096


def journal_with_a_hole(path: Path, page: int) -> bytes:
    """A journal of 100 entries with 300 NUL bytes at the start of a page (from 0); returns the bytes of the file."""
    with Journal(path) as journal:
        for number in range(100):
            journal.append("r", "message", {"number": number, "text": "x" * 400})
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    content = bytearray(path.read_bytes())
    content[page * PAGE : page * PAGE + 300] = bytes(300)
    path.write_bytes(content)
    return bytes(content)


def test_a_hole_in_the_file_costs_only_the_entries_in_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "j.db"
    damaged = journal_with_a_hole(path, 6)
    journal = Journal(path)
    seqs = [e.seq for e in journal.entries("r")]
    lost = sorted(set(range(1, 101)) - set(seqs))
    assert seqs == sorted(seqs) and 0 < len(lost) < 20 and lost == list(range(lost[0], lost[-1] + 1))
    assert f"the entries after {lost[0] - 1} and before {lost[-1] + 1} are left out" in caplog.text
    assert path.read_bytes() == damaged
    assert journal.append("r", "message", {"number": 100}) == 101
    assert journal.entries("r")[-1].body == {"number": 100}
    assert [e.seq for e in journal.entries("r", "message")] == [*seqs, 101]


def test_a_file_of_which_nothing_can_be_read_is_a_clear_error(tmp_path: Path) -> None:
    journal_with_a_hole(tmp_path / "j.db", 1)
    journal = Journal(tmp_path / "j.db")
    with pytest.raises(JournalError, match=r"run r can't be read.*the file is kept"):
        journal.entries("r")
    with pytest.raises(JournalError, match="the runs can't be listed"):
        journal.runs()


def test_a_run_can_be_claimed_once(tmp_path: Path) -> None:
    first, second = Journal(tmp_path / "j.db"), Journal(tmp_path / "j.db")
    first.claim("r")
    with pytest.raises(JournalError, match="being worked on by another"):
        second.claim("r")
    first.release("r")
    second.claim("r")
    second.close()


@pytest.mark.parametrize(("one", "other"), [("run/1", "run:1"), ("x" * 100 + "1", "x" * 100 + "2")])
def test_runs_of_nearly_the_same_name_are_claimed_apart(tmp_path: Path, one: str, other: str) -> None:
    first, second = Journal(tmp_path / "j.db"), Journal(tmp_path / "j.db")
    first.claim(one)
    second.claim(other)
    first.close()
    second.close()


def test_two_journals_on_one_run_number_their_entries_after_each_other(tmp_path: Path) -> None:
    first, second = Journal(tmp_path / "j.db"), Journal(tmp_path / "j.db")
    writers = [first, second, second, first, first, second]
    assert [journal.append("r", "note", {"n": n}) for n, journal in enumerate(writers)] == [1, 2, 3, 4, 5, 6]
    assert [e.body["n"] for e in first.entries("r")] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("path", [":memory:", "j.db"])
def test_run_that_no_file_can_name_is_refused_and_leaves_the_journal_usable(tmp_path: Path, path: str) -> None:
    journal = Journal(path if path == ":memory:" else tmp_path / path)
    with pytest.raises(JournalError, match="not written"):
        journal.append("\ud83d", "note", {})
    journal.append("r", "note", {"n": 1})
    assert [e.body for e in journal.entries("r")] == [{"n": 1}]


@pytest.mark.parametrize("path", [":memory:", "j.db"])
def test_closed_journal_says_that_it_can_not_be_read_or_written(tmp_path: Path, path: str) -> None:
    journal = Journal(path if path == ":memory:" else tmp_path / path)
    journal.append("r", "note", {})
    journal.close()
    with pytest.raises(JournalError, match="not written"):
        journal.append("r", "note", {})
    with pytest.raises(JournalError, match="closed"):
        journal.entries("r")


WRITE_FOREVER = """
import sys
from carryforward.memory import Journal
journal = Journal(sys.argv[1])
for n in range(1_000_000):
    journal.append("r", "note", {"n": n})
    print(n, flush=True)
"""


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    path = str(tmp_path / "j.db")
    process = subprocess.Popen([sys.executable, "-c", WRITE_FOREVER, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    seen = [int(next(process.stdout)) for _ in range(200)]
    os.kill(process.pid, signal.SIGKILL)
    seen += [int(line) for line in process.stdout if line.endswith("\n")]
    process.stdout.close()
    process.wait()
    assert [e.body["n"] for e in Journal(path).entries("r")][: len(seen)] == seen


APPEND_MANY = """
import sys
from carryforward.memory import Journal
journal = Journal(sys.argv[1])
for n in range(100):
    journal.append("r", "note", {"who": int(sys.argv[2]), "n": n})
"""


def test_two_processes_lose_no_write(tmp_path: Path) -> None:
    path = str(tmp_path / "j.db")
    writers = [subprocess.Popen([sys.executable, "-c", APPEND_MANY, path, str(who)]) for who in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    entries = Journal(path).entries("r")
    assert [e.seq for e in entries] == list(range(1, 201))
    for who in range(2):
        assert [e.body["n"] for e in entries if e.body["who"] == who] == list(range(100))
