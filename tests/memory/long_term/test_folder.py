"""What only a folder has: other processes on it, kills, and damage."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from carryforward.memory.long_term import LongTermMemory, Outcome, StoreError

from .conftest import HashedWords

WRITER = """
import sys
from carryforward.memory.long_term import LongTermMemory, Outcome
from tests.memory.long_term.conftest import HashedWords

memory = LongTermMemory(sys.argv[1], embedder=HashedWords())
print("open", flush=True)
for number in range(int(sys.argv[3]), int(sys.argv[4])):
    identifier = memory.remember(Outcome(f"{sys.argv[2]} task number {number}", id=f"{sys.argv[2]}-{number}"))
    print(identifier, flush=True)
memory.close()
"""


def start_writer(folder: Path, name: str, first: int, last: int) -> subprocess.Popen[str]:
    root = Path(__file__).parents[3]
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(first), str(last)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


def open_folder(folder: Path) -> LongTermMemory:
    return LongTermMemory(folder, embedder=HashedWords())


def test_what_another_process_stores_is_recalled_at_once(tmp_path: Path) -> None:
    with open_folder(tmp_path) as memory:
        memory.remember(Outcome("from here", id="p1"))
        memory.recall("from here")
        writer = start_writer(tmp_path, "oilfilter", 0, 3)
        output, _ = writer.communicate(timeout=120)
        assert output.split()[1:] == ["oilfilter-0", "oilfilter-1", "oilfilter-2"]
        recalls = memory.recall("oilfilter task number 2", k=1)
        assert [recall.outcome.id for recall in recalls] == ["oilfilter-2"]
        assert recalls[0].cosine == pytest.approx(1, abs=1e-3)


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path, name, 0, 700) for name in ("a", "b")]
    stored = [identifier for writer in writers for identifier in writer.communicate(timeout=300)[0].split()[1:]]
    assert len(stored) == 1400
    with open_folder(tmp_path) as memory:
        assert len(memory) == 1400
        assert {outcome.id for outcome in memory.outcomes()} == set(stored)
        for name in ("a", "b"):
            (found,) = memory.recall(f"{name} task number 13", k=1)
            assert (found.outcome.id, found.cosine) == (f"{name}-13", pytest.approx(1, abs=1e-3))


def kill_writers(folder: Path, kills: int) -> str:
    root = Path(__file__).parents[3]
    campaign = subprocess.run(
        [sys.executable, "-m", "tests.memory.long_term.kills", str(folder), "--kills", str(kills)],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
    )
    assert campaign.returncode == 0, campaign.stderr
    return campaign.stdout.splitlines()[-1]


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert kill_writers(tmp_path / "kills", 5).startswith("5 kills")


@pytest.mark.soak
def test_a_thousand_kills(tmp_path: Path) -> None:
    assert kill_writers(tmp_path / "kills", 1000).startswith("1000 kills")


def test_a_kill_between_store_and_index_is_repaired_on_opening(tmp_path: Path) -> None:
    with open_folder(tmp_path) as memory:
        memory.remember_many(Outcome(f"task number {n}", id=str(n)) for n in range(1000))
    memory = open_folder(tmp_path)
    memory.remember_many(Outcome(f"later number {n}", id=f"later {n}") for n in range(40))
    # Not closed: its vectors have not reached Chroma.
    with open_folder(tmp_path) as other:
        assert other.recall("later number 17", k=1)[0].outcome.id == "later 17"
        assert other.recall("task number 17", k=1)[0].outcome.id == "17"
        assert other.forget("later 17") == 1
    assert all(recall.outcome.id != "later 17" for recall in memory.recall("later number 17", k=5))
    memory.close()


@pytest.mark.parametrize("broken", ["chroma.sqlite3", "outcomes.sqlite3"])
def test_a_broken_file_is_kept_aside(tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture) -> None:
    with open_folder(tmp_path) as memory:
        memory.remember_many(Outcome(f"task number {n}", id=str(n)) for n in range(600))
    (tmp_path / broken).write_bytes(b"garbage")
    with caplog.at_level(logging.WARNING), open_folder(tmp_path) as memory:
        memory.recall("task number 17")
        memory.remember(Outcome("say hello", id="hello"))
        assert memory.recall("say hello")[0].outcome.id == "hello"
        assert len(memory) == (601 if broken.startswith("chroma") else 1)
    assert "kept aside" in caplog.text
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == b"garbage"]
    assert len(kept) == 1
    with open_folder(tmp_path) as memory:
        assert memory.recall("say hello")[0].cosine == pytest.approx(1, abs=1e-3)


def test_a_broken_graph_of_chroma_is_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_folder(tmp_path) as memory:
        memory.remember_many(Outcome(f"task number {n}", id=str(n)) for n in range(3000))
    graphs = list(tmp_path.glob("*/header.bin"))
    assert graphs
    for graph in graphs:
        graph.write_bytes(b"garbage")
    with open_folder(tmp_path) as memory:
        assert memory.recall("task number 17", k=1)[0].cosine == pytest.approx(1, abs=1e-3)
        assert len(memory) == 3000


def test_chroma_files_taken_away_are_made_again(tmp_path: Path) -> None:
    with open_folder(tmp_path) as memory:
        memory.remember_many(Outcome(f"task number {n}", id=str(n)) for n in range(600))
    (tmp_path / "chroma.sqlite3").unlink()
    with open_folder(tmp_path) as memory:
        assert memory.recall("task number 17", k=1)[0].cosine == pytest.approx(1, abs=1e-3)


def test_a_collection_with_another_distance_is_refused(tmp_path: Path) -> None:
    import warnings

    import chromadb

    with open_folder(tmp_path) as memory:
        memory.remember_many(Outcome(f"task number {n}", id=str(n)) for n in range(10))
    with warnings.catch_warnings(), chromadb.PersistentClient(str(tmp_path)) as client:
        warnings.simplefilter("ignore", DeprecationWarning)
        (collection,) = client.list_collections()
        client.delete_collection(collection.name)
        client.create_collection(collection.name, embedding_function=None)
    memory = open_folder(tmp_path)
    with pytest.raises(StoreError, match="measures distance by 'l2'"):
        memory.recall("task number 3")
    assert memory.get("3") is not None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_can_be_recalled_from(tmp_path: Path) -> None:
    with open_folder(tmp_path) as memory:
        memory.remember(Outcome("task", id="a"))
    for path in [*tmp_path.iterdir(), tmp_path]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with open_folder(tmp_path) as memory:
            assert memory.recall("task")[0].outcome.id == "a"
            with pytest.raises(StoreError, match="read-only"):
                memory.remember(Outcome("other"))
    finally:
        tmp_path.chmod(0o755)


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    with open_folder(tmp_path) as memory:
        memory.remember(Outcome("task", id="a"))
        with memory._store.database.reading() as db:
            pages = db.execute("PRAGMA page_count").fetchone()[0]
            db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="free some space"):
            memory.remember_many(Outcome("x" * 5000, id=str(n)) for n in range(100))
        assert len(memory) == 1
        assert memory.get("a") is not None
        with memory._store.database.reading() as db:
            db.execute("PRAGMA max_page_count = 1000000")


def test_threads_share_one_memory(tmp_path: Path) -> None:
    with open_folder(tmp_path) as memory:
        failures: list[Exception] = []

        def work(name: str) -> None:
            try:
                for n in range(30):
                    memory.remember(Outcome(f"{name} did {n}", id=f"{name}{n}"))
                    assert memory.recall(f"{name} did {n}", k=1)[0].outcome.id == f"{name}{n}"
            except (AssertionError, IndexError, StoreError) as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(name,)) for name in ("anna", "ben", "cleo")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(memory) == 90


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, carryforward.memory.long_term as m; m.Outcome; m.LongTermMemory;"
        "heavy = {'chromadb', 'torch', 'transformers', 'sentence_transformers'} & set(sys.modules);"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
