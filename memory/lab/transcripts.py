"""Recorded runs: what the lab replays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..messages import Message, clean


class TranscriptError(ValueError):
    """A file that holds no transcript the lab can read; the text names the file, the line and the reason."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider reported for one call, in its own tokens; `message` is the index of the reply."""

    message: int
    prompt: int
    completion: int = 0
    cached: int | None = None


@dataclass(frozen=True)
class Transcript:
    """One recorded run.

    What a provider adds to messages (`reasoning_content`, `refusal`, …) is left out, since it is not sent back; a
    `tool` message without an id, as text agents write it, becomes a `user` message.

    Attributes:
        id: the run's name in its file.
        messages: the whole chat list.
        source: the kind of agent or format it comes from.
        usage: what the provider reported, where the file has it.
    """

    id: str
    messages: Sequence[Message]
    source: str = ""
    usage: tuple[Usage, ...] = ()

    @classmethod
    def from_messages(cls, messages: Iterable[Message | Mapping[str, Any]], id: str = "run") -> Transcript:
        """A run from a chat list at hand.

        Raises:
            MessageError: a message has no role or content that a chat list may have.
        """
        return cls(id, [m if isinstance(m, Message) else Message.from_dict(m) for m in messages])

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", clean(self.id))
        object.__setattr__(self, "messages", tuple(_plain(m) for m in self.messages))

    @cached_property
    def task_index(self) -> int | None:
        """Index of the first user message, which states the task; None where there is none."""
        return next((i for i, m in enumerate(self.messages) if m.role == "user"), None)

    @property
    def task(self) -> str:
        """The text of the task; empty where the run has no user message."""
        return "" if self.task_index is None else self.messages[self.task_index].text

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Indices of the assistant messages after the task: the model calls that a replay makes contexts for."""
        start = -1 if self.task_index is None else self.task_index
        return tuple(i for i, m in enumerate(self.messages) if m.role == "assistant" and i > max(start, 0))

    def __len__(self) -> int:
        return len(self.messages)


def _plain(message: Message) -> Message:
    role = "user" if message.role == "tool" and not message.tool_call_id else message.role
    return message if role == message.role and not message.extra else replace(message, role=role, extra={})
