"""`carryforward run` and `carryforward approve`: work on a task, and answer what a run asks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from .common import ApiKey, BaseUrl, ModelName, console, data_folder, errors, in_one_line, journal_path

if TYPE_CHECKING:
    from ...memory import Memory
    from ...tools import Tool
    from ..agent import Agent
    from ..result import RunResult

Format = Literal["auto", "tools", "react", "bracket", "json"]
_ENDED_WELL = ("done", "waiting")


@in_one_line
def run(
    task: Annotated[str | None, typer.Argument(help="What is to be done; not with --resume.")] = None,
    resume: Annotated[str | None, typer.Option(help="Take up this run instead of beginning one.")] = None,
    base_url: BaseUrl = None,
    model: ModelName = None,
    api_key: ApiKey = None,
    budget: Annotated[int, typer.Option(help="Tokens of one context.")] = 24_000,
    reply_format: Annotated[Format, typer.Option("--format", help="How the model replies.")] = "auto",
    max_steps: Annotated[int, typer.Option(help="Model calls at most.")] = 50,
    documents: Annotated[
        Path | None, typer.Option(help="Folder for search and fetch; the packaged corpus by default.")
    ] = None,
    files: Annotated[list[Path] | None, typer.Option(help="Folder that the model may read; may be repeated.")] = None,
    allow: Annotated[list[str] | None, typer.Option(help="Tool that may write or execute unasked.")] = None,
    ask: Annotated[
        Literal["terminal", "journal", "never"], typer.Option(help="Who is asked before other such calls.")
    ] = "terminal",
    remember: Annotated[bool, typer.Option(help="Recall earlier outcomes, and keep this one.")] = True,
) -> None:
    """Work on a task with a model server, and print the steps as they are made."""
    if (task is None) == (resume is None):
        raise typer.BadParameter("give a task, or --resume RUN")
    from ...memory import LongTermMemory, Memory
    from ..agent import Agent
    from ..model import ChatModel

    long_term = LongTermMemory(data_folder() / "long-term") if remember else None
    memory = Memory(budget, long_term=long_term, journal=journal_path())
    agent = Agent(
        ChatModel(model, base_url=base_url, api_key=api_key),
        _tools(memory, documents, files or []),
        memory=memory,
        format=reply_format,
        max_steps=max_steps,
        allow=allow or [],
        approve=None if ask == "never" else ask,
    )
    result = asyncio.run(_watch(agent, memory, task, resume))
    memory.close()
    console.rule()
    console.print(result.answer, markup=False, highlight=False)
    console.print(_last_line(result), style="dim", markup=False, highlight=False)
    raise typer.Exit(0 if result.status in _ENDED_WELL else 1)


def _tools(memory: Memory, documents: Path | None, files: list[Path]) -> list[Tool]:
    from ...tools.calculator import calculator
    from ...tools.corpus import corpus_tools
    from ...tools.files import file_tools
    from ...tools.notes import note_tools

    tools = [*corpus_tools(documents), calculator, *note_tools(data_folder() / "notes")]
    return tools + (file_tools(files) if files else [])


async def _watch(agent: Agent, memory: Memory, task: str | None, run_id: str | None) -> RunResult:
    from ..demo.show import Show
    from ..events import Finished

    show = Show(console, memory)
    async for event in agent.stream(task, run_id=run_id):
        show.event(event)
        if isinstance(event, Finished):
            return event.result
    raise RuntimeError("a run ends with Finished or raises")


def _last_line(result: RunResult) -> str:
    parts = [result.status, f"{result.steps} steps", f"run {result.run_id}"]
    if result.reason:
        parts.append(result.reason)
    if result.unsupported:
        parts.append("figures without a source: " + ", ".join(figure.text for figure in result.unsupported))
    parts += [f"waits for an answer: carryforward approve {result.run_id}" for _ in result.pending[:1]]
    return " | ".join(parts)


@in_one_line
def approve(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run that waits.")],
    deny: Annotated[str | None, typer.Option(help="Deny, for this reason.")] = None,
    arguments: Annotated[str | None, typer.Option(help="Allow with these arguments instead (JSON object).")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Allow without asking here.")] = False,
) -> None:
    """Answer what a run has asked; `carryforward run --resume RUN` then goes on with it."""
    from ...memory.journal import Journal
    from ..approval import Allow, Change, Decision, Deny, answer, ask_terminal, pending_actions

    with Journal(journal_path()) as journal:
        open_questions = pending_actions(journal, run_id)
        if not open_questions:
            errors.print(f"carryforward: run {run_id} asks nothing", style="red", markup=False)
            raise typer.Exit(1)
        for action in open_questions:
            console.print(action.describe(), markup=False)
            decision: Decision
            if deny is not None:
                decision = Deny(deny)
            elif arguments is not None:
                decision = Change(_object(arguments))
            else:
                decision = Allow() if yes else asyncio.run(ask_terminal(action))
            answer(journal, run_id, action.id, decision)
    console.print(f"go on with: carryforward run --resume {run_id}", markup=False, highlight=False)


def _object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--arguments is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise typer.BadParameter("--arguments must be a JSON object")
    return cast(dict[str, Any], value)
