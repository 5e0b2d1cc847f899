"""What holds for every store, in a folder and on a server alike."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from carryforward.memory.facts.fact import Fact
from carryforward.memory.long_term import (
    LongTermMemory,
    NamespaceError,
    Outcome,
    OutcomeError,
    OutcomeNotFoundError,
)

from .conftest import HashedWords, OpenMemory

NOON = datetime(2026, 5, 2, 12, tzinfo=UTC)


def ids(recalls: list) -> list[str]:
    return [recall.outcome.id for recall in recalls]


def test_a_record_comes_back_exactly(memory: LongTermMemory) -> None:
    fact = Fact(
        kind="quantity",
        text="5.40 m",
        span=(3, 9),
        value=Decimal("5.40"),
        unit="m",
        source="m4",
        at=2,
        label="high water",
    )
    outcome = Outcome(
        goal="Find the tide table of Brest \ud800 \u2028 \x00",
        result="High water 5.40 m",
        status="failed",
        summary="asked the harbour",
        facts=[fact],
        lessons=["the first page is old"],
        tools=["fetch"],
        steps=7,
        tokens=2**40,
        started_at=NOON - timedelta(minutes=3),
        finished_at=NOON,
        tags=["tides", "潮汐"],
        id="t1",
        run_id="run-9",
        metadata={"error": None, "list": [1, [True, None]], "big": 2**63, "nested": {"a": -(2**70)}},
    )
    memory.remember(outcome)
    back = memory.get("t1")
    assert back is not None
    assert back.facts[0].to_dict() == fact.to_dict()
    assert back == Outcome(**{**vars_of(outcome), "namespace": memory.namespace})


def vars_of(outcome: Outcome) -> dict:
    return {name: getattr(outcome, name) for name in Outcome.__dataclass_fields__}


def test_not_a_number_is_kept(memory: LongTermMemory) -> None:
    memory.remember(Outcome("x", id="a", metadata={"score": math.nan, "limit": math.inf, "tool": "fetch"}))
    back = memory.get("a")
    assert back is not None
    assert math.isnan(back.metadata["score"])
    assert (back.metadata["limit"], back.metadata["tool"]) == (math.inf, "fetch")


def test_saving_an_id_again_replaces_it(memory: LongTermMemory) -> None:
    memory.remember(Outcome("first version: pump at 3 bar", id="t1"))
    memory.remember(Outcome("second version: pump at 5 bar", id="t1"))
    recalls = memory.recall("pump pressure", k=5, min_score=0)
    assert [recall.outcome.goal for recall in recalls] == ["second version: pump at 5 bar"]
    assert len(memory) == 1


def test_one_batch_may_name_an_id_twice(memory: LongTermMemory) -> None:
    memory.remember_many([Outcome("old text", id="a"), Outcome("new text", id="a")])
    assert len(memory) == 1
    assert memory.get("a").goal == "new text"


def test_more_may_be_asked_for_than_is_stored(memory: LongTermMemory) -> None:
    memory.remember_many([Outcome("tide table", id="a"), Outcome("ferry times", id="b")])
    assert ids(memory.recall("tide", k=10, min_score=0)) == ["a", "b"]
    assert ids(memory.recall("tide", k=10)) == ["a"]
    assert memory.recall("tide", k=0) == []


def test_identical_text_scores_one_and_beats_all(memory: LongTermMemory) -> None:
    memory.remember(Outcome("replace the oil filter of pump 3", "done in 20 minutes", id="same"))
    memory.remember(Outcome("a recipe for lemon cake", id="far"))
    same, far = memory.recall("Replace the oil filter of pump 3.", k=2, min_score=0)
    assert (same.outcome.id, far.outcome.id) == ("same", "far")
    assert 0.99 <= same.score <= 1
    assert 0 <= far.score < same.score


def test_an_unrelated_task_recalls_nothing(memory: LongTermMemory) -> None:
    memory.remember(Outcome("Recipe: lemon cake with 200 g sugar"))
    assert memory.recall("Find out why the kernel driver panics on boot") == []
    assert memory.recall("") == []
    assert memory.recall(" \n") == []


def test_the_end_of_a_long_text_is_found(memory: LongTermMemory) -> None:
    remarks = "general remarks about pumps. " * 300
    memory.remember(Outcome(remarks + "Valve code is QX-77.", id="a"))
    memory.remember(Outcome(remarks + "Paint is green.", id="b"))
    assert ids(memory.recall("valve code QX-77", k=1)) == ["a"]


def test_a_goal_of_100_000_words_is_stored_and_asked(memory: LongTermMemory) -> None:
    goal = " ".join(f"word{n % 977}" for n in range(100_000))
    memory.remember(Outcome(goal, id="long"))
    assert ids(memory.recall(goal)) == ["long"]


def test_near_duplicates_are_shown_once_the_newest_with_history(memory: LongTermMemory) -> None:
    for n in range(9):
        dot = "." if n % 2 else ""
        memory.remember(
            Outcome(f"The search index runs on port 7711{dot}", id=str(n), finished_at=NOON + timedelta(hours=n))
        )
    memory.remember(Outcome("The backup job runs at 02:00", id="z", finished_at=NOON))
    recalls = memory.recall("which port and when does the backup run", k=3)
    assert "z" in ids(recalls)
    (port,) = memory.recall("search index port", k=3)
    assert port.outcome.id == "8"
    assert port.history == tuple("76543210")


def test_a_goal_solved_again_supersedes_and_a_failure_stays_a_warning(memory: LongTermMemory) -> None:
    goal = "Move the mail server to the new host"
    memory.remember(Outcome(goal, "used the old certificate", id="old", finished_at=NOON))
    memory.remember(Outcome(goal, "no access", status="failed", id="failed", finished_at=NOON + timedelta(days=1)))
    memory.remember(Outcome(goal, "made a new one", id="new", finished_at=NOON + timedelta(days=2)))
    recalls = memory.recall("move mail server", k=5)
    assert sorted(ids(recalls)) == ["failed", "new"]
    by_id = {recall.outcome.id: recall for recall in recalls}
    assert by_id["new"].history == ("failed", "old")
    assert by_id["failed"].is_warning
    assert not by_id["new"].is_warning


def test_many_duplicates_do_not_hide_what_comes_after(memory: LongTermMemory) -> None:
    memory.remember_many([Outcome("water the garden", id=f"{n}") for n in range(120)])
    memory.remember(Outcome("water the roof terrace", id="other"))
    assert len(memory.recall("water the garden", k=2)) == 2


def test_filters_are_exact_by_type(memory: LongTermMemory) -> None:
    values = {"true": True, "false": False, "one": 1, "float": 1.5, "text": "1", "none": None, "big": 2**80}
    for name, value in values.items():
        memory.remember(Outcome(f"s of {name}", id=name, metadata={"v": value}))
    memory.remember(Outcome("s", "without", id="without"))
    for name, value in values.items():
        assert ids(memory.recall("s", where={"v": value})) == [name]
    assert sorted(ids(memory.recall("s", where={"v": {"gte": 1, "lt": 2}}))) == ["float", "one"]


def test_filters_hold_together(memory: LongTermMemory) -> None:
    memory.remember(Outcome("s", "1", id="1", metadata={"user": "u1", "project": "p1", "ts": 90}))
    memory.remember(Outcome("s", "2", id="2", metadata={"user": "u1", "project": "p2", "ts": 150}, tags=["x"]))
    memory.remember(Outcome("s", "3", id="3", metadata={"user": "u2", "ts": 240}, status="failed", tags=["x"]))
    assert ids(memory.recall("s", where={"user": "u1", "project": "p2"})) == ["2"]
    assert ids(memory.recall("s", where={"ts": {"gte": 120, "lte": 180}})) == ["2"]
    assert ids(memory.recall("s", tags=["x"], status="failed")) == ["3"]
    assert [o.id for o in memory.outcomes(where={"user": "u1"})] == ["1", "2"]
    assert memory.recall("s", where={"user": "nobody"}) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"where": {"ts": {"about": 3}}},
        {"where": {"ts": {}}},
        {"where": {"ts": math.nan}},
        {"where": {"ts": [1]}},
        {"status": "done"},
        {"tags": "x"},
    ],
)
def test_a_filter_without_sense_is_refused(memory: LongTermMemory, arguments: dict) -> None:
    memory.remember(Outcome("s"))
    with pytest.raises(OutcomeError):
        memory.recall("s", **arguments)


def test_forget_by_id_age_and_tag(memory: LongTermMemory) -> None:
    now = datetime.now(UTC)
    memory.remember(Outcome("one", id="one", finished_at=now - timedelta(days=10), tags=["keep"]))
    memory.remember(Outcome("two", id="two", finished_at=now - timedelta(days=10)))
    memory.remember(Outcome("three", id="three", finished_at=now))
    assert memory.forget("nothing") == 0
    assert memory.forget(older_than=timedelta(days=5), tag="keep") == 1
    assert memory.get("one") is None
    assert memory.forget("three") == 1
    assert memory.recall("three", min_score=0.5) == []
    assert memory.forget(older_than=now) == 1
    assert len(memory) == 0
    with pytest.raises(ValueError, match="what to forget"):
        memory.forget()


def test_the_nearest_after_a_deletion(open_memory: OpenMemory) -> None:
    places = {"A": [2, 1, 0], "B": [5, 4, 3], "C": [9, 8, 7], "q": [2, 1, 0]}

    class Places(HashedWords):
        def embed(self, texts):
            import numpy as np

            return np.array([places[text] for text in texts], dtype=np.float32)

    memory = open_memory(embedder=Places("places", 3))
    memory.remember_many([Outcome(name, id=name) for name in "ABC"])
    memory.forget("A")
    assert ids(memory.recall("q", k=1, min_score=0)) == ["B"]


def test_update_changes_fields_and_knows_its_limits(memory: LongTermMemory) -> None:
    memory.remember(Outcome("measure the pump", "3 bar", id="a", tags=["x"]))
    memory.update("a", result="5 bar")
    assert memory.get("a").result == "5 bar"
    assert memory.get("a").tags == ("x",)
    with pytest.raises(OutcomeError, match="colour"):
        memory.update("a", colour="red")
    with pytest.raises(OutcomeNotFoundError, match="no outcome 'b'"):
        memory.update("b", result="x")


def test_help_is_remembered_and_prefers_among_equals(memory: LongTermMemory) -> None:
    memory.remember_many(
        [Outcome(f"read the log of server {n}", id=n, finished_at=NOON) for n in ("alpha", "beta", "gamma")]
    )
    memory.mark_helpful("beta")
    memory.update("beta", tags=["log"])
    first = memory.recall("read the log of a server", k=3)[0]
    assert (first.outcome.id, first.helped) == ("beta", 1)
    assert "helped 1 time" in first.explain()
    with pytest.raises(OutcomeNotFoundError):
        memory.mark_helpful("delta")


def test_namespaces_are_walls(open_memory: OpenMemory, tmp_path) -> None:
    names = ["a", "A", "a ", "../b", "名前 / x" * 40]
    memories = [open_memory(name) for name in names]
    for n, memory in enumerate(memories):
        memory.remember(Outcome("the same goal", f"result {n}", id="same-id"))
    for n, memory in enumerate(memories):
        assert len(memory) == 1
        assert [recall.outcome.result for recall in memory.recall("the same goal", k=9)] == [f"result {n}"]
    memories[0].export_jsonl(tmp_path / "a.jsonl")
    with pytest.raises(NamespaceError, match="belongs to the namespace"):
        memories[1].import_jsonl(tmp_path / "a.jsonl")
    assert memories[1].get("same-id").result == "result 1"
    with pytest.raises(NamespaceError):
        memories[0].forget(namespace=memories[1].namespace)
    assert memories[0].forget(namespace=memories[0].namespace) == 1
    assert [len(memory) for memory in memories] == [0, 1, 1, 1, 1]


def test_a_blank_namespace_is_refused(open_memory: OpenMemory) -> None:
    with pytest.raises(NamespaceError):
        LongTermMemory(namespace=" ")


def test_export_and_import_give_the_same(open_memory: OpenMemory, tmp_path) -> None:
    memory = open_memory()
    memory.remember_many([Outcome(f"task {n}", "line\nline", metadata={"n": n}) for n in range(20)])
    before = list(memory.outcomes())
    assert memory.export_jsonl(tmp_path / "all.jsonl") == 20
    memory.forget(namespace=memory.namespace)
    assert memory.import_jsonl(tmp_path / "all.jsonl") == 20
    assert sorted(memory.outcomes(), key=lambda o: o.id) == sorted(before, key=lambda o: o.id)
    assert list(tmp_path.glob("*.part")) == []


def test_a_broken_line_imports_nothing(memory: LongTermMemory, tmp_path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(Outcome("good").to_json() + "\n{not json\n")
    with pytest.raises(OutcomeError, match="not JSON"):
        memory.import_jsonl(path)
    assert len(memory) == 0


def test_reindex_drops_the_old_models_vectors_and_never_the_new_ones(open_memory: OpenMemory) -> None:
    with open_memory() as memory:
        memory.remember(Outcome("tide table of Brest", id="brest"))
    with open_memory() as memory:
        memory.reindex(HashedWords("other"), drop_old=True)
    with open_memory(embedder=HashedWords("other")) as memory:
        assert memory.stats()["other_models"] == []
        assert memory.reindex(HashedWords("other"), drop_old=True) == 0
        assert memory.stats()["not_embedded"] == 0
        assert memory.recall("tide table of Brest")[0].cosine == pytest.approx(1)


def test_another_model_warns_and_reindex_goes_on_where_it_stopped(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(embedder=HashedWords("m64", 64))
    memory.remember_many([Outcome(f"pump {n} at 5 bar", id=str(n)) for n in range(600)])
    memory.close()
    other = HashedWords("m96", 96)
    memory = open_memory(embedder=other)
    (found,) = memory.recall("pump 17 at 5 bar", k=1)
    assert (found.outcome.id, found.cosine) == ("17", None)
    assert "m64" in caplog.text
    assert "m96" in caplog.text
    memory.remember(Outcome("valve at 2 bar", id="valve"))

    seen: list[tuple[int, int]] = []

    def stop_early(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.reindex(other, progress=stop_early)
    done, total = seen[0]
    assert total == 600
    assert memory.reindex(other) == total - done
    assert memory.recall("pump 17 at 5 bar", k=1)[0].cosine == pytest.approx(1, abs=1e-3)
    assert memory.stats()["not_embedded"] == 0


def test_more_than_one_batch_of_chroma(memory: LongTermMemory, request: pytest.FixtureRequest) -> None:
    count = 6000 if "folder" in request.node.name else 1200
    memory.remember_many(Outcome(f"note number {n}", id=str(n)) for n in range(count))
    assert len(memory) == count
    assert ids(memory.recall("note number 1111", k=1)) == ["1111"]


def test_an_outcome_does_not_contain_what_was_recalled(memory: LongTermMemory) -> None:
    from carryforward.memory.long_term import format_recalls

    memory.remember(Outcome("Find the tide table", "High water at 6", id="a"))
    notes = format_recalls(memory.recall("tide table"))
    memory.remember(Outcome("Plan the ferry", f"{notes}\nThe ferry goes at 7", id="b"))
    assert memory.get("b").result.strip() == "The ferry goes at 7"


def a_week(memory: LongTermMemory) -> None:
    """Outcomes 0 to 6, the higher the newer, a day apart; 0 and 3 failed, 1 is pinned, 2, 4 and 6 have one goal."""
    memory.remember_many(
        Outcome(
            "back up the archive" if n in (2, 4, 6) else f"task number {n}",
            id=str(n),
            status="failed" if n in (0, 3) else "succeeded",
            tags=("pinned",) if n == 1 else (),
            finished_at=NOON + timedelta(days=n),
        )
        for n in (3, 1, 4, 0, 5, 2, 6)
    )


@pytest.mark.parametrize(
    ("rule", "gone"),
    [
        ({"newest": 7}, ""),
        ({"newest": 3}, "0123"),
        ({"newest": 0}, "0123456"),
        ({"within": NOON + timedelta(days=4)}, "0123"),
        ({"per_goal": 1}, "24"),
        ({"per_goal": 2, "within": NOON + timedelta(days=1)}, "02"),
        ({"newest": 2, "per_goal": 1}, "01234"),
        ({"newest": 3, "keep_status": ["failed"]}, "12"),
        ({"newest": 3, "keep_status": ["failed"], "keep_tags": ["pinned"]}, "2"),
        ({"within": timedelta(days=1), "keep_tags": ["pinned", "other"]}, "023456"),
    ],
)
def test_what_a_rule_does_not_keep_is_forgotten(memory: LongTermMemory, rule: dict, gone: str) -> None:
    a_week(memory)
    assert "".join(memory.retain(**rule, dry_run=True)) == gone
    assert len(memory) == 7
    assert "".join(memory.retain(**rule)) == gone
    assert "".join(outcome.id for outcome in memory.outcomes()) == "".join(n for n in "0123456" if n not in gone)
    assert memory.retain(**rule) == []


def test_a_rule_reaches_no_other_namespace(open_memory: OpenMemory) -> None:
    here, there = open_memory("here"), open_memory("there")
    for memory in (here, there):
        a_week(memory)
    assert len(here.retain(newest=1)) == 6
    assert (len(here), len(there)) == (1, 7)


@pytest.mark.parametrize("rule", [{}, {"newest": -1}, {"per_goal": -1}, {"keep_tags": ["pinned"]}])
def test_a_rule_without_sense_is_refused(memory: LongTermMemory, rule: dict) -> None:
    with pytest.raises(ValueError, match="say what may stay"):
        memory.retain(**rule)
    with pytest.raises(OutcomeError, match="unknown status"):
        memory.retain(newest=1, keep_status=["done"])


def test_a_cosine_is_never_above_one(memory: LongTermMemory) -> None:
    goals = [f"task {' '.join('abcdefg'[:n])} number {n}" for n in range(8)]
    memory.remember_many(Outcome(goal) for goal in goals)
    found = [memory.recall(goal, k=1)[0] for goal in goals]
    assert [recall.outcome.goal for recall in found] == goals
    assert all(recall.cosine == pytest.approx(1) and recall.cosine <= 1 for recall in found)


def test_a_note_that_is_too_long_loses_the_way_first_and_the_result_last(memory: LongTermMemory) -> None:
    from carryforward.memory.long_term import format_recalls

    texts = {"goal": "g " * 150, "result": "r " * 150, "summary": "w " * 150, "lessons": ("l " * 150,)}
    memory.remember(Outcome(id="o1", finished_at=datetime(2026, 5, 2, tzinfo=UTC), **texts))
    recalls = memory.recall(texts["goal"])
    whole = len(format_recalls(recalls))
    seen: list[str] = []
    for budget in range(whole, 0, -10):
        block = format_recalls(recalls, budget, len)
        assert len(block) <= budget
        if not block:
            break
        assert "[o1] 2026-05-02, succeeded" in block
        cut = [line[2:].partition(":")[0] for line in block.splitlines() if "characters left out" in line]
        seen += [name for name in cut if name not in seen]
    assert seen == ["way", "task", "lesson", "result"]
    assert whole - len(block) > 600


def test_stats_count(memory: LongTermMemory) -> None:
    memory.remember_many([Outcome("a"), Outcome("b", status="failed")])
    stats = memory.stats()
    assert (stats["outcomes"], stats["succeeded"], stats["failed"], stats["abandoned"]) == (2, 1, 1, 0)
    assert stats["model"] == "hashed-words"
    assert stats["bytes"] > 0
