"""What comes back from a model: the reply, its pieces while it streams, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..memory.messages import content_text

REASONING_KEYS = ("reasoning_content", "reasoning")
"""Where servers put a model's thinking: DeepSeek and vLLM, then OpenRouter and Ollama."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `estimated` is set when the server did not say and the client counted itself."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed reply. With `restarted`, all pieces before it are void: the reply begins anew."""

    text: str = ""
    reasoning: str = ""
    restarted: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply.

    `message` is the assistant message as an OpenAI dict, with the caller's own tool names. `warnings` are
    lines for the user, each starting with a code such as `context_truncated_by_server`.
    """

    message: dict[str, Any]
    finish_reason: str | None
    usage: Usage
    model: str
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The content as text, "" when there is none."""
        return content_text(self.message.get("content"))

    @property
    def reasoning(self) -> str | None:
        """The thinking that the server kept apart from the content, if any."""
        return reasoning_text(self.message)

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The native tool calls, as the server gave them."""
        return list(self.message.get("tool_calls") or [])

    @property
    def measured_prompt_tokens(self) -> int | None:
        """The server's own count of what was sent; None when it gave none, or cut the prompt first."""
        if self.usage.estimated or any(w.startswith("context_truncated_by_server") for w in self.warnings):
            return None
        return self.usage.prompt_tokens


def reasoning_text(message: Mapping[str, Any]) -> str | None:
    """The first non-empty reasoning field of an assistant message."""
    for key in REASONING_KEYS:
        value = message.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, Sequence):
            text = content_text(cast(list[dict[str, Any]], value))
            if text:
                return text
    return None
