"""Reads native calls that a server left as text: `<tool_call>{…}</tool_call>` and its kin.

Forms: Hermes and Qwen (`<tool_call>` with JSON, or with `<function=…><parameter=…>`), Llama
(`<function=name>{…}</function>`, `<|python_tag|>`, or the bare object), Mistral (`[TOOL_CALLS]`, with a list or with
`name[ARGS]{…}`), DeepSeek and Kimi (`<|tool_call_begin|>`), gpt-oss (`<|channel|>commentary to=…`), GLM
(`<tool_call>name<arg_key>…`) and MiniMax (`<invoke name="…">`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from .arguments import from_text, from_value
from .base import Action, FormatProblem
from .calls import CallReader
from .fitting import key_values
from .json_objects import meaning_of
from .lenient_json import JsonError, read_value
from .names import find_tool
from .text import unfenced

_NAME = r"[\w.:-]{1,100}"
_FENCE = r"(?:`{3,}\w*\s*)?"
_OPEN_CALL = r"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<[|｜]tool[▁_]sep[|｜]>)?"
_MARKER = re.compile(
    "(?<!`)(?:"
    # a mark before an object that names its tool
    r"(?:<tool_calls?>|<function_calls?>|<tool_use>|<tools>|\[TOOL_(?:CALLS?|REQUEST)\]|<\|tool_call\|>|<\|python_tag\|>)\s*"
    rf"{_FENCE}(?=[{{\[])"
    # a mark and a name before the arguments
    rf"|(?:\[TOOL_CALLS\]|{_OPEN_CALL}|<\|channel\|>commentary to=)\s*(?P<called>{_NAME})\s*(?:\[ARGS\]"
    r"|<[|｜]tool[▁_]sep[|｜]>|<\|tool_call_argument_begin\|>|(?:<\|constrain\|>\w+)?<\|message\|>)?\s*"
    rf"{_FENCE}(?={{)"
    # a tag that names the tool, before a tag for each argument
    rf"|<function=(?P<function>[^>\n]{{1,100}})>|<invoke name=\"(?P<invoked>[^\"\n]{{1,100}})\">"
    rf"|<tool_call>\s*(?P<listed>{_NAME})\s*(?=<arg_key>)"
    ")",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"\s*(?:<parameter(?:=| name=\")(?P<name>[^>\"\n]{1,100})\"?>"
    r"|<arg_key>(?P<key>[^<]{1,100})</arg_key>\s*<arg_value>)(?P<value>.*?)</(?:parameter|arg_value)>",
    re.DOTALL,
)
_END_OF_CALL = re.compile(r"\s*</(?:function|invoke|tool_call)>")
_WRAPPERS = re.compile(
    r"<tool_call>|<[\w:.-]*(?:tool|function)_calls>|<[|｜]tool[▁_]calls(?:[▁_]section)?[▁_]begin[|｜]>"
)
_PYTHON_CALL = re.compile(r"(?:<\|python_tag\|>)?\[?(?P<name>[\w.-]{1,100}?)(?:\.call)?\((?P<input>.*)\)\]?", re.DOTALL)
_CALL_KEYS = ({"name", "arguments"}, {"name", "parameters"})
_AROUND_CALLS = frozenset({"tool_calls", "tool_call", "function", "function_call"})


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
            thought = _WRAPPERS.sub("", text[: marker.start()]).strip()
        try:
            read, at = _one(text, marker, reader, thought)
        except JsonError as problem:
            return reader.broken_json(problem)
        for action in read:
            if isinstance(action, FormatProblem):
                return action
            actions.append(action)
    for action in [] if actions else _bare(text, reader):
        if isinstance(action, FormatProblem):
            return action
        actions.append(action)
    return actions or reader.problem("no_action")


def _one(
    text: str, marker: re.Match[str], reader: CallReader, thought: str
) -> tuple[list[Action | FormatProblem], int]:
    """The calls behind a mark, and where they end."""
    name = marker["function"] or marker["invoked"] or marker["listed"]
    if name is not None:
        action, end = _tagged(text, marker.end(), name, reader, thought)
        return [action], end
    value, end = read_value(text, marker.end())
    if marker["called"] is not None:
        return [reader.action(marker["called"], lambda tool: from_value(tool, value), thought)], end
    calls = cast(list[Any], value) if isinstance(value, list) else [value]
    meanings = [meaning_of(call, reader, thought) for call in calls]
    return [m if isinstance(m, Action | FormatProblem) else reader.problem("no_action") for m in meanings], end


def _tagged(text: str, at: int, name: str, reader: CallReader, thought: str) -> tuple[Action | FormatProblem, int]:
    """A call whose arguments stand in tags, or as JSON or text in the tag that names the tool."""
    parameters: dict[str, str] = {}
    while parameter := _PARAMETER.match(text, at):
        parameters[(parameter["name"] or parameter["key"]).strip()] = parameter["value"].strip("\n")
        at = parameter.end()
    if parameters or _END_OF_CALL.match(text, at):
        if not _END_OF_CALL.match(text, at):
            raise JsonError("truncated", "the call is not closed")
        return reader.action(name, lambda tool: from_value(tool, parameters), thought), at
    if text[at:].lstrip().startswith("{"):
        value, end = read_value(text, at)
        return reader.action(name, lambda tool: from_value(tool, value), thought), end
    closing = text.find("</function>", at)
    if closing < 0:
        raise JsonError("truncated", "the call is not closed")
    inner = text[at:closing]
    return reader.action(name, lambda tool: from_text(tool, inner), thought), closing


def _bare(text: str, reader: CallReader) -> list[Action | FormatProblem]:
    """The calls of a reply that is calls of tools that exist and nothing else: an object, a list of such, `tool({…})`,
    `tool(key=value)`."""
    body = unfenced(text).strip()
    if called := _PYTHON_CALL.fullmatch(body):
        call = _python_call(called["name"], called["input"].strip(), reader)
        return [call] if call else []
    if not body.startswith(("{", "[")):
        return []
    try:
        value, end = read_value(body)
    except JsonError:
        return []
    calls = _calls_in(value)
    if body[end:].strip() or not all(call and find_tool(str(call.get("name")), reader.tools) for call in calls):
        return []
    meanings = [meaning_of(call, reader) for call in calls]
    return [meaning for meaning in meanings if isinstance(meaning, Action | FormatProblem)]


def _calls_in(value: Any) -> list[Mapping[str, Any] | None]:
    """The calls that a value consists of; None for each part that is none."""
    if isinstance(value, list):
        return [call for part in cast(list[Any], value) for call in _calls_in(part)]
    if not isinstance(value, Mapping):
        return [None]
    fields = cast(Mapping[str, Any], value)
    keys = set(fields) - {"type", "id"}
    if len(keys) == 1 and keys <= _AROUND_CALLS:
        return _calls_in(fields[keys.pop()])
    return [fields if keys in _CALL_KEYS else None]


def _python_call(name: str, written: str, reader: CallReader) -> Action | FormatProblem | None:
    tool = next((tool for tool in reader.tools if tool.name == name), None)
    is_object = written.startswith("{") and written.endswith("}")
    if tool is None or not (is_object or key_values(tool, written)):
        return None
    return reader.action(name, lambda tool: from_text(tool, written), "")
