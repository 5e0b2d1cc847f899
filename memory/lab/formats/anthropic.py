"""Anthropic messages: `{"system", "messages"}` with content blocks (https://docs.claude.com/en/api/messages)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .common import Draft, as_list, as_name, as_object, as_text, assistant, run_id, tool_call, tool_result

_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}


def reads(document: Any) -> bool:
    run = as_object(document)
    messages = as_list(document) or as_list(run.get("messages"))
    if not messages or not all("role" in as_object(m) for m in messages):
        return False
    return "system" in run or any(as_name(b.get("type")) in _BLOCKS for m in messages for b in _blocks(m))


def _blocks(message: Any) -> list[dict[str, Any]]:
    return [as_object(block) for block in as_list(as_object(message).get("content"))]


def drafts(document: Any) -> Iterator[Draft]:
    run = as_object(document)
    draft = Draft([], "anthropic", run_id(run))
    if run.get("system"):
        draft.messages.append({"role": "system", "content": as_text(run["system"])})
    for message in as_list(document) or as_list(run.get("messages")):
        draft.messages += _translated(as_object(message))
    yield draft


def _translated(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    text, blocks = as_text(message.get("content")), _blocks(message)
    if message.get("role") == "assistant":
        calls = [tool_call(b.get("id"), b.get("name"), b.get("input")) for b in blocks if b.get("type") == "tool_use"]
        yield assistant(text, calls)
        return
    results = [b for b in blocks if b.get("type") == "tool_result"]
    for block in results:
        yield tool_result(block.get("tool_use_id"), as_text(block.get("content")))
    if text or not results:
        yield {"role": message.get("role"), "content": text}
