"""Approval: bound to the exact arguments, expiring, recorded, never guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from carryforward.agent import Agent
from carryforward.agent.approval import (
    Allow,
    ApprovalError,
    Change,
    Decision,
    Deny,
    Gate,
    PendingAction,
    RunPaused,
    answer,
    pending_actions,
)
from carryforward.agent.guards import canonical_json
from carryforward.memory.journal import Journal
from hypothesis import given
from hypothesis import strategies as st

RUN = "r1"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.db") as opened:
        yield opened


def ask(gate: Gate, **arguments: Any) -> tuple[PendingAction, Decision | None]:
    return gate.question("m2.0", "shell", arguments, "execute")


@pytest.mark.parametrize(
    ("command", "unasked"),
    [
        ("ls", True),
        ("ls -la; rm -rf data", False),
        ("ls && curl http://x", False),
        ("ls $(touch y)", False),
        ("lsof", False),
        ("ls ", False),
    ],
)
def test_a_rule_with_arguments_fits_exactly_these(journal: Journal, command: str, unasked: bool) -> None:
    gate = Gate(journal, RUN, None, allow=[("shell", {"command": "ls"})])
    assert gate.open_to("shell", "execute", {"command": command}) is unasked
    assert not gate.open_to("shell", "execute", {"command": "ls", "cwd": "/"})
    assert not gate.open_to("python", "execute", {"command": "ls"})


def test_only_reading_is_free_and_a_named_tool_is_allowed(journal: Journal) -> None:
    gate = Gate(journal, RUN, None, allow=["save_note"])
    assert gate.open_to("search", "read", {})
    assert gate.open_to("save_note", "write", {"body": "x"})
    assert not gate.open_to("delete_all", "write", {})


def test_without_anybody_to_ask_the_answer_is_no(journal: Journal) -> None:
    gate = Gate(journal, RUN, None)
    action, _ = ask(gate, command="ls")
    assert isinstance(asyncio.run(gate.decide(action)), Deny)


@pytest.mark.parametrize("decision", [Allow(), Deny("not now"), Change({"command": "ls"})])
def test_an_answer_is_recorded_and_found_again(journal: Journal, decision: Decision) -> None:
    gate = Gate(journal, RUN, lambda _: decision)
    action, before = ask(gate, command="rm x")
    assert before is None
    assert asyncio.run(gate.decide(action)) == decision
    again = Gate(journal, RUN, None)
    assert ask(again, command="rm x") == (action, decision)
    assert ask(again, command="rm y")[1] is None


def test_yes_and_no_are_answers_and_nothing_is_none(journal: Journal) -> None:
    for said, decision in ((True, Allow()), (False, Deny())):
        gate = Gate(journal, RUN, lambda _, said=said: said)
        assert asyncio.run(gate.decide(ask(gate, command=f"x {said}")[0])) == decision
    gate = Gate(journal, RUN, lambda _: None)  # pyright: ignore
    with pytest.raises(TypeError, match=r"approve gave None: it must be Allow\(\)"):
        asyncio.run(gate.decide(ask(gate, command="y")[0]))


def test_an_answer_may_come_later(journal: Journal) -> None:
    async def slow(_: PendingAction) -> Decision:
        await asyncio.sleep(0)
        return Allow()

    gate = Gate(journal, RUN, slow)
    assert asyncio.run(gate.decide(ask(gate, command="x")[0])) == Allow()


def test_an_answer_after_the_time_is_a_denial(journal: Journal) -> None:
    clock = Clock()

    def too_late(_: PendingAction) -> Decision:
        clock.now += 61
        return Allow()

    gate = Gate(journal, RUN, too_late, lasts=60, clock=clock)
    assert isinstance(asyncio.run(gate.decide(ask(gate, command="x")[0])), Deny)


def test_a_question_left_in_the_journal_is_answered_by_another_process(journal: Journal) -> None:
    gate = Gate(journal, RUN, "journal")
    action, _ = ask(gate, command="x")
    with pytest.raises(RunPaused, match=action.id):
        asyncio.run(gate.decide(action))
    with Journal(journal.path) as other:
        assert pending_actions(other, RUN) == [action]
        answer(other, RUN, action.id, Allow())
        with pytest.raises(ApprovalError, match="answered before"):
            answer(other, RUN, action.id, Deny())
        with pytest.raises(ApprovalError, match="no question"):
            answer(other, RUN, "0123", Allow())
    assert pending_actions(journal, RUN) == []
    assert ask(Gate(journal, RUN, "journal"), command="x") == (action, Allow())


def test_an_expired_question_is_asked_anew_and_its_old_id_is_worth_nothing(journal: Journal) -> None:
    clock = Clock()
    old, _ = ask(Gate(journal, RUN, "journal", lasts=60, clock=clock), command="x")
    clock.now += 61
    with pytest.raises(ApprovalError, match="expired"):
        answer(journal, RUN, old.id, Allow(), clock=clock)
    new, decision = ask(Gate(journal, RUN, "journal", lasts=60, clock=clock), command="x")
    assert new.id != old.id and decision is None


JSON = st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.lists(st.text(max_size=9), max_size=3)
ARGUMENTS = st.dictionaries(st.text(max_size=9), JSON, max_size=3)


@given(ARGUMENTS, ARGUMENTS)
def test_the_id_is_bound_to_what_was_shown(arguments: dict[str, Any], others: dict[str, Any]) -> None:
    def asked(shown: dict[str, Any]) -> PendingAction:
        return PendingAction.ask(
            run_id=RUN, call="m2.0", tool="t", arguments=shown, risk="write", why="risk", at=1.0, lasts=60.0
        )

    action = asked(arguments)
    assert PendingAction.from_dict(action.to_dict()) == action
    if canonical_json(arguments) != canonical_json(others):
        assert asked(others).id != action.id
        with pytest.raises(ValueError, match="does not fit"):
            PendingAction.from_dict({**action.to_dict(), "arguments": others})


def test_a_question_changed_in_the_journal_is_not_answered_by_the_old_answer(journal: Journal) -> None:
    action, _ = ask(Gate(journal, RUN, None), command="ls")
    changed = {**action.to_dict(), "arguments": {"command": "rm -rf /"}, "run_id": "r2"}
    journal.append("r2", "approval", {"asked": changed})
    journal.append("r2", "approval", {"answered": action.id, "decision": "allow"})
    assert ask(Gate(journal, "r2", None), command="rm -rf /")[1] is None


def test_an_unknown_way_of_asking_is_refused(scripted: Any) -> None:
    with pytest.raises(ValueError, match="'journal'"):
        Agent(scripted([]), approve="email")  # type: ignore[arg-type]
