"""Items of OpenAI's Responses API as chat messages (https://platform.openai.com/docs/api-reference/responses).

They stand in a list of their own (`message`, `function_call`, `function_call_output`, `reasoning`), or a whole response
stands for a turn, with its items under `output`, as mini-swe-agent keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .common import as_list, as_name, as_object, as_text, assistant, tool_call, tool_result

_TEXTS = ("input_text", "output_text")


def as_chat(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same list with its items as messages; what is a message already stays as it is."""
    out: list[dict[str, Any]] = []
    for item in _items(entries):
        kind = as_name(item.get("type"))
        if kind == "function_call":
            call = tool_call(item.get("call_id"), item.get("name"), item.get("arguments") or "")
            turn = out.pop() if out and out[-1].get("role") == "assistant" else {}
            out.append(assistant(as_text(turn.get("content")), [*as_list(turn.get("tool_calls")), call]))
        elif kind == "function_call_output":
            out.append(tool_result(item.get("call_id"), as_text(item.get("output"))))
        elif kind == "message" or any(as_object(part).get("type") in _TEXTS for part in as_list(item.get("content"))):
            out.append({"role": item.get("role"), "content": as_text(item.get("content"))})
        elif kind != "reasoning" and not kind.endswith("_call"):  # calls of the provider's own tools show no result
            out.append(item)
    return out


def _items(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        if entry.get("object") == "response":
            yield from map(as_object, as_list(entry.get("output")))
        else:
            yield entry
