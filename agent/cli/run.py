"""`carryforward run` and `carryforward approve`: work on a task, and answer what a run asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from .common import ApiKey, BaseUrl, ModelName, console, data_folder, errors, in_one_line, journal_path

if TYPE_CHECKING:
    from ...memory import Memory
    from ..agent import Agent
    from ..model import ChatModel
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
    web: Annotated[
        bool,
        typer.Option(
            "--web",
            help="Search the web and read pages. The service is the first one named by SEARXNG_URL, BRAVE_API_KEY "
            "or TAVILY_API_KEY; without one, only the documents are searched.",
        ),
    ] = False,
    python: Annotated[bool, typer.Option("--python", help="Let the model run Python code in a sandbox.")] = False,
    mcp: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERVER",
            help="Use the tools of an MCP server, given as a command line (such as 'npx some-server') or an "
            "address; may be repeated.",
        ),
    ] = None,
    trust_mcp: Annotated[
        bool, typer.Option("--trust-mcp", help="Believe MCP servers which of their tools only read: those run unasked.")
    ] = False,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="TOOL", help="Tool that may write or execute unasked; may be repeated.")
    ] = None,
    ask: Annotated[
        Literal["terminal", "journal", "never"],
        typer.Option(help="Who is asked before other tools write or execute; never: they are refused."),
    ] = "terminal",
    remember: Annotated[bool, typer.Option(help="Recall earlier outcomes, and keep this one.")] = True,
) -> None:
    """Work on a task with a model server, and print the steps as they are made.

    The model can search and read documents, calculate, convert units, tell the time, and keep notes. Options give it
    more: --files, --web, --python, --mcp. What writes or executes is asked about first, see --ask and --allow.
    """
    if (task is None) == (resume is None):
        raise typer.BadParameter("give a task, or --resume RUN")
    from ...memory import LongTermMemory, Memory
    from ..agent import Agent
    from ..model import ChatModel
    from .run_tools import chosen_tools, hide_secrets, opening_line

    with contextlib.ExitStack() as stack:
        tools = chosen_tools(
            stack,
            notes=data_folder() / "notes",
            documents=documents,
            files=files or [],
            web=web,
            python=python,
            mcp=mcp or [],
            trust_mcp=trust_mcp,
        )
        opening = opening_line(tools, allow or [], asked=ask != "never")
        long_term = LongTermMemory(data_folder() / "long-term") if remember else None
        memory = Memory(budget, long_term=long_term, journal=journal_path())
        stack.callback(memory.close)
        hide_secrets(memory.journal)
        chat = ChatModel(model, base_url=base_url, api_key=api_key)
        agent = Agent(
            chat,
            tools,
            memory=memory,
            format=reply_format,
            max_steps=max_steps,
            allow=allow or [],
            approve=None if ask == "never" else ask,
        )
        console.print(opening, style="dim", markup=False, highlight=False, soft_wrap=True)
        result = asyncio.run(_watch(agent, chat, memory, task, resume))
    console.rule()
    console.print(result.answer, markup=False, highlight=False)
    console.print(_last_line(result), style="dim", markup=False, highlight=False)
    raise typer.Exit(0 if result.status in _ENDED_WELL else 1)


async def _watch(agent: Agent, chat: ChatModel, memory: Memory, task: str | None, run_id: str | None) -> RunResult:
    from ..demo.show import Show
    from ..events import Finished

    show = Show(console, memory)
    async with contextlib.aclosing(chat), contextlib.aclosing(agent.stream(task, run_id=run_id)) as events:
        async for event in events:
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
