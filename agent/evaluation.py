"""Evaluation: the tasks of a suite, each run several times, and what came of every run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from .agent import Agent
from .events import Event, Finished, ToolCalled
from .guards import canonical_json
from .result import RunResult
from .suite import SuiteError, Task

Calls = Sequence[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of one task.

    `status` is that of the run, or `exception` where something raised, which `reason` then names. `right_tools` is the
    share of the wanted calls whose tool was called, `right_arguments` the share of those that name arguments which was
    called with these; None where the task names none. `cost` is None where a price is not known.
    """

    task: str
    format: str
    success: bool
    status: str
    answer: str = ""
    reason: str = ""
    steps: int = 0
    right_tools: float | None = None
    right_arguments: float | None = None
    format_errors: float = 0.0
    tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0


async def evaluate(
    tasks: Sequence[Task],
    make_agent: Callable[[Task], Agent],
    *,
    only: Collection[str] | None = None,
    runs: int = 3,
    parallel: int = 2,
    format: str = "tools",
    watch: Callable[[Trial], None] = lambda _: None,
) -> list[Trial]:
    """Run each task, or those of the ids in `only`, `runs` times, `parallel` at once; `watch` is told of each trial.

    `make_agent` gives a fresh agent for a task, with a memory of its own, which is closed after the trial: agents of
    different trials must not share what they remember. A task with `after` is run by the agent that has just done the
    tasks before it. `format` is what the trials are labelled with. A run that raises is a trial that failed; the others
    go on.
    """
    by_id = {task.id: task for task in tasks}
    slots = asyncio.Semaphore(parallel)

    async def one(task: Task) -> Trial:
        async with slots:
            try:
                agent = make_agent(task)
                with contextlib.closing(agent.memory):
                    trial = await _try(agent, _before(task, by_id), task, format)
            except Exception as error:  # noqa: BLE001 - whatever a run or a check raises is what came of the trial
                reason = f"{type(error).__name__}: {error}"
                trial = Trial(task=task.id, format=format, success=False, status="exception", reason=reason, cost=None)
            watch(trial)
            return trial

    return await asyncio.gather(*(one(task) for task in tasks if only is None or task.id in only for _ in range(runs)))


def save_trials(path: str | Path, trials: Iterable[Trial], **about: Any) -> None:
    """Write trials as a baseline to compare with later: a JSON object with `about` (model, suite, …) and `trials`."""
    body = {"about": about, "trials": [asdict(trial) for trial in trials]}
    Path(path).write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", "utf-8")


def load_trials(path: str | Path) -> list[Trial]:
    """Read what `save_trials` wrote.

    Raises:
        SuiteError: the file can't be read, or what it holds are no trials.
    """
    try:
        return [Trial(**one) for one in json.loads(Path(path).read_text("utf-8"))["trials"]]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SuiteError(f"baseline {path}: {error}; make it anew with --save") from error


async def _try(agent: Agent, earlier: Sequence[Task], task: Task, format: str) -> Trial:
    for one in earlier:
        await agent.arun(one.task)
    events: list[Event] = [event async for event in agent.stream(task.task)]
    result = cast(Finished, events[-1]).result
    made = [(event.name, event.arguments) for event in events if isinstance(event, ToolCalled)]
    return Trial(
        task=task.id,
        format=format,
        success=result.status == "done" and task.check.passes(result.answer),
        status=result.status,
        answer=result.answer,
        reason=result.reason,
        steps=result.steps,
        right_tools=_share_made([(tool, {}) for tool, _ in task.calls], made),
        right_arguments=_share_made([call for call in task.calls if call[1]], made),
        format_errors=_unreadable(agent, result),
        tokens=result.usage.tokens,
        cost=result.usage.cost,
        seconds=result.usage.seconds,
    )


def _unreadable(agent: Agent, result: RunResult) -> float:
    """The share of a run's replies that could not be used."""
    replies = agent.memory.journal.entries(result.run_id, "reply")
    return sum(entry.body["problem"] is not None for entry in replies) / max(1, len(replies))


def _share_made(wanted: Calls, made: Calls) -> float | None:
    """The share of the wanted calls that were made; each call that was made stands for one wanted call only."""
    left, found = list(made), 0
    for tool, arguments in wanted:
        match = next((call for call in left if call[0] == tool and _fits(arguments, call[1])), None)
        if match is not None:
            left.remove(match)
            found += 1
    return found / len(wanted) if wanted else None


def _fits(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return all(name in given and _equal(value, given[name]) for name, value in wanted.items())


def _equal(wanted: Any, given: Any) -> bool:
    if isinstance(wanted, dict):
        return re.search(str(cast(dict[str, Any], wanted)["regex"]), str(given)) is not None
    return _squeezed(wanted) == _squeezed(given)


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
