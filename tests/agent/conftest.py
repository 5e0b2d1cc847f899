"""A model that says what a script tells it, and the tools it calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from carryforward.agent.reply import Reply, Usage

Call = tuple[str, dict[str, Any]]
Said = str | Call | list[Call] | dict[str, Any] | Exception


class Scripted:
    """Says one thing after the other; keeps every context it was sent.

    A text is a text reply, a (name, arguments) pair a native call, a list of them parallel calls, a dict the keys of a
    message (and its `finish_reason`), an exception is raised. With `by_context`, the next thing to say is found by
    counting the assistant's turns in the context, so that the script goes on where a run is taken up again.
    """

    def __init__(self, says: Iterable[Said], *, usage: Usage | None = None, by_context: bool = False) -> None:
        self._by_context = list(says) if by_context else None
        self._says: Iterator[Said] = iter(says)
        self._usage = usage or Usage(10, 5, estimated=True)
        self.sent: list[list[dict[str, Any]]] = []
        self.tools_sent: list[list[str] | None] = []
        self.options: dict[str, Any] = {}

    async def complete(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **options: Any
    ) -> Reply:
        self.sent.append(json.loads(json.dumps(messages)))
        self.tools_sent.append([one["function"]["name"] for one in tools] if tools else None)
        self.options = options
        turn = sum(message["role"] == "assistant" for message in messages)
        said = next(self._says) if self._by_context is None else self._by_context[turn]
        if isinstance(said, Exception):
            raise said
        message, finish = self._message(said, turn)
        return Reply({"role": "assistant", **message}, finish, self._usage, "scripted")

    def _message(self, said: Said, turn: int) -> tuple[dict[str, Any], str]:
        if isinstance(said, str):
            return {"content": said}, "stop"
        if isinstance(said, dict):
            return {k: v for k, v in said.items() if k != "finish_reason"}, said.get("finish_reason", "stop")
        calls = [said] if isinstance(said, tuple) else said
        made = [
            {
                "id": f"call_{turn}_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(calls)
        ]
        return {"content": None, "tool_calls": made}, "tool_calls"


@pytest.fixture(scope="session")
def scripted() -> Callable[..., Scripted]:
    return Scripted
