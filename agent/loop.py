"""The loop: ask the model, do what it says, add what came of it to memory, until there is an answer.

It talks to `Memory` only: every message goes in with `add`, and what to send comes out of `context`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, cast

from ..memory import Memory
from ..tools import Toolbox
from .approval import Gate, PendingAction, RunPaused
from .asking import Asker, Model
from .calls import CallRunner
from .errors import ModelError, ToolsUnsupportedError
from .events import Event, Finished, Warned
from .formats import Action, Constrain, FinalAnswer, FormatProblem, Parsed, ReplyFormat
from .guards import Circling, Limits, LoopGuard, looks_empty, looks_like_error
from .helper import Helper
from .past import Observation, Past
from .prices import Price
from .prompts import Prompts, quote_observation
from .reply import Reply
from .result import REMEMBERED_AS, RunResult, Status, Stop

Reflect = Literal["on_error", "always", "never"]

_FACT_TOKENS = 600  # of the facts in an answer that is put together without the model
_LAST_SEEN = 3  # observations in such an answer
_LAST_SEEN_LENGTH = 500  # characters of each


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """All that a run needs and that does not change while it goes on."""

    model: Model
    tools: Toolbox
    memory: Memory
    format: ReplyFormat
    texts: Prompts
    limits: Limits
    gate: Gate
    emit: Callable[[Event], None]
    reflect: Reflect = "on_error"
    helper: Helper | None = None
    format_failures: int = 2
    constrain: Constrain | None = None
    price: Price | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    recalled: tuple[Any, ...] = ()
    may_fall_back: bool = False


class Run:
    """One run, from the first model call (or from where `past` ends) to its result."""

    def __init__(self, setup: Setup, past: Past) -> None:
        self._setup, self._past = setup, past
        self._memory, self._form, self._texts, self._emit = setup.memory, setup.format, setup.texts, setup.emit
        self._journal, self._run_id = setup.memory.journal, setup.memory.run_id
        self._calls = CallRunner(setup.tools, setup.gate, self._journal, self._run_id, self._texts, self._emit, past)
        self._asker = Asker(
            setup.model,
            setup.memory,
            setup.emit,
            limits=setup.limits,
            spent=past.spent,
            price=setup.price,
            options={**({"stop": list(self._form.stop)} if self._form.stop else {}), **setup.options},
        )
        if setup.helper is not None:
            setup.helper.works_for(self._asker)
        self._guard = LoopGuard()
        self._problems = 0  # unreadable replies in a row
        self._last_seen: deque[str] = deque(maxlen=_LAST_SEEN)
        for turn in past.turns():
            self._guard.turn((done.name, done.arguments, done.observation.text) for done in turn)
            self._last_seen.extend(done.observation.text for done in turn)

    # The loop -------------------------------------------------------------------------------------

    async def to_end(self) -> RunResult:
        """Go on until the run is over, paused, or cut off by its model server.

        Raises:
            ToolsUnsupportedError: the server takes no native tool calls, and the run may fall back to text.
            BudgetError: system prompt and tool schemas leave no room in the budget.
            JournalError: the journal can't be written.
        """
        try:
            answer = await self._finish_open_turn()
            while answer is None:
                answer = await self._step()
            return self._ended("done", answer)
        except Stop as stop:
            return self._ended(stop.status, await self._last_answer(stop), stop.reason)
        except RunPaused as pause:
            return self._left_open("waiting", str(pause), pause.action)
        except ModelError as error:
            if isinstance(error, ToolsUnsupportedError) and self._setup.may_fall_back:
                raise
            return self._left_open("error", str(error))

    async def _step(self) -> str | None:
        """One model call and what it asks for. Returns the answer, when it is one."""
        self._asker.check_limits()
        reply = await self._ask(with_tools=True)
        said = self._form.parse(reply.message, self._setup.tools, finish_reason=reply.finish_reason)
        kept = self._form.history_message(reply.message, said)
        self._record(reply, said)
        turn = self._memory.add(kept) if kept.get("content") or kept.get("tool_calls") else ""
        refusal = reply.message.get("refusal") or (reply.finish_reason == "content_filter" and "content filter")
        if refusal:
            raise Stop("refused", f"the model refused: {refusal}", ask=False)
        return await self._follow(turn, kept, said)

    async def _finish_open_turn(self) -> str | None:
        """Where an interrupted run had a reply that was not yet answered in full: do the rest."""
        turn = self._past.open_turn
        if turn is None:
            return None
        said = turn.problem or self._form.parse(turn.message, self._setup.tools)
        return await self._follow(turn.ref, turn.message, said, turn.answered)

    async def _follow(self, turn: str, kept: Mapping[str, Any], said: Parsed, answered: int = 0) -> str | None:
        """Do what a reply says; the first `answered` of its messages are in memory already."""
        match said:
            case FinalAnswer(text):
                return text
            case FormatProblem():
                self._correct(kept, said, answered)
            case Action():
                await self._act(turn, [said], answered)
            case _:
                await self._act(turn, said, answered)
        return None

    async def _act(self, turn: str, actions: list[Action], answered: int) -> None:
        observations = await self._calls.run(
            turn, actions, step=self._asker.spent.steps, seconds=self._asker.seconds_left()
        )
        self._problems = 0
        self._last_seen.extend(seen.text for seen in observations)
        circling = self._guard.turn(
            (action.name, action.arguments, seen.text) for action, seen in zip(actions, observations, strict=True)
        )
        quote = str if self._form.sends_tools else quote_observation
        messages = self._form.observations(actions, [quote(seen.text) for seen in observations])
        nudge = await self._nudge(actions, observations, circling)
        for message in _with_nudge(messages, nudge)[answered:]:
            self._memory.add(message)
        if circling is not None:
            reason = f"the same calls with the same results over and over: {_names(actions)}"
            self._warn(reason)
            if circling.stop:
                raise Stop("loop_detected", reason)

    def _correct(self, kept: Mapping[str, Any], problem: FormatProblem, answered: int) -> None:
        """Tell the model what was wrong; too many such replies in a row end the run."""
        self._problems += 1
        for message in self._form.correction(kept, problem)[answered:]:
            self._memory.add(message)
        self._warn(f"{problem.reason}: {problem.hint}")
        # a wrong name or argument is a wrong call in the right form: the model gets twice the tries
        near_miss = problem.reason in ("unknown_tool", "invalid_arguments")
        if self._problems >= self._setup.format_failures * (2 if near_miss else 1):
            status = "error" if problem.reason == "truncated_or_empty" else "format_failed"
            what = problem.hint.partition("\n")[0]
            raise Stop(status, f"replies that can't be used: {problem.reason}. {what}")

    async def _nudge(self, actions: Sequence[Action], seen: Sequence[Observation], circling: Circling | None) -> str:
        """What the model is told beside the observations: a fixed text, and what the helper says where there is one."""
        if circling is not None:
            texts = {1: self._texts.repeated, 2: self._texts.cycle, 3: self._texts.cycle}
            return texts.get(circling.distinct, self._texts.no_progress).format(_names(actions))
        asked = self._reflection(seen)
        if not asked or self._setup.helper is None:
            return asked
        shown = [(f"{action.name} {action.arguments}", one.text) for action, one in zip(actions, seen, strict=True)]
        said = await self._setup.helper.reflect(self._memory.task, shown, self._texts, self._warn)
        return said or asked

    def _reflection(self, seen: Sequence[Observation]) -> str:
        """The fixed text that asks for a reflection, empty where none is due."""
        if self._setup.reflect == "never":
            return ""
        if any(one.failed or looks_like_error(one.text) for one in seen):
            return self._texts.after_error
        if any(looks_empty(one.text) for one in seen):
            return self._texts.after_empty
        return self._texts.after_any if self._setup.reflect == "always" else ""

    async def _ask(self, *, with_tools: bool) -> Reply:
        form, tools = self._form, self._setup.tools if with_tools else ()
        if form.sends_tools:
            return await self._asker.ask([tool.schema() for tool in tools] or None, step=with_tools)
        held = form.constraint(tools, self._setup.constrain) if self._setup.constrain else {}
        return await self._asker.ask(None, step=with_tools, options=held)

    def _record(self, reply: Reply, said: Parsed) -> None:
        problem = asdict(said) if isinstance(said, FormatProblem) else None
        body = {"model": reply.model, "finish_reason": reply.finish_reason, "problem": problem}
        self._journal.append(self._run_id, "reply", {**body, "spent": asdict(self._asker.spent)})

    # The end --------------------------------------------------------------------------------------

    async def _last_answer(self, stop: Stop) -> str | None:
        """The answer to one more call, without tools; None where the model may not be asked or gives none."""
        if not stop.ask:
            return None
        self._memory.add({"role": "user", "content": self._texts.answer_now})
        try:
            reply = await self._ask(with_tools=False)
        except (ModelError, Stop) as error:
            self._warn(f"no last answer: {error}")
            return None
        said = self._form.parse(reply.message, self._setup.tools, finish_reason=reply.finish_reason)
        if isinstance(said, FormatProblem) and said.reason == "no_action":  # it was told to call no tool
            said = self._form.parse(reply.message, (), finish_reason=reply.finish_reason)
        self._record(reply, said)
        if not isinstance(said, FinalAnswer):
            return None
        self._memory.add(self._form.history_message(reply.message, said))
        return said.text

    def _what_is_known(self, reason: str) -> str:
        """An answer that is put together without the model, from the facts and the last observations."""
        facts = self._memory.facts.render(_FACT_TOKENS, self._memory.task)
        seen = [f"- {' '.join(text.split())[:_LAST_SEEN_LENGTH]}" for text in self._last_seen if text.strip()]
        parts = [self._texts.no_answer.format(reason)]
        parts += [f"{self._texts.known}\n{facts}"] if facts else []
        parts += ["\n".join([self._texts.last_seen, *dict.fromkeys(seen)])] if seen else []
        return "\n\n".join(parts if facts or seen else [*parts, self._texts.nothing_known])

    def _ended(self, status: Status, answer: str | None, reason: str = "") -> RunResult:
        result = self._result(status, answer, reason)
        self._journal.append(self._run_id, "result", result.to_entry())
        self._memory.finish(result.answer, REMEMBERED_AS[status])
        self._emit(Finished(result))
        return result

    def _left_open(self, status: Status, reason: str, *pending: PendingAction) -> RunResult:
        """The result of a run that `resume` can take up again: nothing is remembered of it yet."""
        result = self._result(status, None, reason, pending)
        self._emit(Finished(result))
        return result

    def _result(
        self, status: Status, answer: str | None, reason: str, pending: tuple[PendingAction, ...] = ()
    ) -> RunResult:
        return RunResult(
            answer=self._what_is_known(reason) if answer is None else answer,
            status=status,
            steps=self._asker.spent.steps,
            usage=replace(self._asker.spent),
            run_id=self._run_id,
            recalled=self._setup.recalled,
            unsupported=() if answer is None else tuple(self._memory.unsupported(answer)),
            reason=reason,
            pending=pending,
        )

    def _warn(self, reason: str) -> None:
        self._emit(Warned(self._asker.spent.steps, reason))


def _names(actions: Sequence[Action]) -> str:
    return ", ".join(dict.fromkeys(action.name for action in actions))


def _with_nudge(messages: list[dict[str, Any]], nudge: str) -> list[dict[str, Any]]:
    """The nudge in the last message where that is the user's, else after it: some servers refuse two user turns."""
    if not nudge:
        return messages
    last = messages[-1]
    if last["role"] != "user":
        return [*messages, {"role": "user", "content": nudge}]
    return [*messages[:-1], {**last, "content": f"{cast(str, last['content'])}\n\n{nudge}"}]
