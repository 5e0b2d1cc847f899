"""Items of OpenAI's Responses API as chat messages (https://platform.openai.com/docs/api-reference/responses).

They stand in a list of their own (`message`, `function_call`, `function_call_output`, `reasoning`, …), under `input`
and `output` of a whole exchange, or a whole response stands for a turn, as mini-swe-agent keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .common import FormatError, as_list, as_name, as_object, as_text, assistant, tool_call, tool_result

_TEXTS = ("input_text", "output_text")
_ASKED = {  # what a call gives its tool, and under which key
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "computer_call": "action",
    "apply_patch_call": "operation",
    "mcp_call": "arguments",
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
}
_GIVEN = {  # where the provider runs the tool itself, the result, if it is told, stands in the call
    "mcp_call": "output",
    "web_search_call": "results",
    "file_search_call": "results",
    "code_interpreter_call": "outputs",
}
_OUTPUTS = {f"{kind}_output" for kind in _ASKED if kind not in _GIVEN}
_SKIPPED = {"reasoning", "mcp_list_tools"}  # no part of what was said or done


def is_exchange(run: dict[str, Any]) -> bool:
    """Whether this is a whole request or response of this API."""
    first = as_object(next(iter([*as_list(run.get("input")), *as_list(run.get("output"))]), None))
    return "role" in first or "type" in first


def items(run: dict[str, Any]) -> list[Any]:
    """The items of a whole request, with those of its response.

    Raises:
        FormatError: a response stands without its request.
    """
    asked = run.get("input")
    if not asked and run.get("output"):
        raise FormatError(
            "a response without its `input`: give the items of the run as one list, or both in one object"
        )
    rules = [{"role": "system", "content": as_text(run["instructions"])}] if run.get("instructions") else []
    told = [{"role": "user", "content": asked}] if isinstance(asked, str) else as_list(asked)
    return [*rules, *told, *as_list(run.get("output"))]


def as_chat(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same list with its items as messages; what is a message already stays as it is.

    Raises:
        FormatError: an item is of a kind that has no counterpart in a chat list.
    """
    out: list[dict[str, Any]] = []
    for number, item in enumerate(_items(entries)):
        kind = as_name(item.get("type"))
        if kind in _ASKED:
            call = _call(kind, item, f"call_{number}")
            turn = out.pop() if out and out[-1].get("role") == "assistant" else {}
            out.append(assistant(as_text(turn.get("content")), [*as_list(turn.get("tool_calls")), call]))
            if kind in _GIVEN:
                out.append(tool_result(call["id"], _result(item.get(_GIVEN[kind]) or item.get("error"))))
        elif kind in _OUTPUTS:
            out.append(tool_result(item.get("call_id") or item.get("id"), _result(item.get("output"))))
        elif kind == "message" or any(as_object(part).get("type") in _TEXTS for part in as_list(item.get("content"))):
            out.append({"role": item.get("role"), "content": as_text(item.get("content"))})
        elif kind and "role" not in item and kind not in _SKIPPED:
            raise FormatError(
                f"item {number}, {kind!r}, is not supported: give the run as chat messages, with this item as a call "
                "and its result, or without it"
            )
        elif kind not in _SKIPPED:
            out.append(item)
    return out


def _items(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        if entry.get("object") == "response":
            yield from map(as_object, as_list(entry.get("output")))
        else:
            yield entry


def _call(kind: str, item: dict[str, Any], unnamed: str) -> dict[str, Any]:
    key = _ASKED[kind]
    asked: Any = item.get(key)
    name = item.get("name") or kind.removesuffix("_call")
    arguments = (asked or "") if key == "arguments" else as_object(asked) or {key: asked}
    return tool_call(item.get("call_id") or item.get("id") or unnamed, name, arguments)


def _result(output: Any) -> str:
    """The text of a result; for a picture its kind, for other output without text its JSON."""
    kind = as_name(as_object(output).get("type"))
    return f"[{kind}]" if kind == "computer_screenshot" else as_text(output) or (json.dumps(output) if output else "")
