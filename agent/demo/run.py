"""The packaged demo: two tasks one after the other, or one of the walk-throughs, with everything real but the model."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from ...memory.journal import Journal
from ...memory.long_term import LongTermMemory
from ...memory.memory import Memory
from ...tools import Tool
from ...tools.calculator import calculator
from ...tools.corpus import PACKAGED, corpus_tools
from ...tools.examples import get_weather, read_manual
from ...tools.memory_tools import lookup_tool
from ...tools.notes import note_tools
from ..agent import Agent
from ..events import Finished
from ..formats.base import FormatName, Language
from ..model import ChatModel
from ..result import RunResult
from .check import Expected
from .followup import FollowUp
from .report import missing_figures, print_remembered, print_report
from .research import Comparison
from .show import Show
from .standin import MODEL, Plan, StandIn
from .tasks import comparison, follow_up
from .walkthroughs import WALKTHROUGHS, Walkthrough, walkthrough

BUDGET = 3000
"""Tokens of the demo's context."""
DOCUMENT_SIZE = 8_000
"""Characters that one fetch of the long task brings: a whole document, far more than its context has room for."""
PAGE_SIZE: dict[Language, int] = {"en": 2_400, "zh": 700}
"""Characters that one fetch of a walk-through brings: about 600 tokens in either language, so that none is clamped."""
RECALL_SHARE = 0.35  # of the budget: a table of many figures is what the second task wants back
MAX_STEPS = 150


@dataclass(frozen=True, slots=True)
class Place:
    """Where a demo keeps what outlives a run: outcomes, journal and notes; and where its documents are."""

    data: Path
    documents: Path = PACKAGED

    def memory(self, budget: int, *, long_term: bool = True) -> Memory:
        """A memory in this place."""
        return Memory(
            budget,
            long_term=LongTermMemory(self.data / "long-term") if long_term else None,
            journal=Journal(self.data / "journal.sqlite3"),
            recall_tokens=int(budget * RECALL_SHARE),
        )

    def tools(self, memory: Memory, page_size: int = DOCUMENT_SIZE) -> list[Tool]:
        """What a researcher needs: documents, calculator, notes, and the way back to what left the context."""
        return [
            *corpus_tools(self.documents, page_size=page_size),
            calculator,
            *(tool for tool in note_tools(self.data / "notes") if tool.name == "save_note"),
            lookup_tool(memory),
        ]


def run_demo(
    *,
    base_url: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
    language: Language = "en",
    example: str | None = None,
    budget: int = BUDGET,
    data_dir: Path | None = None,
    console: Console | None = None,
) -> int:
    """Run the demo's two tasks, or the walk-through named by `example`, and print them as they go.

    Without `base_url` and `model` the stand-in model answers, over HTTP on loopback. Outcomes, journal and notes go to
    `data_dir`, or to a temporary folder. Returns the exit code: 0 if every run ended with an answer whose figures are
    right by the documents.

    Raises:
        ValueError: there is no example of that name.
        BudgetError: the budget leaves no room beside system prompt and tools.
    """
    console = console or Console()
    example_of_that_name = walkthrough(example) if example else None
    plans: list[Plan] = [FollowUp(), Comparison(), *WALKTHROUGHS]
    with _place(data_dir) as place, _chat(plans, base_url, model, api_key) as chat:
        if example_of_that_name:
            result = _run_example(chat, example_of_that_name, language, place, budget, console)
            return 0 if _is_right(result, example_of_that_name.expected) else 1
        memory = place.memory(budget)
        good = True
        for task in (comparison(language), follow_up(language)):
            expected = task.expected(place.documents)
            result = _run(chat, task.text, expected, memory, place.tools(memory), "tools", console)
            good = good and _is_right(result, expected)
            if result.status == "error":
                break
        print_remembered(console, memory)
        memory.close()
        return 0 if good else 1


def work(
    chat: ChatModel, task: str, memory: Memory, tools: Sequence[Tool], form: FormatName, console: Console
) -> RunResult:
    """Let an agent work on a task, printing its steps."""
    agent = Agent(chat, tools, memory=memory, format=form, max_steps=MAX_STEPS, allow=["save_note"])

    async def watch() -> RunResult:
        show, result = Show(console, memory), None
        async for event in agent.stream(task):
            show.event(event)
            if isinstance(event, Finished):
                result = event.result
        await chat.aclose()
        assert result is not None, "a run ends with Finished or raises"
        return result

    return asyncio.run(watch())


def _run(
    chat: ChatModel,
    task: str,
    expected: Sequence[Expected],
    memory: Memory,
    tools: Sequence[Tool],
    form: FormatName,
    console: Console,
) -> RunResult:
    """Run one task and print all about it."""
    console.rule()
    console.print(task, highlight=False)
    result = work(chat, task, memory, tools, form, console)
    print_report(console, memory, result, expected)
    return result


def _run_example(
    chat: ChatModel, example: Walkthrough, language: Language, place: Place, budget: int, console: Console
) -> RunResult:
    memory = place.memory(budget, long_term=False)
    offered = [*place.tools(memory, PAGE_SIZE[language]), get_weather, read_manual]
    tools = [tool for tool in offered if tool.name in example.tools]
    result = _run(chat, example.tasks[language], example.expected, memory, tools, example.format, console)
    memory.close()
    return result


def _is_right(result: RunResult, expected: Sequence[Expected]) -> bool:
    """Whether a run ended with an answer that gives the right figures."""
    return result.status == "done" and not missing_figures(result.answer, expected)


@contextmanager
def _place(data_dir: Path | None) -> Generator[Place]:
    if data_dir is not None:
        data_dir.mkdir(parents=True, exist_ok=True)
        yield Place(data_dir)
        return
    with TemporaryDirectory(prefix="carryforward-demo-", ignore_cleanup_errors=True) as folder:
        yield Place(Path(folder))


@contextmanager
def _chat(plans: Sequence[Plan], base_url: str | None, model: str | None, api_key: str | None) -> Generator[ChatModel]:
    if base_url or model:
        yield ChatModel(model, base_url=base_url, api_key=api_key)
        return
    with StandIn(plans) as standin:
        yield ChatModel(MODEL, base_url=standin.base_url, api_key="")
