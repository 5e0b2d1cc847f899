"""`carryforward eval`: the tasks of a suite, run by a model, scored, and compared with an earlier time."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from rich.table import Table

from .common import ApiKey, BaseUrl, ModelName, console, errors, in_one_line

if TYPE_CHECKING:
    from ...memory.tokens import Budget
    from ..agent import Agent
    from ..evaluation import Trial
    from ..model import ChatModel
    from ..score_tables import ScoreTable
    from ..scores import Change
    from ..suite import Task

Format = Literal["auto", "tools", "react", "bracket", "json"]
_FORMATS: tuple[Format, ...] = get_args(Format)
_NAMING = ("OPENAI_MODEL", "OPENAI_BASE_URL", "LLM_MODEL", "LLM_URL")
_BAD_INPUT = 2
_NO_ANSWER = ("error", "exception")


@in_one_line
def evaluate(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A YAML file, or `offline`: the packaged one.")] = (
        "offline"
    ),
    base_url: BaseUrl = None,
    model: ModelName = None,
    api_key: ApiKey = None,
    formats: Annotated[
        list[str] | None, typer.Option("--format", metavar="|".join(_FORMATS), help="How to reply; may be repeated.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each task.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at the same time.")] = 2,
    task: Annotated[list[str] | None, typer.Option(help="Only the task of this id; may be repeated.")] = None,
    budget: Annotated[int, typer.Option(help="Tokens of one context, the reply not counted.")] = 24_000,
    reply: Annotated[int, typer.Option(min=0, help="Tokens of one reply at most; 0: the server decides.")] = 0,
    max_steps: Annotated[int, typer.Option(min=1, help="Model calls of one run at most.")] = 60,
    max_seconds: Annotated[float | None, typer.Option(help="Seconds of one run at most.")] = None,
    constrain: Annotated[
        Literal["grammar", "json_schema"] | None, typer.Option(help="Have the server hold text replies to their form.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=JSON", help="Sent with each request, e.g. temperature=0.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="Compare with the trials that --save wrote here.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write all trials here (JSON).")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the tables here (Markdown).")] = None,
) -> None:
    """Measure a model on a suite of tasks: success, tool calls, steps, unusable replies, tokens and cost.

    Where no model is named, the packaged suite is run by a stand-in that knows what to do, but takes all figures of
    documents from the messages it is sent: that measures not a model, but all that stands around one.

    With --baseline, each task is compared with before: exit code 1 says that the success rate has dropped by more than
    chance explains, in all tasks together or in one of them (exact tests, one-sided, at 5 %). Exit code 2: the suite,
    the baseline or an option can't be used, or the model server answered no run. A suite's `function` checks are
    Python code, which is run: evaluate only suites that you trust.
    """
    from ...memory.tokens import Budget
    from ..errors import ModelError
    from ..evaluation import load_trials, save_trials
    from ..formats import reply_format
    from ..model import ChatModel
    from ..score_tables import score_table, task_table
    from ..scores import changes
    from ..suite import OFFLINE_SUITE, load_suite

    try:
        path = OFFLINE_SUITE if suite == "offline" else Path(suite)
        tasks = load_suite(path)
        only = _known(task or [], tasks, path)
        before = load_trials(baseline) if baseline else []
        names: list[Format] = [_format(name) for name in dict.fromkeys(formats or ["tools"])]
        options = _options(option or [])
        settings = {"max_steps": max_steps, "max_seconds": max_seconds, "constrain": constrain, "options": options}
        if constrain is not None:
            for name in names:
                reply_format("react" if name == "auto" else name).constraint((), constrain)
        stand_in = path == OFFLINE_SUITE and not (model or base_url or any(map(os.environ.get, _NAMING)))
        serving = _stand_in() if stand_in else nullcontext(ChatModel(model, base_url=base_url, api_key=api_key))
    except (ValueError, ModelError) as error:
        raise _stopped(str(error)) from error
    if baseline and not {(t.task, t.format) for t in before} & {(one, name) for one in only for name in names}:
        raise _stopped(f"baseline {baseline}: it has none of these tasks in the format {', '.join(names)}")
    with serving as chat, TemporaryDirectory(prefix="carryforward-eval-", ignore_cleanup_errors=True) as folder:
        workshop = _Workshop(chat, Path(folder), Budget(budget + reply, reply), settings)
        trials = asyncio.run(_run_all(workshop, chat, tasks, only, names, runs, jobs))
    compared = changes(trials, before)
    tables = [score_table(trials), task_table(trials, compared)]
    for table in tables:
        console.print(_rich(table))
    if save:
        save_trials(save, trials, suite=str(suite), model=chat.model, runs=runs, budget=budget, reply=reply, **settings)
    if out:
        out.write_text("\n".join(table.markdown() for table in tables), "utf-8")
    if all(trial.status in _NO_ANSWER for trial in trials):
        raise _stopped(f"no run was answered; the first: {trials[0].reason}")
    raise typer.Exit(_verdict(compared))


class _Workshop:
    """Makes the agents: each with the suite's tools, and a memory and notes of its own."""

    def __init__(self, chat: ChatModel, folder: Path, budget: Budget, settings: dict[str, Any]) -> None:
        from ...memory.long_term import SentenceTransformerEmbedder

        self._chat, self._folder, self._budget, self._settings = chat, folder, budget, settings
        self._embedder = SentenceTransformerEmbedder()
        self._made = 0

    def maker(self, format: Format) -> Callable[[Task], Agent]:
        """What makes the agent of one trial in this format."""
        return lambda task: self._agent(task, format)

    def _agent(self, task: Task, format: Format) -> Agent:
        from ...memory.long_term import LongTermMemory
        from ...memory.memory import Memory
        from ...tools.calculator import calculator
        from ...tools.corpus import corpus_tools
        from ...tools.examples import get_weather, read_manual
        from ...tools.notes import note_tools
        from ..agent import Agent

        self._made += 1
        place = self._folder / str(self._made)
        earlier = LongTermMemory(place / "long-term", embedder=self._embedder) if task.after else None
        notes = [tool for tool in note_tools(place / "notes") if tool.name == "save_note"]
        return Agent(
            self._chat,
            [calculator, *corpus_tools(), get_weather, read_manual, *notes],
            memory=Memory(self._budget, long_term=earlier),
            format=format,
            allow=["save_note"],
            **self._settings,
        )


async def _run_all(
    workshop: _Workshop,
    chat: ChatModel,
    tasks: list[Task],
    only: list[str],
    formats: list[Format],
    runs: int,
    jobs: int,
) -> list[Trial]:
    from .. import evaluation

    trials: list[Trial] = []
    whole, done = len(only) * len(formats) * runs, 0

    def watch(trial: Trial) -> None:
        nonlocal done
        done += 1
        errors.print(f"{done:>4}/{whole} {_line(trial)}", markup=False, highlight=False, soft_wrap=True)

    async with chat:
        for name in formats:
            trials += await evaluation.evaluate(
                tasks, workshop.maker(name), only=only, runs=runs, parallel=jobs, format=name, watch=watch
            )
    return trials


def _line(trial: Trial) -> str:
    verdict = "right" if trial.success else "wrong"
    line = f"{trial.format:<7} {trial.task:<18} {verdict}  {trial.status}, {trial.steps} steps, {trial.seconds:.1f} s"
    return f"{line}: {' '.join(trial.reason.split())[:160]}" if trial.reason else line


def _verdict(compared: list[Change]) -> int:
    """Says what has dropped; the exit code."""
    dropped = [change for change in compared if change.drop]
    for change in dropped:
        what = f"task {change.task} ({change.format})" if change.task else "all tasks together"
        said = f"dropped: {what}, from {change.before:.0%} to {change.now:.0%} right, p = {change.p:.2g}"
        console.print(said, style="red", markup=False, highlight=False)
    if compared and not dropped:
        whole = compared[0]
        said = f"no significant drop: {whole.before:.1%} right before, {whole.now:.1%} now, p = {whole.p:.2g}"
        console.print(said, markup=False, highlight=False)
    return 1 if dropped else 0


def _known(ids: list[str], tasks: list[Task], path: Path) -> list[str]:
    """These ids, or those of all tasks where none is named."""
    from ..suite import SuiteError

    known = [task.id for task in tasks]
    if unknown := [name for name in ids if name not in known]:
        raise SuiteError(f"suite {path}: it has no task {', '.join(unknown)}; it has {', '.join(known)}")
    return ids or known


def _format(name: str) -> Format:
    for known in _FORMATS:
        if name == known:
            return known
    raise _stopped(f"--format {name}: it is one of {', '.join(_FORMATS)}")


def _options(given: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        try:
            options[name.strip()] = json.loads(value)
        except ValueError as error:
            raise _stopped(f"--option {one}: write NAME=JSON, such as temperature=0 ({error})") from error
        if not equals or not name.strip():
            raise _stopped(f"--option {one}: write NAME=JSON, such as temperature=0")
    return options


@contextmanager
def _stand_in() -> Generator[ChatModel]:
    """The stand-in, with its plans for the packaged suite."""
    from ..demo.errands import errands
    from ..demo.standin import MODEL, StandIn
    from ..model import ChatModel

    with StandIn(errands()) as server:
        yield ChatModel(MODEL, base_url=server.base_url, api_key="")


def _rich(table: ScoreTable) -> Table:
    shown = Table(show_edge=False)
    for number, head in enumerate(table.heads):
        shown.add_column(head, justify="right" if number else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    return shown


def _stopped(why: str) -> typer.Exit:
    errors.print(f"carryforward: {' '.join(why.split())}", style="red", markup=False, highlight=False, soft_wrap=True)
    return typer.Exit(_BAD_INPUT)
