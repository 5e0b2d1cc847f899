"""Asking the model: one call with what it costs, counted against the limits of the run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from ..memory import BudgetError, Memory
from .errors import ContextTooLongError, ModelError
from .events import Compacted, Event, ModelReplied, StepStarted, Warned
from .guards import Limits, Spent
from .prices import Price, price_of
from .reply import Reply
from .result import Stop

_REPLY_LENGTH = frozenset({"max_tokens", "max_completion_tokens"})
_SHRUNK = 0.7  # of the context that a server found too long: how much the next try may take


class Model(Protocol):
    """What the agent asks of a model; `ChatModel` is one."""

    async def complete(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **options: Any
    ) -> Reply: ...


class Asker:
    """Sends the context of a memory to a model, and counts what the run has `spent`."""

    def __init__(
        self,
        model: Model,
        memory: Memory,
        emit: Callable[[Event], None],
        *,
        limits: Limits,
        spent: Spent,
        price: Price | None,
        options: Mapping[str, Any],
    ) -> None:
        self._model, self._memory, self._emit = model, memory, emit
        self._limits, self._price, self._options = limits, price, options
        self._began = time.monotonic() - spent.seconds
        self._compactions = len(memory.short_term.compactions)
        self.spent = replace(spent)

    def check_limits(self) -> None:
        """Raises Stop when a limit is reached; only after the last step the model may be asked for an answer."""
        self.spent.seconds = time.monotonic() - self._began
        reached = self._limits.reached(self.spent)
        if reached == "steps":
            raise Stop("out_of_steps", f"all {self._limits.steps} steps are used up")
        if reached is not None:
            raise Stop(
                "over_budget", f"the limit of {getattr(self._limits, reached):g} {reached} is reached", ask=False
            )

    def seconds_left(self) -> float | None:
        """The time left, or None where there is no limit."""
        limit = self._limits.seconds
        return None if limit is None else max(0.0, limit - (time.monotonic() - self._began))

    async def ask(
        self, tools: list[dict[str, Any]] | None, *, step: bool, options: Mapping[str, Any] | None = None
    ) -> Reply:
        """A reply to the context of the memory; one that the server finds too long is shortened, once.

        Raises:
            ModelError: the server gave no usable reply.
            Stop: the time is up, or the cost can't be known.
            BudgetError: system prompt and tool schemas leave no room in the budget.
        """
        sent = {**(options or {}), **self._options}
        try:
            return await self._call(tools, step, sent)
        except ContextTooLongError as error:
            self._emit(Warned(self.spent.steps, str(error)))
            self._memory.shrink(_SHRUNK)
            try:
                return await self._call(tools, step, sent)
            except BudgetError:
                raise error from None

    async def _call(self, tools: list[dict[str, Any]] | None, step: bool, options: Mapping[str, Any]) -> Reply:
        await self._memory.compact()
        context = self._memory.context()
        self._tell_context(len(context))
        began = time.monotonic()
        timer = asyncio.timeout(self.seconds_left())
        try:
            async with timer:
                reply = await self._model.complete(context, tools, **{**self._room(options), **options})
        except TimeoutError as error:
            if not timer.expired():
                raise ModelError(f"the model took too long: {error}") from error
            raise Stop("over_budget", "the time for this task is up", ask=False) from error
        self._count(reply, step)
        self._tell_reply(reply, time.monotonic() - began)
        return reply

    def _room(self, options: Mapping[str, Any]) -> dict[str, int]:
        """The tokens that the budget keeps free for the reply, unless the options say how many it may have."""
        budget = self._memory.budget
        if not budget.output or _REPLY_LENGTH & options.keys():
            return {}
        return {"max_tokens": budget.max_output(self._memory.short_term.tokens, budget.output)}

    def count_help(self, reply: Reply) -> None:
        """Count what a helper's reply has used, at the list price of the helper's model; it is no step."""
        self._add(reply, price_of(reply.model))

    def _count(self, reply: Reply, step: bool) -> None:
        self.spent.steps += step
        self._add(reply, self._price or price_of(reply.model))
        if reply.measured_prompt_tokens is not None:
            self._memory.learn_usage(reply.measured_prompt_tokens)
        if self.spent.cost is None and self._limits.cost is not None:
            raise Stop("error", f"no price is known for {reply.model}: give the agent one (price=Price(…))", ask=False)

    def _add(self, reply: Reply, price: Price | None) -> None:
        usage, spent = reply.usage, self.spent
        spent.prompt_tokens += usage.prompt_tokens
        spent.completion_tokens += usage.completion_tokens
        spent.cached_tokens += usage.cached_tokens
        if price is None:
            spent.cost = None
        elif spent.cost is not None:
            spent.cost += price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
        spent.seconds = time.monotonic() - self._began

    def _tell_context(self, messages: int) -> None:
        short, step = self._memory.short_term, self.spent.steps + 1
        for done in short.compactions[self._compactions :]:
            self._emit(Compacted(step, done.reason, done.before, done.after))
        self._compactions = len(short.compactions)
        self._emit(StepStarted(step, short.tokens, short.limit, messages))

    def _tell_reply(self, reply: Reply, seconds: float) -> None:
        self._emit(
            ModelReplied(
                step=self.spent.steps,
                text=reply.text,
                reasoning=reply.reasoning or "",
                prompt_tokens=reply.usage.prompt_tokens,
                completion_tokens=reply.usage.completion_tokens,
                cached_tokens=reply.usage.cached_tokens,
                seconds=seconds,
                spent=replace(self.spent),
            )
        )
        for warning in reply.warnings:
            self._emit(Warned(self.spent.steps, warning))
