"""Over generated outcomes: exact round trip, walls, forgetting, export and import, the block of notes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from carryforward.memory.long_term import LongTermMemory, Outcome, Recall, format_recalls, without_notes
from carryforward.memory.long_term.parts import MAX_PARTS, PART, split
from carryforward.memory.long_term.recall import BEGIN, END
from carryforward.memory.long_term.terms import terms
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import HashedWords

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
READABLE = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30).filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.sampled_from([UTC]))
OUTCOMES = st.builds(
    Outcome,
    goal=READABLE,
    result=ANY_TEXT,
    status=st.sampled_from(["succeeded", "failed", "abandoned"]),
    summary=ANY_TEXT,
    lessons=st.lists(ANY_TEXT, max_size=2),
    tools=st.lists(ANY_TEXT, max_size=2),
    steps=st.integers(0),
    tokens=st.integers(0),
    started_at=st.none() | MOMENTS,
    finished_at=MOMENTS,
    tags=st.lists(ANY_TEXT, max_size=3),
    id=READABLE,
    run_id=st.none() | ANY_TEXT,
    metadata=st.dictionaries(ANY_TEXT, JSON, max_size=4),
)
# Each example opens a store; the clock of a busy machine is no property of the code.
EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def by_id(outcomes: list[Outcome], namespace: str) -> dict[str, dict]:
    return {outcome.id: outcome.to_dict() | {"namespace": namespace} for outcome in outcomes}


@EXAMPLES
@given(st.lists(OUTCOMES, max_size=5), st.lists(OUTCOMES, max_size=5), READABLE, READABLE)
def test_round_trip_walls_forgetting_and_moving(
    mine: list[Outcome], theirs: list[Outcome], name: str, other: str
) -> None:
    other = other + " 2" if other == name else other
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with (
            LongTermMemory(path / "s", embedder=HashedWords(), namespace=name) as memory,
            LongTermMemory(path / "s", embedder=HashedWords(), namespace=other) as wall,
        ):
            memory.remember_many(mine)
            wall.remember_many(theirs)
            expected = by_id(mine, name)
            assert {o.id: o.to_dict() for o in memory.outcomes()} == expected
            assert {o.id: o.to_dict() for o in wall.outcomes()} == by_id(theirs, other)
            assert len(memory) == len(expected)
            for goal in [o.goal for o in theirs]:
                for recall in memory.recall(goal, k=20, min_score=0):
                    assert recall.outcome.to_dict() == expected[recall.outcome.id]
                    assert 0 <= recall.score <= 1
            for outcome in mine:
                recalls = memory.recall(outcome.goal, k=20, min_score=0)
                known = {recall.outcome.id for recall in recalls} | {h for r in recalls for h in r.history}
                assert outcome.id in known
            memory.export_jsonl(path / "export.jsonl")
            for identifier in list(expected)[::2]:
                assert memory.forget(identifier) == 1
                assert memory.get(identifier) is None
                assert all(
                    identifier not in (recall.outcome.id, *recall.history)
                    for recall in memory.recall(expected[identifier]["goal"], k=20, min_score=0)
                )
            with LongTermMemory(path / "t", embedder=HashedWords(), namespace=name) as moved:
                assert moved.import_jsonl(path / "export.jsonl") == len(expected)
                assert {o.id: o.to_dict() for o in moved.outcomes()} == expected
            assert memory.forget(namespace=name) == len(expected) - len(list(expected)[::2])
            assert len(wall) == len(by_id(theirs, other))
            with memory._store.database.reading() as db:
                left = db.execute("SELECT COUNT(*) FROM postings").fetchone()[0]
                owned = sum(len(set(terms(t))) for (t,) in db.execute("SELECT search_text FROM records"))
            assert left == owned


@given(OUTCOMES)
def test_json_text_is_exact(outcome: Outcome) -> None:
    assert Outcome.from_json(outcome.to_json()) == outcome
    outcome.to_json().encode("ascii")


@given(st.lists(OUTCOMES, max_size=4), ANY_TEXT, st.integers(0, 2000) | st.none())
def test_notes_cannot_be_left_and_keep_their_budget(outcomes: list[Outcome], attack: str, budget: int | None) -> None:
    escape = f"\n{END}\r{attack}\u2028{BEGIN}\x85{END}"
    recalls = [
        Recall(replace(outcome, goal=outcome.goal + escape), 0.5, 0.5, 0.5, 1.0, (), timedelta(days=1))
        for outcome in outcomes
    ]
    block = format_recalls(recalls, budget, len)
    if not block:
        assert not recalls or budget is not None
        return
    assert budget is None or len(block) <= budget
    first, *inside, last = block.split("\n")
    assert (first, last) == (BEGIN, END)
    assert inside
    assert all(line.startswith("> ") for line in inside)
    assert all(len(line.splitlines()) == 1 for line in inside)
    assert without_notes(f"before\n{block}\nafter") == "before\nafter"


@given(st.text(st.sampled_from("ab 三月\n") | st.characters(), max_size=4000))
def test_parts_hold_the_text_and_fit_the_model(text: str) -> None:
    parts = split(text)
    assert 1 <= len(parts) <= MAX_PARTS
    assert all(len(part) <= PART for part in parts)
    if len(parts) < MAX_PARTS:
        assert "".join("".join(parts).split()) == "".join(text.split())
