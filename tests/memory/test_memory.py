"""The facade: runs that begin, recall, go on, end and are taken up again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carryforward.memory import Journal, JournalError, LongTermMemory, Memory, Message, ShortTermMemory, TokenCounter
from carryforward.memory.rules import broken
from numpy.typing import NDArray

COUNTER = TokenCounter(encoding="cl100k_base")


class WordHashes:
    """A deterministic embedder: each word is a direction."""

    name, dimension, revision = "word-hashes", 256, "1"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        out = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                out[row, sum(word.encode()) % self.dimension] += 1
            out[row] /= np.linalg.norm(out[row]) or 1
        return out


@pytest.fixture
def long_term(tmp_path: Path) -> Iterator[LongTermMemory]:
    with LongTermMemory(tmp_path / "long", embedder=WordHashes()) as memory:
        yield memory


def work(memory: Memory, steps: int = 12) -> None:
    """Some steps, each with a result worth about 100 tokens."""
    for n in range(steps):
        call: dict[str, Any] = {"id": f"c{n}", "type": "function", "function": {"name": "measure", "arguments": "{}"}}
        memory.add({"role": "assistant", "content": None, "tool_calls": [call]})
        memory.add({"role": "tool", "tool_call_id": f"c{n}", "content": f"pier {n}: depth {n}.25 m. " + "calm " * 90})
        memory.context()


def test_a_task_leaves_an_outcome_and_a_related_one_recalls_it(long_term: LongTermMemory) -> None:
    memory = Memory(4000, long_term=long_term, counter=COUNTER)
    assert memory.begin("measure the depth of all piers in the harbour", system="You measure.") == []
    work(memory)
    outcome = memory.finish("The depth at pier 3 is 3.25 m.")
    assert outcome.tools == ("measure",)
    assert outcome.steps == 12
    assert any(fact.text == "3.25 m" for fact in outcome.facts)
    recalls = memory.begin("measure the depth of all piers in the harbour again")
    assert [r.outcome.id for r in recalls] == [outcome.id]
    task = memory.context()[0]["content"]
    assert task.startswith("measure the depth of all piers in the harbour again\n\n")
    assert "3.25 m" in task


def test_what_was_recalled_is_not_part_of_the_next_outcome(long_term: LongTermMemory) -> None:
    memory = Memory(4000, long_term=long_term, counter=COUNTER)
    memory.begin("measure the depth of all piers in the harbour")
    work(memory, 2)
    memory.finish("The depth is 77.125 m, says the buoy.")
    memory.begin("measure the depth of all piers in the harbour")
    work(memory, 2)
    again = memory.finish("done")
    assert "77.125" not in again.to_json()


def test_figures_of_an_answer_without_a_source_are_named() -> None:
    memory = Memory(4000, counter=COUNTER)
    memory.begin("Is pier 7 deeper than 2.5 m?")
    work(memory, 3)
    assert memory.unsupported("Pier 1 has 1.25 m, the task says 2.5 m.") == []
    assert [f.text for f in memory.unsupported("It is 9.75 m deep.")] == ["9.75 m"]


def test_tools_of_one_run_are_not_those_of_the_next() -> None:
    schema: dict[str, Any] = {"type": "function", "function": {"name": "measure", "description": "word " * 100}}
    memory = Memory(2000, counter=COUNTER)
    memory.begin("measure", tools=[schema])
    with_tools = memory.short_term.tokens
    memory.begin("measure")
    assert memory.short_term.tokens < with_tools - 100


def test_failure_is_kept_with_its_lesson(long_term: LongTermMemory) -> None:
    memory = Memory(4000, long_term=long_term, counter=COUNTER)
    memory.begin("open the lock of the harbour gate")
    memory.finish("", "failed", lessons=["the gate needs the harbour master's key"])
    (recall,) = memory.begin("open the lock of the harbour gate")
    assert recall.is_warning
    assert "harbour master" in memory.context()[0]["content"]


def test_resumed_run_has_the_same_context(tmp_path: Path) -> None:
    memory = Memory(1200, journal=tmp_path / "j.db", counter=COUNTER)
    memory.begin("measure all", system="You measure.", run_id="r1", tags=["harbour"])
    work(memory, 15)
    memory.learn_usage(int(memory.short_term.tokens * 1.2))
    memory.shrink(0.8)
    before = memory.context()
    memory.close()
    again = Memory(1200, journal=tmp_path / "j.db", counter=COUNTER)
    again.resume("r1")
    assert again.context() == before
    assert again.task == "measure all"
    assert again.short_term.limit == memory.short_term.limit


def test_two_processes_never_work_on_one_run(tmp_path: Path) -> None:
    memory = Memory(1200, journal=tmp_path / "j.db", counter=COUNTER)
    memory.begin("measure all", run_id="r1")
    with pytest.raises(JournalError, match="being worked on"):
        Memory(1200, journal=tmp_path / "j.db", counter=COUNTER).resume("r1")


def test_runs_that_can_not_be_taken_up_say_why() -> None:
    memory = Memory(1200, counter=COUNTER)
    memory.begin("measure all", run_id="r1")
    memory.finish("done")
    with pytest.raises(JournalError, match="r1 is finished"):
        memory.resume("r1")
    with pytest.raises(JournalError, match="no run r2"):
        memory.resume("r2")
    with pytest.raises(JournalError, match="r1 exists already"):
        memory.begin("measure all", run_id="r1")
    with pytest.raises(ValueError, match="task is empty"):
        memory.begin("  ")
    with pytest.raises(JournalError, match="no run is open"):
        memory.finish("done again")


def test_a_run_whose_first_entry_is_damaged_says_so(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with closing(Memory(1200, journal=path, counter=COUNTER)) as memory:
        memory.begin("measure all", run_id="r1")
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE entries SET body = ? WHERE kind = 'run'", ("\0" * 300,))
        db.commit()
    damaged = pytest.raises(JournalError, match="its first entry is damaged")
    with closing(Memory(1200, journal=path, counter=COUNTER)) as memory, damaged:
        memory.resume("r1")


def test_secrets_are_replaced_before_they_are_kept_or_sent() -> None:
    journal = Journal()
    journal.redact("sk-test-000")
    memory = Memory(1200, journal=journal, counter=COUNTER)
    memory.begin("use the key", run_id="r1")
    memory.add({"role": "user", "content": "the key is sk-test-000"})
    assert "sk-test-000" not in str(memory.context())
    assert "sk-test-000" not in str(journal.entries("r1"))


def test_secrets_do_not_reach_long_term_memory(long_term: LongTermMemory) -> None:
    memory = Memory(1200, long_term=long_term, counter=COUNTER)
    memory.journal.redact("sk-test-000")
    memory.begin("find out why sk-test-000 is refused")
    memory.finish("sk-test-000 has expired", "failed", lessons=["do not use sk-test-000"])
    (kept,) = long_term.outcomes()
    assert "sk-test-000" not in kept.to_json() and kept.result == "[secret] has expired"


@pytest.mark.parametrize("kind", ["message", "compaction"])
def test_a_run_with_a_damaged_entry_goes_on_with_a_valid_context(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "j.db"
    with closing(Memory(1200, journal=path, counter=COUNTER)) as memory:
        memory.begin("measure all", run_id="r1", system="You measure.")
        work(memory)
        seqs = [entry.seq for entry in memory.journal.entries("r1", kind)]
    for seq in seqs[2:] if kind == "message" else seqs:  # without its task, a run is another run
        copied = tmp_path / f"{seq}.db"
        copied.write_bytes(path.read_bytes())
        with closing(sqlite3.connect(copied)) as db:
            db.execute("UPDATE entries SET body = ? WHERE seq = ?", ("\0" * 300, seq))
            db.commit()
        with closing(Memory(1200, journal=copied, counter=COUNTER)) as memory:
            memory.resume("r1")
            context = memory.context()
            assert COUNTER.messages(context) <= 1200
            assert broken([Message.from_dict(message) for message in context]) == []
            kept = {e.body["ref"]: e.body["message"]["content"] or "" for e in memory.journal.entries("r1", "message")}
            now = {ref: message.text for ref, message in memory.short_term.messages()}
            assert all(now[ref] == text for ref, text in kept.items())
            assert memory.add({"role": "user", "content": "go on"}) not in kept


@pytest.mark.parametrize("cut", [8, 28, 50])
def test_a_run_resumed_anywhere_goes_on_as_it_would_have(cut: int) -> None:
    rows = [(f"PX{1000 + 37 * number}", 100 + 977 * number % 9973) for number in range(40)]
    table = "| part | price |\n|---|---|\n" + "\n".join(f"| {part} | {price} |" for part, price in rows)
    memory, resumed = ShortTermMemory(2500, counter=COUNTER, run="r"), None
    memory.add({"role": "user", "content": "Find the cheapest part."})
    for number in range(40):
        function = {"name": "get", "arguments": json.dumps({"price": rows[number * 7 % 40][1]})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        result = "word " * 150 if number else table
        for message in (
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": result},
        ):
            memory.add(message)
            if resumed is not None:
                resumed.add(message)
        shown = memory.context()
        assert resumed is None or resumed.context() == shown
        if 2 * number + 2 == cut:
            resumed = ShortTermMemory(2500, counter=COUNTER, run="r")
            resumed.restore(memory.journal.entries("r"))
    assert resumed is not None


def test_run_that_another_one_interrupted_can_be_resumed() -> None:
    memory = Memory(1200, counter=COUNTER)
    memory.begin("measure all", run_id="r1")
    memory.begin("count the piers", run_id="r2")
    memory.resume("r1")
    assert memory.context()[0]["content"] == "measure all"


def test_what_was_said_of_facts_holds_after_a_resume(tmp_path: Path) -> None:
    with closing(Memory(1200, journal=tmp_path / "j.db", counter=COUNTER)) as memory:
        memory.begin("measure all", run_id="r1")
        memory.add({"role": "user", "content": "bow 0.25 m; stern 1.25 m; keel 2.25 m"})
        memory.facts.pin("0.25 m")
        memory.facts.delete("1.25 m")
        memory.facts.correct("2.25 m", Decimal("2.5"), "2.5 m")
    with closing(Memory(1200, journal=tmp_path / "j.db", counter=COUNTER)) as memory:
        memory.resume("r1")
        assert {fact.text for fact in memory.facts if fact.unit == "m"} == {"0.25 m", "2.5 m"}
        assert memory.facts.render(12) == "m2: bow 0.25 m"
