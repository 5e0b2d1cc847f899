"""What the readers of all formats share: a run in the making, and safe looks into JSON of unknown shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from ..transcripts import Usage


class FormatError(ValueError):
    """A run that its reader can't take as it is; the text says why, and whoever opened the file adds where."""


@dataclass(slots=True)
class Draft:
    """A run as a reader found it: `messages` are OpenAI dicts, not yet checked."""

    messages: list[dict[str, Any]]
    source: str
    id: str = ""
    usage: list[Usage] = field(default_factory=list[Usage])


@dataclass(frozen=True, slots=True)
class Found:
    """A run and the line of its file that it begins on."""

    line: int
    draft: Draft


class Reader(Protocol):
    """A module that reads one family of formats from JSON values.

    `document` is one run, or several in one object; a file that is a list of entries (messages, events) comes as
    that list. `drafts` raises FormatError for what it can't read.
    """

    @staticmethod
    def reads(document: Any) -> bool: ...
    @staticmethod
    def drafts(document: Any) -> Iterator[Draft]: ...


def as_object(value: Any) -> dict[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value where it is a JSON array, else an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_text(content: Any) -> str:
    """Text of a content field: a string, or the text parts of a list of blocks; else its JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (_block_text(block) for block in cast(list[Any], content))))
    if isinstance(content, dict) and isinstance(as_object(content).get("text"), str):
        return as_object(content)["text"]
    return json.dumps(content, ensure_ascii=False)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    text = as_object(block).get("text")
    return text if isinstance(text, str) else ""


def as_name(value: Any) -> str:
    """The value where it is a string, else an empty one: kinds and ids can be looked up by it."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    """The value where it is a whole number of at least 0, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def tool_call(id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """An OpenAI tool call; arguments that are not JSON text yet are written as such."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": str(id or ""), "type": "function", "function": {"name": str(name or ""), "arguments": text}}


def assistant(text: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """An assistant message, its text null where it only calls tools."""
    message: dict[str, Any] = {"role": "assistant", "content": text if text or not calls else None}
    if calls:
        message["tool_calls"] = calls
    return message


def tool_result(call_id: Any, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": str(call_id) if call_id else None, "content": text}


def run_id(document: Mapping[str, Any]) -> str:
    """The run's name, under the key that the common formats use; empty where there is none."""
    for key in ("id", "instance_id", "run_id", "task_id", "thread_id", "conversation_id"):
        if isinstance(document.get(key), (str, int)):
            return str(document[key])
    return ""
