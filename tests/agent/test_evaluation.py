"""Evaluation: right answers are known as right, trials are counted, and a drop is told from chance."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from carryforward.agent import Agent
from carryforward.agent.evaluation import Trial, evaluate, load_trials, save_trials
from carryforward.agent.scores import by_task, drops, score
from carryforward.agent.suite import OFFLINE_SUITE, Check, SuiteError, Task, load_suite
from carryforward.tools import Tool
from hypothesis import given, settings
from hypothesis import strategies as st

CORPUS = Path(import_module("carryforward.tools").__file__ or "").parent / "corpus"


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (Check("exact", "NO TOOL"), " no  tool. ", "no such tool"),
        (Check("number", "4.43"), "The difference is **4.43 m**.", "about 4.4 m"),
        (Check("number", "3.77", Decimal("0.01")), "约3.766小时", "3.7小时"),
        (Check("number", "11576.25"), "11,576.25元", "11,576元"),
        (Check("regex", r"(?i)\bno\b"), "No, never", "nothing"),
    ],
)
def test_right_answers_are_known_as_right(check: Check, right: str, wrong: str) -> None:
    assert check.passes(right) and not check.passes(wrong)


def test_a_function_of_ones_own_may_judge() -> None:
    assert Check("function", "carryforward.agent.guards:looks_empty").passes("[]")
    assert not Check("function", "carryforward.agent.guards:looks_empty").passes("12 m")


def calculator() -> Tool:
    schema = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
    return Tool("calculator", "Calculates.", schema, run=lambda expression: "84")


TASKS = [
    Task("right", "17.5 * 4.8?", Check("number", "84"), (("calculator", {"expression": "17.5 * 4.8"}),)),
    Task("wrong", "1 + 1?", Check("number", "2"), (("calculator", {}), ("search", {}))),
    Task("later", "and a tenth of it?", Check("number", "8.4"), after="right"),
]


def run_tasks(scripted: Any, **options: Any) -> list[Trial]:
    script = {
        "17.5 * 4.8?": [("calculator", {"expression": "17.5*4.8"}), "It is 84."],
        "1 + 1?": [("calculater", {}), ("calculator", {"expression": "1+1"}), "It is 3."],
    }

    def make_agent(task: Task) -> Agent:
        before = script["17.5 * 4.8?"] if task.after else []
        return Agent(scripted([*before, *script.get(task.task, ["It is 8.4."])]), [calculator()])

    return asyncio.run(evaluate(TASKS, make_agent, **options))


def test_every_task_is_run_and_judged(scripted: Any) -> None:
    seen: list[Trial] = []
    trials = run_tasks(scripted, runs=2, parallel=3, watch=seen.append)
    assert len(trials) == len(seen) == 6
    groups = by_task(trials)
    right, wrong, later = (score(groups[task]) for task in ("right", "wrong", "later"))
    assert (right.success.value, wrong.success.value, later.success.value) == (1.0, 0.0, 1.0)
    assert right.calls_right is not None and right.calls_right.value == 1.0
    assert wrong.calls_right is not None and wrong.calls_right.value == 0.5
    assert later.calls_right is None
    assert wrong.format_errors.value == pytest.approx(1 / 3) and right.steps.value == 2


def test_a_baseline_is_read_as_it_was_written(scripted: Any, tmp_path: Path) -> None:
    trials = run_tasks(scripted, runs=1)
    save_trials(tmp_path / "baseline.jsonl", trials)
    assert load_trials(tmp_path / "baseline.jsonl") == trials
    (tmp_path / "other.jsonl").write_text('{"task": "x"}\n')
    with pytest.raises(SuiteError, match=r"other\.jsonl"):
        load_trials(tmp_path / "other.jsonl")


def trials_of(task: str, won: int, of: int) -> list[Trial]:
    return [Trial(task, n < won, "done", "", 3, None, 0.0, 100, 0.0, 1.0) for n in range(of)]


def test_a_drop_is_told_from_chance() -> None:
    before = trials_of("a", 20, 20) + trials_of("b", 18, 20)
    assert drops(before, before) == []
    assert drops(trials_of("a", 19, 20) + trials_of("b", 18, 20), before) == []
    (whole, one) = drops(trials_of("a", 8, 20) + trials_of("b", 18, 20), before)
    assert whole.task is None and (one.task, one.before, one.now) == ("a", 1.0, 0.4)
    assert drops(trials_of("new", 0, 20), before) == []


@settings(deadline=None)
@given(st.integers(1, 40), st.data())
def test_an_interval_holds_its_share_and_stays_within_bounds(of: int, data: st.DataObject) -> None:
    won = data.draw(st.integers(0, of))
    estimate = score(trials_of("a", won, of)).success
    assert -1e-9 <= estimate.low <= estimate.value <= estimate.high <= 1 + 1e-9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tasks: 3", "no list"),
        ("tasks: [{id: a, task: x}]", "answer"),
        ("tasks: [{id: a, task: x, answer: {number: many}}]", "task 1"),
        ("tasks: [{id: a, task: x, answer: {regex: '('}}]", "task 1"),
        ("tasks: [{id: a, task: x, answer: {exact: 1, regex: b}}]", "one of"),
        ("tasks: [{id: a, task: x, answer: 1, colour: red}]", "colour"),
        ("tasks: [{id: a, task: x, answer: 1}, {id: a, task: x, answer: 1}]", "two tasks"),
        ("tasks: [{id: a, task: x, answer: 1, after: b}]", "'b'"),
        ("a: [", "suite"),
    ],
)
def test_a_suite_with_a_fault_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(text)
    with pytest.raises(SuiteError, match=says):
        load_suite(path)


def test_the_packaged_suite_is_whole_and_its_answers_are_right() -> None:
    from carryforward.tools.calculator import calculate
    from carryforward.tools.examples import get_weather, read_manual

    raw = yaml.safe_load(OFFLINE_SUITE.read_text("utf-8"))["tasks"]
    tasks = load_suite(OFFLINE_SUITE)
    assert len(tasks) == 30
    assert sum(task.id.endswith("-zh") for task in tasks) >= 12
    examples = {"read_manual": (read_manual, "topic"), "get_weather": (get_weather, "city")}
    for task, item in zip(tasks, raw, strict=True):
        for place, words in item["why"].get("says", {}).items():
            if place.endswith(".md"):
                shown = (CORPUS / place).read_text("utf-8")
            else:
                name, _, argument = place.partition(" ")
                example, parameter = examples[name]
                shown = example.run(**{parameter: argument})
            assert str(words) in shown, task.id
        if "is" in item["why"]:
            assert task.check.passes(calculate(str(item["why"]["is"]))), task.id
