"""OpenAI chat lists: a bare list, `{"messages": […]}`, one message a line, and the same with usage beside it.

The usage form is `{"id", "source", "messages", "usage": [{"msg", "prompt", "completion", "cached"}]}`, where `msg` is
the index of the reply. Legacy `function_call` messages are read as tool calls
(https://platform.openai.com/docs/api-reference/chat/create), and so are the items of the Responses API.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..transcripts import Usage
from . import responses
from .common import Draft, FormatError, as_count, as_list, as_object, run_id, tool_call


def reads(document: Any) -> bool:
    run = as_object(document)
    messages = as_list(document) or as_list(run.get("messages"))
    if not messages:  # an empty run, but said to be one
        return document == [] or run.get("messages") == [] or responses.is_exchange(run)
    return isinstance(as_object(messages[0]).get("role"), str)


def drafts(document: Any) -> Iterator[Draft]:
    run = as_object(document)
    messages = [as_object(m) for m in as_list(document) or as_list(run.get("messages")) or responses.items(run)]
    if not messages:
        raise FormatError("no message")
    yield Draft(
        messages=modern(messages),
        source=str(run.get("source") or "chat"),
        id=run_id(run),
        usage=[
            Usage(as_count(u.get("msg")), as_count(u.get("prompt")), as_count(u.get("completion")), u.get("cached"))
            for u in map(as_object, as_list(run.get("usage")))
            if isinstance(u.get("cached"), int | None) and as_count(u.get("prompt"))
        ],
    )


def modern(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same list with `function_call` and `function` messages, and items of responses, as calls and results."""
    out: list[dict[str, Any]] = []
    for index, message in enumerate(responses.as_chat(messages)):
        call = as_object(message.get("function_call"))
        if call and not message.get("tool_calls"):
            made = tool_call(f"call_{index}", call.get("name"), call.get("arguments") or "")
            message = {**message, "tool_calls": [made]}
        elif message.get("role") == "function":
            asked = as_list(out[-1].get("tool_calls")) if out else []
            message = {**message, "role": "tool", "tool_call_id": asked[0]["id"] if asked else None}
        out.append(message)
    return out
