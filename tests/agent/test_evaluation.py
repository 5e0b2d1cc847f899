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
from carryforward.agent.score_tables import score_table, task_table
from carryforward.agent.scores import by_task, changes, score
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


def test_a_function_may_stand_in_a_file_beside_the_suite(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text("def even(answer):\n    return int(answer) % 2 == 0\n")
    (tmp_path / "suite.yaml").write_text("tasks: [{id: a, task: x, answer: {function: 'checks.py:even'}}]")
    (task,) = load_suite(tmp_path / "suite.yaml")
    assert task.check.passes("4") and not task.check.passes("5")


def calculator() -> Tool:
    schema = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
    return Tool("calculator", "Calculates.", schema, run=lambda expression: "84")


TASKS = [
    Task("right", "17.5 * 4.8?", Check("number", "84"), (("calculator", {"expression": "17.5 * 4.8"}),)),
    Task("wrong", "1 + 1?", Check("number", "2"), (("calculator", {"expression": {"regex": "1.*3"}}), ("search", {}))),
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
    assert [one.value for one in (right.right_tools, right.right_arguments) if one] == [1.0, 1.0]
    assert [one.value for one in (wrong.right_tools, wrong.right_arguments) if one] == [0.5, 0.0]
    assert later.right_tools is later.right_arguments is None
    assert wrong.format_errors.value == pytest.approx(1 / 3) and right.steps.value == 2


def test_a_run_that_raises_is_a_trial_that_failed_and_the_others_go_on(scripted: Any) -> None:
    def make_agent(task: Task) -> Agent:
        return Agent(scripted([RuntimeError("no such luck")] if task.id == "wrong" else ["It is 84."]))

    trials = {trial.task: trial for trial in asyncio.run(evaluate(TASKS[:2], make_agent, runs=1))}
    assert trials["right"].success and not trials["wrong"].success
    assert (trials["wrong"].status, trials["wrong"].reason) == ("exception", "RuntimeError: no such luck")


def test_only_the_named_tasks_are_run_but_what_they_need_is_done_before(scripted: Any) -> None:
    made = asyncio.run(evaluate(TASKS, lambda _: Agent(scripted(["It is 84.", "It is 8.4."])), only=["later"], runs=1))
    assert [(trial.task, trial.success) for trial in made] == [("later", True)]


def test_a_baseline_is_read_as_it_was_written(scripted: Any, tmp_path: Path) -> None:
    trials = run_tasks(scripted, runs=1)
    save_trials(tmp_path / "baseline.json", trials, model="scripted")
    assert load_trials(tmp_path / "baseline.json") == trials
    for text in ('{"task": "x"}', '{"trials": [{"task": "x", "colour": "red"}]}', "[", "3"):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(SuiteError, match=r"other\.json"):
            load_trials(tmp_path / "other.json")


def trials_of(task: str, won: int, of: int, format: str = "tools") -> list[Trial]:
    return [Trial(task=task, format=format, success=n < won, status="done", steps=3, tokens=100) for n in range(of)]


def dropped(now: list[Trial], before: list[Trial]) -> list[tuple[str | None, str | None]]:
    return [(change.task, change.format) for change in changes(now, before) if change.drop]


def test_a_drop_is_told_from_chance() -> None:
    before = trials_of("a", 20, 20) + trials_of("b", 18, 20)
    assert dropped(before, before) == []
    assert dropped(trials_of("a", 19, 20) + trials_of("b", 18, 20), before) == []
    now = trials_of("a", 8, 20) + trials_of("b", 18, 20)
    assert dropped(now, before) == [(None, None), ("a", "tools")]
    whole, one, other = changes(now, before)
    assert (one.before, one.now, other.before, other.now) == (1.0, 0.4, 0.9, 0.9)
    assert (whole.before, whole.now) == (pytest.approx(38 / 40), pytest.approx(26 / 40))
    assert changes(trials_of("new", 0, 20), before) == changes(trials_of("a", 0, 20, "react"), before) == []
    assert dropped(before, now) == [], "better is no drop"


def test_for_one_task_it_is_fishers_test_and_for_one_run_each_mcnemars() -> None:
    from scipy.stats import binom, fisher_exact

    (_, one) = changes(trials_of("a", 3, 10), trials_of("a", 8, 10))
    assert one.p == pytest.approx(fisher_exact([[3, 7], [8, 2]], alternative="less").pvalue)
    lost = [f"lost {n}" for n in range(6)]
    won, same = "won", [f"same {n}" for n in range(5)]
    before = [t for task in lost + same for t in trials_of(task, 1, 1)] + trials_of(won, 0, 1)
    now = [t for task in lost for t in trials_of(task, 0, 1)]
    now += [t for task in [*same, won] for t in trials_of(task, 1, 1)]
    whole = changes(now, before)[0]
    assert whole.p == pytest.approx(binom(7, 0.5).cdf(1))


def test_tasks_that_each_fall_a_little_are_a_drop_of_all() -> None:
    before = [t for n in range(10) for t in trials_of(str(n), 3, 3)]
    now = [t for n in range(10) for t in trials_of(str(n), 2, 3)]
    assert dropped(now, before) == [(None, None)]


def test_the_tables_name_every_format_and_task() -> None:
    now = trials_of("a", 1, 4) + trials_of("a", 4, 4, "react")
    before = trials_of("a", 4, 4)
    measures = score_table(now).markdown()
    assert "| mean of a run | tools | react |" in measures and "25.0 % [4.6, 69.9]" in measures
    assert "| a | 1 of 4 (was 100%, p = 0.071) | 4 of 4 |" in task_table(now, changes(now, before)).markdown()
    unknown = [Trial(task="a", format="tools", success=True, status="done", cost=None)]
    assert "unknown" in score_table(unknown).markdown()


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
        ("tasks: [{id: a, task: x, answer: {number: many}}]", "task 'a'"),
        ("tasks: [{id: a, task: x, answer: {regex: '('}}]", "task 'a'"),
        ("tasks: [{id: a, task: x, answer: {exact: 1, regex: b}}]", "one of"),
        ("tasks: [{id: a, task: x, answer: 1, colour: red}]", "colour"),
        ("tasks: [{id: a, task: x, answer: 1}, {id: a, task: x, answer: 1}]", "two tasks"),
        ("tasks: [{id: a, task: x, answer: 1, after: b}]", "'b'"),
        ("a: [", "line 1"),
        ("tasks: []", "no list"),
        ("tasks:\n- {id: a, task: x, answer: 1}\n- {id: b, task: x}", "line 3, task 'b': it has no 'answer'"),
        ("tasks:\n- {id: a, task: ' ', answer: {number: 1}}", "line 2, task 'a': the task is empty"),
        ("tasks: [{id: a, task: x, answer: {function: 'no.such.module:f'}}]", "no.such.module:f can't be loaded"),
        ("tasks: [{id: a, task: x, answer: {function: 'checks.py:f'}}]", "checks.py:f can't be loaded"),
        ("tasks: [{id: a, task: x, answer: 1, calls: [search]}]", "a call is"),
        ("tasks: [{id: a, task: x, answer: 1, calls: [{tool: t, arguments: {q: {regex: '('}}}]}]", "task 'a'"),
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
