"""Mending a message list as it arrives, so that whatever comes in, the list stays one that a server accepts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .messages import Message, ToolCall
from .rules import is_empty

NO_RESULT = "(no result: the call was cancelled or not executed)"
NO_OUTPUT = "(no output)"
EMPTY = "(empty message)"


@dataclass(frozen=True, slots=True)
class Admitted:
    """A message as it joins the list, what was mended in it (None: nothing), and whether it is a stray result."""

    message: Message
    mended: str | None = None
    is_stray: bool = False


class Intake:
    """Takes messages one by one and gives back the ones that join the list.

    Deterministic: the same messages always give the same list. The rules it keeps are those of `rules.py`:
    calls without a result get one that says so, before the next turn begins; a result that answers no open call
    becomes a user message; a second result for a call and an empty assistant message are left out.
    """

    def __init__(self) -> None:
        self._open: dict[str, str] = {}  # ids of calls without a result, in call order, each with the id it came with
        self._answered: set[str] = set()  # ids of the running block
        self._strays: list[Admitted] = []  # wait until the block is whole
        self._renamed = 0

    def copy(self) -> Intake:
        """A copy that can take messages without touching this one."""
        other = Intake()
        other._open, other._answered = dict(self._open), set(self._answered)
        other._strays, other._renamed = list(self._strays), self._renamed
        return other

    def admit(self, message: Message) -> tuple[list[Admitted], Admitted | None]:
        """What must join before the message, and the message itself as it joins.

        The second is None for a message that is left out, and for a stray result in a running block: that one
        joins with what comes before the next turn.
        """
        if message.role == "tool":
            return [], self._result(message)
        return self.settle(), self._turn(message)

    def settle(self) -> list[Admitted]:
        """Close the running block: what must join so that the list is whole as it stands."""
        closing = [
            Admitted(Message("tool", NO_RESULT, tool_call_id=call), f"call {call} had no result") for call in self._open
        ]
        closing += self._strays
        self._open, self._answered, self._strays = {}, set(), []
        return closing

    @property
    def is_whole(self) -> bool:
        """Whether the list could be sent as it stands."""
        return not self._open and not self._strays

    def _result(self, message: Message) -> Admitted | None:
        call = message.tool_call_id
        if not call and self._open:
            call = next(iter(self._open))
            return self._answer(replace(message, tool_call_id=call), f"result without an id taken for call {call}")
        own = call if call in self._open else next((own for own, came in self._open.items() if call == came), None)
        if own is not None:
            if own == call:
                return self._answer(message, None)
            return self._answer(replace(message, tool_call_id=own), f"result of call {own}")
        if call and call in self._answered:
            return None
        if self._open:
            self._strays.append(self._stray(message))
            return None
        return self._stray(message)

    def _answer(self, message: Message, mended: str | None) -> Admitted:
        assert message.tool_call_id is not None
        self._open.pop(message.tool_call_id)
        self._answered.add(message.tool_call_id)
        if is_empty(message):
            return Admitted(replace(message, content=NO_OUTPUT), "empty result")
        return Admitted(message, mended)

    @staticmethod
    def _stray(message: Message) -> Admitted:
        """A result that answers no open call, kept as a user message. Text agents send observations without ids."""
        text = message.text or NO_OUTPUT
        if not message.tool_call_id:
            return Admitted(Message("user", text), "result without an id and without a call", is_stray=True)
        return Admitted(
            Message("user", f"[Result of call {message.tool_call_id}, which is not open here]\n{text}"),
            f"result of call {message.tool_call_id}, which is not open",
            is_stray=True,
        )

    def _turn(self, message: Message) -> Admitted | None:
        if is_empty(message):
            if message.role == "assistant":
                return None
            return Admitted(replace(message, content=EMPTY), "empty message")
        if not message.tool_calls:
            return Admitted(message)
        calls = tuple(self._with_ids(message.tool_calls))
        self._open = {own.id: came.id for own, came in zip(calls, message.tool_calls, strict=True)}
        if calls == message.tool_calls:
            return Admitted(message)
        return Admitted(replace(message, tool_calls=calls), "calls without an id of their own")

    def _with_ids(self, calls: Iterable[ToolCall]) -> Iterable[ToolCall]:
        seen: set[str] = set()
        for call in calls:
            if not call.id or call.id in seen:
                self._renamed += 1
                call = replace(call, id=f"call_unnamed_{self._renamed}")
            seen.add(call.id)
            yield call
