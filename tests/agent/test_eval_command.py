"""`carryforward eval` as it is typed, against a scripted server on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from carryforward.agent.cli import app
from carryforward.agent.demo.errands import errands
from carryforward.agent.suite import OFFLINE_SUITE, load_suite
from typer.testing import CliRunner, Result

from .scripted_server import Entry, ScriptedServer, answer, failure

SUITE = """
tasks:
  - id: product
    task: What is 6 times 7?
    answer: {number: 42}
    calls: [{tool: calculator, arguments: {expression: 6*7}}]
  - {id: note, task: "Save the word tide.", answer: {regex: "(?i)saved"}, calls: [{tool: save_note}]}
"""
LATER = """\
  - id: again
    after: product
    task: Earlier you said what 6 times 7 is. What is a tenth of it?
    answer: {number: 4.2}
"""


@pytest.fixture(autouse=True)
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARRYFORWARD_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "LLM_URL", "LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE)
    return path


def say(*said: Any, **more: Any) -> Entry:
    return answer(*said, usage="missing", **more)


class Solver:
    """Answers by what the request shows, natively or in ReAct text; `fails` are words of tasks it gets wrong."""

    def __init__(self) -> None:
        self.fails = ""
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Entry:
        self.bodies.append(body)
        messages = body["messages"]
        task = next(message["content"] for message in messages if message["role"] == "user")
        called = any(message["role"] == "assistant" for message in messages)
        if self.fails and self.fails in task:
            return say("It is 1." if "tools" in body else "Final Answer: It is 1.")
        if "tenth" in task:
            said: Any = "It is 4.2." if "42" in json.dumps(messages) else "I do not know."
        elif called:
            said = "It is 42." if "6 times 7" in task else "It is saved."
        elif "6 times 7" in task:
            said = ("calculator", {"expression": "6 * 7"})
        else:
            said = ("save_note", {"title": "tide", "body": "tide"})
        if "tools" in body:
            return say(said) if isinstance(said, str) else say(calls=[said])
        if isinstance(said, str):
            return say(f"Thought: done\nFinal Answer: {said}")
        return say(f"Thought: do it\nAction: {said[0]}\nAction Input: {json.dumps(said[1])}")


@pytest.fixture
def solver() -> Solver:
    return Solver()


@pytest.fixture
def server(solver: Solver) -> Iterator[ScriptedServer]:
    with ScriptedServer(solver) as server:
        yield server


def evaluate(server: ScriptedServer, *arguments: str | Path) -> Result:
    known = ["--model", "m", "--base-url", server.base_url, "--api-key", "sk-none"]
    return CliRunner().invoke(app, ["eval", *map(str, arguments), *known])


def row(result: Result, name: str) -> str:
    return next(line for line in result.stdout.splitlines() if line.strip().startswith(name))


def test_a_suite_is_run_in_each_format_and_the_table_says_how_well(
    server: ScriptedServer, suite: Path, tmp_path: Path
) -> None:
    saved, out = tmp_path / "trials.json", tmp_path / "table.md"
    files = ["--save", saved, "--out", out]
    result = evaluate(server, suite, "--format", "tools", "--format", "react", "--runs", "2", *files)
    assert result.exit_code == 0, result.output
    assert row(result, "runs").count("4") == 2
    assert row(result, "success").count("100.0 %") == row(result, "right arguments").count("100.0 %") == 2
    assert row(result, "US dollars").count("unknown") == 2
    assert row(result, "note").count("2 of 2") == 2
    assert "8/8" in result.stderr and "right  done" in result.stderr
    body = json.loads(saved.read_text())
    assert body["about"]["model"] == "m" and len(body["trials"]) == 8
    assert out.read_text().startswith("| mean of a run | tools | react |")


def test_the_server_is_told_the_form_of_replies_where_that_is_asked_for(
    server: ScriptedServer, solver: Solver, suite: Path
) -> None:
    result = evaluate(server, suite, "--format", "react", "--constrain", "grammar", "--runs", "1")
    assert result.exit_code == 0, result.output
    assert all("calculator" in body["grammar"] for body in solver.bodies)
    assert evaluate(server, suite, "--format", "tools", "--constrain", "grammar").exit_code == 2


def test_a_task_may_need_what_an_earlier_one_found_out(server: ScriptedServer, solver: Solver, suite: Path) -> None:
    suite.write_text(SUITE + LATER)
    result = evaluate(server, suite, "--task", "again", "--runs", "1")
    assert "1 of 1" in row(result, "again"), result.output
    assert "6 times 7" in solver.bodies[-1]["messages"][-1]["content"]


def test_a_drop_against_the_baseline_is_named_and_is_exit_code_1(
    server: ScriptedServer, solver: Solver, suite: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "baseline.json"
    assert evaluate(server, suite, "--runs", "5", "--save", saved).exit_code == 0
    same = evaluate(server, suite, "--runs", "5", "--baseline", saved)
    assert same.exit_code == 0 and "no significant drop" in same.stdout
    solver.fails = "tide"
    worse = evaluate(server, suite, "--runs", "5", "--baseline", saved)
    assert worse.exit_code == 1
    assert "DROP" in row(worse, "note") and "DROP" not in row(worse, "product")
    assert "dropped: all tasks together" in worse.stdout and "dropped: task note (tools)" in worse.stdout


def test_a_server_that_fails_for_one_task_ends_only_that_one(
    server: ScriptedServer, solver: Solver, suite: Path
) -> None:
    whole = solver.__call__

    def broken(body: dict[str, Any]) -> Entry:
        tide = "tide" in json.dumps(body["messages"])
        return failure(400, {"message": "bad request"}) if tide else whole(body)

    with ScriptedServer(broken) as other:
        result = evaluate(other, suite, "--runs", "1")
    assert result.exit_code == 0
    assert "0 of 1" in row(result, "note") and "1 of 1" in row(result, "product")
    assert "error 1" in row(result, "ended as") and "bad request" in result.stderr


def test_options_and_the_room_of_the_reply_reach_the_server(
    server: ScriptedServer, solver: Solver, suite: Path
) -> None:
    assert evaluate(server, suite, "--task", "product", "--option", "temperature=0", "--reply", "300").exit_code == 0
    assert {body["temperature"] for body in solver.bodies} == {0}
    assert {body["max_tokens"] for body in solver.bodies} == {300}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.yaml"], "none.yaml"),
        (["suite.yaml", "--baseline", "none.json"], "none.json"),
        (["suite.yaml", "--option", "temperature"], "NAME=JSON"),
        (["suite.yaml", "--task", "nope"], "no task nope; it has product, note"),
        (["broken.yaml"], "broken.yaml, line 2, task 'a': it has no 'answer'"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line_with_exit_code_2(
    server: ScriptedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text("tasks:\n- {id: a, task: x}\n")
    result = evaluate(server, *arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert says in line and server.requests == []


def test_a_baseline_of_other_tasks_and_a_server_that_answers_nothing_are_exit_code_2(
    server: ScriptedServer, suite: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "baseline.json"
    evaluate(server, suite, "--runs", "1", "--save", saved)
    other = evaluate(server, suite, "--baseline", saved, "--format", "react")
    assert other.exit_code == 2 and "none of these tasks" in other.stderr
    with ScriptedServer(lambda _: failure(401, {"message": "who are you?"})) as closed:
        result = evaluate(closed, suite, "--runs", "1")
    assert result.exit_code == 2 and "no run was answered" in result.stderr and "who are you?" in result.stderr


def test_without_a_model_the_stand_in_runs_the_packaged_suite_in_every_format() -> None:
    formats = [part for name in ("tools", "react", "bracket", "json") for part in ("--format", name)]
    chosen = ["percent", "dams", "concurrency-note", "bridge-zh", "zero", "translate"]
    tasks = [part for name in chosen for part in ("--task", name)]
    result = CliRunner().invoke(app, ["eval", "offline", "--runs", "1", *formats, *tasks])
    assert result.exit_code == 0, result.output
    for name in chosen:
        assert row(result, name).count("1 of 1") == 4, result.output
    assert row(result, "right tool").count("100.0 %") == 4


def test_the_stand_in_has_a_plan_for_every_task_and_no_figure_of_its_own() -> None:
    for task, errand in zip(load_suite(OFFLINE_SUITE), errands(), strict=True):
        said = " ".join([errand.answer, *(str(value) for _, given in errand.calls for value in given.values())])
        if any(tool in ("fetch", "read_manual", "get_weather") for tool, _ in errand.calls):
            assert not set(re.findall(r"\d[\d.]*", said)) & set(re.findall(r"\d[\d.]+", task.check.wanted)), task.id
