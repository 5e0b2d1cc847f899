"""Reads a call or an answer out of JSON objects, with prose and fences around them or not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from .arguments import from_value
from .base import Action, FinalAnswer, FormatProblem, Tool
from .calls import CallReader
from .fitting import INPUT_KEYS
from .lenient_json import QUOTES, JsonError, read_value
from .names import fold_key, means_finish, means_nothing

# Keys as `fold_key` gives them
_NAME = ("action", "tool", "toolname", "行动", "动作", "工具")
_NAME_WITH_INPUT = ("name", "function", "functionname", "command", "recipientname", "名称")
_ANSWER = ("finalanswer", "answer", "最终答案", "答案")
_THOUGHT = ("thought", "thoughts", "thinking", "reasoning", "思考", "想法")
_OBJECT = re.compile(rf"[{{｛]\s*(?:\\?[{''.join(QUOTES)}]|[\w-]+\s*[:：]|[}}｝]|//|/\*|#|$)")
_MAX_WRAPPING = 3

Fields = Mapping[str, Any]


def read_json(text: str, reader: CallReader, cut: bool) -> Action | FinalAnswer | FormatProblem:
    """What the first object says that is a call or an answer. A closed object is whole, cut off or not."""
    text = _unquoted(text)
    at = 0
    while opening := _OBJECT.search(text, at):
        at = opening.start()
        try:
            value, end = read_value(text, at)
        except JsonError as problem:
            return reader.broken_json(problem)
        meaning = meaning_of(value, reader)
        if isinstance(meaning, Action | FinalAnswer):
            return replace(meaning, thought=meaning.thought or _prose(text[:at].strip("`\n \t")))
        if meaning is not None:
            return meaning
        at = end
    return reader.problem("no_action")


def meaning_of(
    value: Any, reader: CallReader, thought: str = "", depth: int = 0
) -> Action | FinalAnswer | FormatProblem | None:
    """What an object says, the keys of common agents and APIs understood; None when it says nothing."""
    if isinstance(value, list) and value:
        return meaning_of(cast(list[Any], value)[0], reader, thought, depth + 1)
    if not isinstance(value, Mapping) or depth > _MAX_WRAPPING:
        return None
    fields = {fold_key(key): item for key, item in cast(Fields, value).items()}
    thought = str(_first(fields, _THOUGHT) or "").strip() or _prose(thought)
    given, has_input = _first(fields, INPUT_KEYS), any(key in fields for key in INPUT_KEYS)
    name = _first(fields, _NAME)
    if name is None and (has_input or isinstance(_first(fields, _NAME_WITH_INPUT), Mapping)):
        name = _first(fields, _NAME_WITH_INPUT)
    answer = _first(fields, _ANSWER)
    if isinstance(name, Mapping | list):
        return meaning_of(cast(Any, name), reader, thought, depth + 1)
    if isinstance(name, str) and means_nothing(name):
        name = None
    rest = {key: item for key, item in cast(Fields, value).items() if fold_key(key) not in (*_NAME, *_THOUGHT)}
    if name is not None and means_finish(str(name), reader.tools):
        return answer_of(given if has_input else rest, reader, thought)
    if name is not None and answer not in (None, ""):
        return reader.problem("several_intents")
    if name is not None:
        return reader.action(str(name), lambda tool: _arguments(tool, given, has_input, rest), thought)
    if any(key in fields for key in _ANSWER):
        return answer_of(answer, reader, thought)
    if (call := _named_by_key(cast(Fields, value), reader)) is not None:
        return reader.action(call[0], lambda tool: from_value(tool, call[1]), thought)
    wrapped: list[Any] = [item for item in fields.values() if isinstance(item, Mapping | list)]
    meanings = (meaning_of(item, reader, thought, depth + 1) for item in wrapped)
    return next((meaning for meaning in meanings if meaning is not None), None)


def _named_by_key(value: Fields, reader: CallReader) -> tuple[str, Any] | None:
    """The call of `{"search": {"query": …}}`: a tool's exact name as the only key beside a thought."""
    said = [(key, item) for key, item in value.items() if fold_key(key) not in _THOUGHT]
    is_call = len(said) == 1 and any(tool.name == said[0][0] for tool in reader.tools)
    return said[0] if is_call else None


def answer_of(value: Any, reader: CallReader, thought: str) -> FinalAnswer | FormatProblem:
    """The answer as text; an object with one text in it (`{"answer": "42"}`) is that text."""
    if isinstance(value, Mapping) and len(cast(Fields, value)) == 1:
        (value,) = cast(Fields, value).values()
    if value is None or value == "":
        return reader.problem("truncated_or_empty")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return FinalAnswer(text.strip(), thought) if text.strip() else reader.problem("truncated_or_empty")


def _arguments(tool: Tool, given: Any, has_input: bool, rest: dict[str, Any]) -> dict[str, Any]:
    """The input, or the parameters written beside the name."""
    parameters: Fields = tool.parameters.get("properties") or {}
    if has_input and not any(fold_key(key) in INPUT_KEYS and key in parameters for key in rest):
        return from_value(tool, given)
    return from_value(tool, {key: item for key, item in rest.items() if key in parameters or not has_input})


def _first(fields: Fields, keys: tuple[str, ...]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def _unquoted(text: str) -> str:
    """The object inside a reply that is its text, encoded once more; else the reply."""
    if not text.startswith('"'):
        return text
    try:
        value, end = read_value(text)
    except JsonError:
        return text
    return value if isinstance(value, str) and value.lstrip().startswith("{") and not text[end:].strip() else text


def _prose(text: str) -> str:
    return re.sub(r"`{3,}\w*\s*$", "", text).strip()
