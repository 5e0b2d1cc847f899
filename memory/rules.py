"""What makes a message list valid for an OpenAI-compatible server: one object a rule.

The rules are used in three places: `ShortTermMemory` asks them where a list may be cut, `repair` mends incoming
lists by them, and the tests check every context against them.

Sources: the chat completions reference (https://platform.openai.com/docs/api-reference/chat) for tool messages;
strict alternation is what the chat templates of Mistral, Gemma and Llama 2 demand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .messages import SAID_OTHERWISE, Message, says_nothing


class Rule(ABC):
    """One property of a valid list."""

    def allows_cut(self, left: Message, right: Message) -> bool:
        """Whether messages up to `left` may leave while `right` stays."""
        return True

    @abstractmethod
    def broken(self, messages: Sequence[Message]) -> list[str]:
        """What breaks the rule, a line each; empty for a valid list."""


class PairsWhole(Rule):
    """Every call of an assistant message is answered exactly once, directly after it, and nothing else is."""

    def allows_cut(self, left: Message, right: Message) -> bool:
        return right.role != "tool"

    def broken(self, messages: Sequence[Message]) -> list[str]:
        found: list[str] = []
        open_calls: list[str] = []
        answered: set[str] = set()
        for at, m in enumerate(messages):
            if m.role == "tool":
                if m.tool_call_id in answered:
                    found.append(f"message {at} answers call {m.tool_call_id!r} again")
                elif m.tool_call_id not in open_calls:
                    found.append(f"message {at} answers no call: {m.tool_call_id!r}")
                else:
                    open_calls.remove(m.tool_call_id)
                    answered.add(m.tool_call_id)
                continue
            found += [f"call {call!r} before message {at} is not answered" for call in open_calls]
            open_calls = [call.id for call in m.tool_calls]
            answered = set()
            if len(set(open_calls)) != len(open_calls) or "" in open_calls:
                found.append(f"message {at} has calls without an id of their own")
        return found + [f"call {call!r} at the end is not answered" for call in open_calls]


class TaskPresent(Rule):
    """There is a user message: servers refuse lists without one, and without the task no step makes sense."""

    def broken(self, messages: Sequence[Message]) -> list[str]:
        return [] if any(m.role == "user" for m in messages) else ["no user message"]


class NoEmptyMessage(Rule):
    """Every message says something: text, a part that is not text, or a call."""

    def broken(self, messages: Sequence[Message]) -> list[str]:
        return [f"message {at} ({m.role}) is empty" for at, m in enumerate(messages) if is_empty(m)]


class Alternation(Rule):
    """User and assistant turns alternate (tool messages belong to the assistant's turn), for servers that insist.

    It forbids no cut: `merge_turns` joins what a cut brings together.
    """

    def broken(self, messages: Sequence[Message]) -> list[str]:
        turns = [(at, m.role) for at, m in enumerate(messages) if m.role in ("user", "assistant")]
        return [
            f"message {at} is a second {role} turn in a row"
            for (_, before), (at, role) in pairwise(turns)
            if before == role and messages[at - 1].role != "tool"
        ]


RULES: tuple[Rule, ...] = (PairsWhole(), TaskPresent(), NoEmptyMessage())


def broken(messages: Sequence[Message], rules: Sequence[Rule] = RULES) -> list[str]:
    """All that the rules find wrong in a list."""
    return [text for rule in rules for text in rule.broken(messages)]


def merge_turns(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The list with neighbouring turns of one role joined, for servers that insist on alternation."""
    out: list[dict[str, Any]] = []
    for m in messages:
        if out and m["role"] == out[-1]["role"] in ("user", "assistant") and not out[-1].get("tool_calls"):
            out[-1] = {**out[-1], **m, "content": _joined(out[-1]["content"], m["content"])}
        else:
            out.append(m)
    return out


def _joined(first: Any, second: Any) -> Any:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    parts = [[{"type": "text", "text": c}] if isinstance(c, str) else list(c or ()) for c in (first, second)]
    return parts[0] + parts[1]


def is_empty(message: Message) -> bool:
    """Whether a message says nothing at all: an assistant may also say it by a call, a refusal or recorded speech."""
    if message.tool_calls or (message.role == "assistant" and any(message.extra.get(key) for key in SAID_OTHERWISE)):
        return False
    return says_nothing(message.content)
