"""What a reply means, and what every reply format can do."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ...tools.definition import Tool

FormatName = Literal["tools", "react", "bracket", "json"]
Language = Literal["en", "zh"]
Constrain = Literal["grammar", "json_schema"]

Reason = Literal[
    "truncated_or_empty",  # cut off by the length limit, or nothing said
    "no_action",  # neither a call nor an answer
    "several_intents",  # a call and an answer at once
    "unknown_tool",
    "invalid_json",
    "invalid_arguments",
    "duplicate_key",
]


Tools = Iterable[Tool]
"""A `Toolbox`, or any tools."""


CUT_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "time_limit"}
    | {"content_filter", "insufficient_system_resource", "network_error", "abort", "cancelled", "incomplete"}
)
"""Finish reasons, in lower case, after which the end of a reply is missing: OpenAI's and those of servers like it
(Mistral, DeepSeek, GLM, vLLM, watsonx)."""


def is_cut(finish_reason: str | None) -> bool:
    """Whether the end of a reply is missing, as its server says."""
    return finish_reason is not None and finish_reason.lower() in CUT_REASONS


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call the model asks for; the arguments fit the tool's schema. `id` is set for native calls."""

    name: str
    arguments: dict[str, Any]
    thought: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The model's answer to the task."""

    text: str
    thought: str = ""


@dataclass(frozen=True, slots=True)
class FormatProblem:
    """A reply from which nothing is run. `hint` tells the model what was wrong and shows the right form."""

    reason: Reason
    hint: str


Parsed = Action | list[Action] | FinalAnswer | FormatProblem


class ReplyFormat(Protocol):
    """One way for a model to say what it wants, and to be told what came of it.

    `sends_tools` says whether the tool schemas go with the request (native calls) or into the prompt.
    """

    @property
    def name(self) -> FormatName: ...
    @property
    def sends_tools(self) -> bool: ...
    @property
    def stop(self) -> tuple[str, ...]:
        """Stop sequences to send, so that the model does not invent observations."""
        ...

    def instructions(self, tools: Tools) -> str:
        """The part of the system prompt that explains the format, with short right examples."""
        ...

    def constraint(self, tools: Tools, how: Constrain) -> dict[str, Any]:
        """The options of a request by which the server holds its reply to this form; without tools, to an answer.

        Raises:
            ValueError: this form can't be told the server in that way.
        """
        ...

    def parse(self, reply: str | Mapping[str, Any], tools: Tools, *, finish_reason: str | None = None) -> Parsed:
        """Read a reply: its text, or the assistant message. Never raises, whatever the model wrote."""
        ...

    def history_message(self, reply: str | Mapping[str, Any], parsed: Parsed) -> dict[str, Any]:
        """The assistant message to keep: without invented observations, replayed arguments valid JSON."""
        ...

    def observations(self, actions: Sequence[Action], results: Sequence[str]) -> list[dict[str, Any]]:
        """The messages that bring the results back to the model, in call order."""
        ...

    def correction(self, kept: Mapping[str, Any], problem: FormatProblem) -> list[dict[str, Any]]:
        """The messages that follow `kept`, the history message of a reply with a problem."""
        ...


def new_call_id() -> str:
    """An id for a call that came without one."""
    return f"call_{uuid.uuid4().hex[:16]}"


def as_message(reply: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """A reply given as text, as an assistant message."""
    return {"role": "assistant", "content": reply} if isinstance(reply, str) else reply
