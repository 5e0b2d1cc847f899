"""Agent: a model, tools and a memory, put to work on tasks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Literal

from ..memory import Memory, ModelSummarizer
from ..tools import Tool, Toolbox
from ..tools.memory_tools import lookup_tool
from ..tools.waiting import run_sync
from .approval import Allowed, Approver, Gate
from .asking import Model
from .errors import ToolsUnsupportedError
from .events import Event, Finished, Recalled, RunStarted, Warned, redacted
from .formats import Constrain, FormatName, Language, reply_format
from .guards import Limits
from .helper import Helper
from .loop import Reflect, Run, Setup
from .model import ChatModel
from .past import Past, read_past
from .prices import Price
from .prompts import language_of, prompts
from .result import REMEMBERED_AS, RunResult
from .spans import RunSpans

DEFAULT_BUDGET = 24_000
"""Tokens of a context where no memory is given: fits the 32k windows that are common, with room for the reply."""


class Agent:
    """Works on one task at a time: asks the model, calls tools, and keeps what matters in memory.

    Args:
        model: a `ChatModel`, a model's name, a server's URL, or any object with `complete`.
        tools: a `Toolbox`, or tools and plain functions; `lookup` is added where there are any.
        memory: by default one with a budget of `DEFAULT_BUDGET` tokens, no long-term memory and no file.
        format: how the model is to reply: `tools` (native calls), `react`, `bracket`, `json`, or `auto`: native, and
            react where the server takes no tools.
        max_steps, max_tokens, max_cost, max_seconds: limits of a run: model calls, tokens in and out, US dollars,
            seconds.
        approve: who is asked before a call that may change something: a callback from `PendingAction` to `Allow`,
            `Deny` or `Change` (or an awaitable of one), `"terminal"`, `"journal"` (the run pauses until
            `carryforward approve`), or None: such calls are denied.
        allow: what runs unasked: names of tools, or (name, arguments) for exactly these arguments.
        approval_seconds: how long an answer is accepted.
        reflect: when the model is asked to think about an observation: `on_error` (an error or nothing), `always`,
            `never`.
        helper: a second, cheaper model (as `model`) that writes the reflections, and the summaries of a memory that has
            no summarizer of its own; what it uses counts for the run. Without it, rules write both.
        system: the opening of the system prompt, instead of the packaged one; how to reply is added to it.
        language: of the prompts, `en` or `zh`; by default that of the task.
        format_failures: replies in a row that can't be read, after which the run ends (twice as many for calls in the
            right form with a wrong name or wrong arguments).
        constrain: have the server hold text replies to their form: by a `grammar` (GBNF, servers of llama.cpp), or by a
            `json_schema` (in `response_format`, for the format json). Without it a model may reply as it likes.
        price: US dollars a million tokens; by default the list price of the model, where it is known.
        options: passed on with each model call (`temperature`, `seed`, …).

    Raises:
        ValueError: an option has a value that is not one of those above.
    """

    def __init__(
        self,
        model: Model | str,
        tools: Toolbox | Iterable[Tool | Callable[..., Any]] = (),
        *,
        memory: Memory | None = None,
        format: FormatName | Literal["auto"] = "tools",
        max_steps: int | None = 50,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        max_seconds: float | None = None,
        approve: Approver | Literal["terminal", "journal"] | None = None,
        allow: Allowed = (),
        approval_seconds: float = 3600.0,
        reflect: Reflect = "on_error",
        helper: Model | str | None = None,
        system: str | None = None,
        language: Language | None = None,
        format_failures: int = 2,
        constrain: Constrain | None = None,
        price: Price | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if reflect not in ("on_error", "always", "never"):
            raise ValueError(f"reflect must be 'on_error', 'always' or 'never', not {reflect!r}")
        if isinstance(approve, str) and approve not in ("terminal", "journal"):
            raise ValueError(f"approve must be a callback, 'terminal', 'journal' or None, not {approve!r}")
        if format_failures < 1:
            raise ValueError(f"format_failures must be at least 1, not {format_failures}")
        form = reply_format("react" if format == "auto" else format)
        if constrain is not None:
            form.constraint((), constrain)
        self.model = _model(model)
        self.memory = memory or Memory(DEFAULT_BUDGET)
        self._helper = None if helper is None else Helper(_model(helper))
        if self._helper is not None and self.memory.summarizer is None:
            self.memory.summarizer = ModelSummarizer(self._helper.complete, counter=self.memory.counter)
        for model in self._models():
            for secret in getattr(model, "secrets", ()):
                self.memory.journal.redact(secret)
        self.tools = _with_lookup(tools if isinstance(tools, Toolbox) else Toolbox(tools), self.memory)
        self._format: FormatName | Literal["auto"] = format
        self._limits = Limits(max_steps, max_tokens, max_cost, max_seconds)
        self._approve: Approver | Literal["terminal", "journal"] | None = approve
        self._allow, self._approval_seconds = allow, approval_seconds
        self._reflect: Reflect = reflect
        self._system = system
        self._language: Language | None = language
        self._format_failures, self._price, self._options = format_failures, price, dict(options or {})
        self._constrain: Constrain | None = constrain

    def run(self, task: str) -> RunResult:
        """Work on a task. Works in a notebook too, where a loop is running already.

        Raises:
            ValueError: the task is empty.
            BudgetError: system prompt and tool schemas leave no room in the budget.
            JournalError: the journal can't be written.
        """
        return run_sync(self._alone(self.stream(task)))

    def resume(self, run_id: str) -> RunResult:
        """Take up a run that was interrupted, paused, or cut off by its model server.

        What was finished is not done again; a call that may have changed something and whose end is unknown is asked
        about. The result of a run that is over is given back as it was recorded.

        Raises:
            JournalError: there is no such run, or another process works on it.
        """
        return run_sync(self._alone(self.stream(run_id=run_id)))

    async def arun(self, task: str) -> RunResult:
        """`run` for async code."""
        return await _result_of(self.stream(task))

    async def aresume(self, run_id: str) -> RunResult:
        """`resume` for async code."""
        return await _result_of(self.stream(run_id=run_id))

    async def stream(self, task: str | None = None, *, run_id: str | None = None) -> AsyncGenerator[Event, None]:
        """The events of a run, as they happen; the last one is `Finished`.

        Give a task for a new run, or the id of a run to take up. Who stops reading stops the run; it can be resumed.
        """
        if (task is None) == (run_id is None):
            raise ValueError("give either a task, or the run_id of a run to take up")
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        spans = RunSpans()

        def emit(event: Event) -> None:
            if self.memory.journal.has_secrets:
                event = redacted(event, self.memory.journal.redacted)
            spans.see(event)
            events.put_nowait(event)

        work = asyncio.create_task(self._go(task, run_id, emit))
        work.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await work
        finally:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([work])
            spans.close()

    async def _alone(self, events: AsyncIterator[Event]) -> RunResult:
        """A run in an event loop of its own: the model's connections end with it."""
        try:
            return await _result_of(events)
        finally:
            for model in self._models():
                close = getattr(model, "aclose", None)
                if close is not None:
                    await close()

    def _models(self) -> list[Model]:
        return [self.model] if self._helper is None else [self.model, self._helper.model]

    async def _go(self, task: str | None, run_id: str | None, emit: Callable[[Event], None]) -> None:
        try:
            if task is None:
                await self._take_up(run_id or "", emit)
            else:
                await self._begin(task, "tools" if self._format == "auto" else self._format, emit)
        except ToolsUnsupportedError as error:
            if task is None or self._format != "auto":
                raise
            emit(Warned(0, f"{error} The task is begun anew with the text format react."))
            self.memory.journal.release(self.memory.run_id)
            self._format = "react"
            await self._begin(task, "react", emit)
        finally:
            self.memory.journal.release(self.memory.run_id)

    async def _begin(self, task: str, format: FormatName, emit: Callable[[Event], None]) -> None:
        language = self._language or language_of(task)
        form = reply_format(format, language)
        opening = [self._system or prompts(language).system, form.instructions(self.tools)]
        recalls = self.memory.begin(
            task,
            system="\n\n".join(part for part in opening if part),
            tools=self.tools.schemas() if form.sends_tools else [],
        )
        self._note(format, language)
        emit(RunStarted(self.memory.run_id, task, resumed=False))
        if recalls:
            emit(Recalled(tuple(recalls)))
        past = Past(task=task, format=format, language=language)
        await self._work(past, emit, tuple(recalls), may_fall_back=self._format == "auto")

    def _note(self, format: FormatName, language: Language) -> None:
        self.memory.journal.append(self.memory.run_id, "agent", {"format": format, "language": language})

    async def _take_up(self, run_id: str, emit: Callable[[Event], None]) -> None:
        past = read_past(self.memory.journal.entries(run_id))
        if not (past.result and past.remembered):
            self.memory.resume(run_id)
            past = read_past(self.memory.journal.entries(run_id))  # as it is now that nobody else can write
        emit(RunStarted(run_id, past.task, resumed=True))
        for message in past.opening:
            self.memory.add(message)
        if past.format is None:
            past.format = "tools" if self._format == "auto" else self._format
            past.language = self._language or language_of(past.task)
            self._note(past.format, past.language)
        if past.result is None:
            return await self._work(past, emit)
        if not past.remembered:
            self.memory.finish(past.result["answer"], REMEMBERED_AS[past.result["status"]])
        emit(Finished(RunResult.from_entry(run_id, past.result)))
        return None

    async def _work(
        self, past: Past, emit: Callable[[Event], None], recalled: tuple[Any, ...] = (), may_fall_back: bool = False
    ) -> None:
        memory = self.memory
        gate = Gate(memory.journal, memory.run_id, self._approve, self._allow, lasts=self._approval_seconds)
        setup = Setup(
            model=self.model,
            tools=self.tools,
            memory=memory,
            format=reply_format(past.format or "tools", past.language),
            texts=prompts(past.language),
            limits=self._limits,
            gate=gate,
            emit=emit,
            reflect=self._reflect,
            helper=self._helper,
            format_failures=self._format_failures,
            constrain=self._constrain,
            price=self._price,
            options=self._options,
            recalled=recalled,
            may_fall_back=may_fall_back,
        )
        await Run(setup, past).to_end()


def _with_lookup(tools: Toolbox, memory: Memory) -> Toolbox:
    """The tools and `lookup`, which the context names wherever something has left it."""
    return Toolbox([*tools, lookup_tool(memory)]) if tools.names and "lookup" not in tools else tools


def _model(given: Model | str) -> Model:
    if not isinstance(given, str):
        return given
    return ChatModel(base_url=given) if "://" in given else ChatModel(given)


async def _result_of(events: AsyncIterator[Event]) -> RunResult:
    result: RunResult | None = None
    async for event in events:
        if isinstance(event, Finished):
            result = event.result
    assert result is not None, "a run ends with Finished or raises"
    return result
