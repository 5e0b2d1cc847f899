"""Evaluation: the tasks of a suite, each run several times, and what came of every run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .agent import Agent
from .events import Finished, ToolCalled
from .guards import canonical_json
from .result import RunResult
from .suite import SuiteError, Task


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one task. `calls_right` is the share of the wanted calls that were made, None where none are named."""

    task: str
    success: bool
    status: str
    answer: str
    steps: int
    calls_right: float | None
    format_errors: float
    tokens: int
    cost: float
    seconds: float


async def evaluate(
    tasks: Sequence[Task],
    make_agent: Callable[[Task], Agent],
    *,
    runs: int = 3,
    parallel: int = 2,
    watch: Callable[[Trial], None] = lambda _: None,
) -> list[Trial]:
    """Run each task `runs` times, `parallel` of them at once; `watch` is told of each trial when it is over.

    `make_agent` gives a fresh agent for a task, with a memory of its own: agents of different trials must not share
    what they remember. A task with `after` is run by the agent that has just done the tasks before it.
    """
    by_id = {task.id: task for task in tasks}
    slots = asyncio.Semaphore(parallel)

    async def one(task: Task) -> Trial:
        async with slots:
            agent = make_agent(task)
            for earlier in _before(task, by_id):
                await agent.arun(earlier.task)
            trial = await _try(agent, task)
            watch(trial)
            return trial

    return await asyncio.gather(*(one(task) for task in tasks for _ in range(runs)))


def save_trials(path: str | Path, trials: Iterable[Trial]) -> None:
    """Write trials as a baseline to compare with later: one JSON object a line."""
    text = "".join(json.dumps(asdict(trial), ensure_ascii=False) + "\n" for trial in trials)
    Path(path).write_text(text, "utf-8")


def load_trials(path: str | Path) -> list[Trial]:
    """Read what `save_trials` wrote.

    Raises:
        SuiteError: the file can't be read, or a line of it is no trial.
    """
    try:
        lines = Path(path).read_text("utf-8").splitlines()
        return [Trial(**json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError, TypeError) as error:
        raise SuiteError(f"baseline {path}: {error}; make it anew with --save") from error


async def _try(agent: Agent, task: Task) -> Trial:
    made: list[tuple[str, Mapping[str, Any]]] = []
    result: RunResult | None = None
    async for event in agent.stream(task.task):
        if isinstance(event, ToolCalled):
            made.append((event.name, event.arguments))
        elif isinstance(event, Finished):
            result = event.result
    assert result is not None, "a run ends with Finished or raises"
    replies = agent.memory.journal.entries(result.run_id, "reply")
    return Trial(
        task=task.id,
        success=result.status == "done" and task.check.passes(result.answer),
        status=result.status,
        answer=result.answer,
        steps=result.steps,
        calls_right=_share_made(task.calls, made) if task.calls else None,
        format_errors=sum(entry.body["problem"] is not None for entry in replies) / max(1, len(replies)),
        tokens=result.usage.tokens,
        cost=result.usage.cost,
        seconds=result.usage.seconds,
    )


def _share_made(
    wanted: Sequence[tuple[str, Mapping[str, Any]]], made: Sequence[tuple[str, Mapping[str, Any]]]
) -> float:
    """The share of the wanted calls that were made; each call that was made stands for one wanted call only."""
    left, found = list(made), 0
    for tool, arguments in wanted:
        match = next((call for call in left if call[0] == tool and _fits(arguments, call[1])), None)
        if match is not None:
            left.remove(match)
            found += 1
    return found / len(wanted)


def _fits(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return all(name in given and _squeezed(value) == _squeezed(given[name]) for name, value in wanted.items())


def _squeezed(value: Any) -> str:
    text = value if isinstance(value, str) else canonical_json(value)
    return "".join(text.split()).casefold()


def _before(task: Task, by_id: Mapping[str, Task]) -> list[Task]:
    """The tasks that come before one, in the order to do them."""
    earlier: list[Task] = []
    while task.after is not None:
        task = by_id[task.after]
        earlier.insert(0, task)
    return earlier
