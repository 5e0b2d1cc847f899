"""Reads native calls that a server left as text: `<tool_call>{…}</tool_call>` and its kin.

Forms: Hermes and Qwen (`<tool_call>` with JSON, or with `<function=…><parameter=…>`), Llama
(`<function=name>{…}</function>`, `<|python_tag|>`, or the bare object), Mistral (`[TOOL_CALLS]`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from .arguments import from_text, from_value
from .base import Action, FormatProblem
from .calls import CallReader
from .json_objects import meaning_of
from .lenient_json import JsonError, read_value
from .names import find_tool
from .text import unfenced

_MARKER = re.compile(
    r"(?<!`)(?:<tool_calls?>|<function_calls?>|<tool_use>|\[TOOL_CALLS\]|<\|tool_call\|>|<\|python_tag\|>)\s*"
    r"(?:`{3,}\w*\s*)?(?=[{\[])|(?<!`)<function=(?P<name>[^>\n]{1,100})>"
)
_PARAMETER = re.compile(r"\s*<parameter=(?P<name>[^>\n]{1,100})>(?P<value>.*?)</parameter>", re.DOTALL)
_END_OF_FUNCTION = re.compile(r"\s*</function>")
_NAMED = re.compile(r"(?P<name>[\w.-]{1,100})\((?P<input>\{.*\})\)", re.DOTALL)
_CALL_KEYS = ({"name", "arguments"}, {"name", "parameters"})


def read_printed(text: str, reader: CallReader, cut: bool) -> Action | FormatProblem:
    """The first printed call, for formats that take one call a reply."""
    read = read_all_printed(text, reader, cut)
    return read if isinstance(read, FormatProblem) else read[0]


def read_all_printed(text: str, reader: CallReader, cut: bool) -> list[Action] | FormatProblem:
    """All printed calls in order, or a problem: `no_action` when there are none. A closed call is whole."""
    actions: list[Action] = []
    at, thought = 0, ""
    while marker := _MARKER.search(text, at):
        if not actions:
            thought = text[: marker.start()].replace("<tool_call>", "").strip()
        try:
            read, at = _one(text, marker, reader, thought)
        except JsonError as problem:
            return reader.broken_json(problem)
        for action in read:
            if isinstance(action, FormatProblem):
                return action
            actions.append(action)
    if not actions and (bare := _bare(text, reader)):
        return bare if isinstance(bare, FormatProblem) else [bare]
    return actions or reader.problem("no_action")


def _one(
    text: str, marker: re.Match[str], reader: CallReader, thought: str
) -> tuple[list[Action | FormatProblem], int]:
    name = marker.group("name")
    if name is None:
        value, end = read_value(text, marker.end())
        calls = cast(list[Any], value) if isinstance(value, list) else [value]
        meanings = [meaning_of(call, reader, thought) for call in calls]
        read = [m if isinstance(m, Action | FormatProblem) else reader.problem("no_action") for m in meanings]
        return read, end
    at = marker.end()
    parameters: dict[str, str] = {}
    while parameter := _PARAMETER.match(text, at):
        parameters[parameter.group("name").strip()] = parameter.group("value").strip("\n")
        at = parameter.end()
    if parameters or _END_OF_FUNCTION.match(text, at):
        if not _END_OF_FUNCTION.match(text, at):
            raise JsonError("truncated", "the call is not closed")
        return [reader.action(name, lambda tool: from_value(tool, parameters), thought)], at
    if text[at:].lstrip().startswith("{"):
        value, end = read_value(text, at)
        return [reader.action(name, lambda tool: from_value(tool, value), thought)], end
    closing = text.find("</function>", at)
    if closing < 0:
        raise JsonError("truncated", "the call is not closed")
    inner = text[at:closing]
    return [reader.action(name, lambda tool: from_text(tool, inner), thought)], closing


def _bare(text: str, reader: CallReader) -> Action | FormatProblem | None:
    """A reply that is one call and nothing else, of a tool that exists: an object, or `tool({…})`."""
    body = unfenced(text).strip()
    if (named := _NAMED.fullmatch(body)) and any(tool.name == named.group("name") for tool in reader.tools):
        return reader.action(named.group("name"), lambda tool: from_text(tool, named.group("input")), "")
    if not body.startswith("{"):
        return None
    try:
        value, end = read_value(body)
    except JsonError:
        return None
    if body[end:].strip() or not isinstance(value, Mapping):
        return None
    fields = cast(Mapping[str, Any], value)
    keys = set(fields) - {"type", "id"}
    if keys not in _CALL_KEYS or find_tool(str(fields.get("name")), reader.tools) is None:
        return None
    meaning = meaning_of(fields, reader)
    return meaning if isinstance(meaning, Action | FormatProblem) else None
