"""Running the calls of one turn: checked, allowed, recorded before and after, together where that is safe."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..memory.journal import Journal
from ..memory.messages import HIDDEN
from ..tools import Tool, Toolbox, ToolError
from ..tools.arguments import fit_arguments
from .approval import Allow, Change, Deny, Gate
from .events import ApprovalNeeded, Event, Observed, ToolCalled
from .formats import Action
from .guards import ReadCache, canonical_json
from .past import Observation, Past
from .prompts import Prompts


class CallRunner:
    """Runs the calls of one run, and writes into the journal when each begins and ends.

    A call that the journal shows as finished is not run again. One that had begun is run again if it only reads, and
    asked about if it may have changed something. Neither is done with arguments that had a secret in them: the journal
    holds none, so the model is told to make the call again.
    """

    def __init__(
        self,
        tools: Toolbox,
        gate: Gate,
        journal: Journal,
        run_id: str,
        texts: Prompts,
        emit: Callable[[Event], None],
        past: Past,
    ) -> None:
        self._tools, self._gate, self._journal, self._run_id = tools, gate, journal, run_id
        self._texts, self._emit, self._past = texts, emit, past
        self._cache = ReadCache()
        self._step = 0
        self._deadline: float | None = None

    async def run(self, turn: str, actions: Sequence[Action], *, step: int, seconds: float | None) -> list[Observation]:
        """The observations of a turn's calls, in call order; neighbouring calls that only read run at the same time.

        `turn` is the ref of the message that holds the calls, `seconds` the time that is left for all of them.

        Raises:
            RunPaused: a call waits for an answer from another process; what was run before it is recorded.
            JournalError: the journal can't be written.
        """
        self._step, self._deadline = step, None if seconds is None else time.monotonic() + seconds
        observations: list[Observation] = []
        numbered = [(f"{turn}.{number}", action) for number, action in enumerate(actions)]
        for alone, group in itertools.groupby(numbered, lambda one: None if self._only_reads(one[1].name) else one[0]):
            if alone is None:
                observations += await asyncio.gather(*(self._run_one(*one) for one in group))
            else:
                observations += [await self._run_one(*one) for one in group]
        return observations

    async def _run_one(self, call: str, action: Action) -> Observation:
        if call in self._past.finished:
            return self._past.finished[call].observation
        began = time.monotonic()
        try:
            observation = Observation(await self._result(call, action), failed=False)
        except ToolError as error:
            observation = Observation(f"Error: {error}", failed=True)
        text, failed = observation.text, observation.failed
        self._record("call_finished", call, action.name, action.arguments, result=text, failed=failed)
        self._remember(action, observation)
        self._emit(Observed(self._step, call, action.name, text, failed, time.monotonic() - began))
        return observation

    async def _result(self, call: str, action: Action) -> str:
        tool = self._tools.get(action.name)
        if self._is_incomplete(call, action):
            begun = tool.risk != "read" and call in self._past.started
            text = self._texts.end_unknown if begun else self._texts.not_executed
            raise ToolError(text.format(tool.name, f": {self._texts.secret_lost}"))
        if tool.risk != "read":
            arguments, remark = await self._permitted(call, tool, fit_arguments(tool, action.arguments))
            return remark + await self._execute(call, tool, arguments)
        kept = None if tool.volatile else self._cache.get(action.name, action.arguments)
        if kept is None:
            return await self._execute(call, tool, action.arguments)
        self._emit(ToolCalled(self._step, call, tool.name, action.arguments, cached=True))
        return kept

    def _is_incomplete(self, call: str, action: Action) -> bool:
        """Whether the call comes out of the journal without a secret that its arguments had."""
        open_turn = self._past.open_turn
        return (
            open_turn is not None
            and call.partition(".")[0] == open_turn.ref
            and HIDDEN in canonical_json(action.arguments)
        )

    async def _permitted(self, call: str, tool: Tool, arguments: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """The arguments that may be run, and what to tell the model about them."""
        begun = self._past.started.get(call)
        if begun:  # each time it was begun is a question of its own: an answer to an earlier one is used up
            question, arguments = f"{call}#{len(begun)}", begun[-1]
            action, decision = self._gate.question(question, tool.name, arguments, tool.risk, "unknown_end")
        elif self._gate.open_to(tool.name, tool.risk, arguments):
            return arguments, ""
        else:
            action, decision = self._gate.question(call, tool.name, arguments, tool.risk)
        if decision is None:
            self._emit(ApprovalNeeded(self._step, action))
            await asyncio.sleep(0)  # who reads the events sees the question before it is asked
            decision = await self._gate.decide(action)
        match decision:
            case Allow():
                return arguments, ""
            case Change(changed):
                shown = json.dumps(changed, ensure_ascii=False)
                return fit_arguments(tool, changed), self._texts.arguments_changed.format(shown) + "\n"
            case Deny(reason):
                text = self._texts.end_unknown if begun else self._texts.not_executed
                raise ToolError(text.format(tool.name, f": {reason}" if reason else ""))

    async def _execute(self, call: str, tool: Tool, arguments: dict[str, Any]) -> str:
        self._record("call_started", call, tool.name, arguments, risk=tool.risk)
        self._emit(ToolCalled(self._step, call, tool.name, arguments, cached=False))
        seconds = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            async with asyncio.timeout(seconds):
                return await self._tools.acall(tool.name, arguments)
        except TimeoutError as error:
            raise ToolError(self._texts.out_of_time.format(tool.name)) from error

    def _remember(self, action: Action, observation: Observation) -> None:
        if not self._only_reads(action.name):
            self._cache.forget()
        elif not observation.failed:
            self._cache.put(action.name, action.arguments, observation.text)
        self._cache.called(action.name, action.arguments)

    def _only_reads(self, name: str) -> bool:
        return name in self._tools and self._tools.get(name).risk == "read"

    def _record(self, kind: str, call: str, name: str, arguments: dict[str, Any], **more: Any) -> None:
        self._journal.append(self._run_id, kind, {"call": call, "name": name, "arguments": arguments, **more})
