"""From what a model wrote as a call's input to arguments that fit the tool's schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from ...memory.messages import clean
from ...tools.arguments import fit_arguments
from ...tools.definition import ToolError
from .base import Reason, Tool
from .fitting import ArgumentError, from_list, named, only_parameter, only_parameter_type, properties, unwrapped
from .lenient_json import QUOTES, JsonError, JsonErrorKind, read_value, without_surrogates
from .text import sections, without_open_fence, without_stop_word

_FENCED = re.compile(r"(?:`{3,}|~{3,})[\w+-]*[^\S\n]*\n?(.*)", re.DOTALL)
_CODE_BLOCK = re.compile(
    r"\s*(?P<fence>`{3,}|~{3,})[\w+-]*[^\S\n]*\n(?P<code>(?:(?!`{3}|~{3})[^\n]*\n)*?)(?P=fence)[^\S\n]*$", re.MULTILINE
)
_CLOSING_FENCE = re.compile(r"\n?[^\S\n]*(?:`{3,}|~{3,})")
_LANGUAGE_WORD = re.compile(r"json\s*(?=[{\[｛])", re.IGNORECASE)
_AFTER_ARGUMENTS = re.compile(r"[\s`}\])\]｝］;；.。]*(?:<[^>\n]*>\s*)*")
_OPEN_TEXT = re.compile(r'"(?:\\.|[^"\\])*', re.DOTALL)
_OPEN_LIST = re.compile(r"[\[［]\s*[\"'{\[]")
_ANOTHER_OBJECT = re.compile(r"\s*(?=[{｛])")
_MAX_ENCODINGS = 3
_JSON_REASONS: dict[JsonErrorKind, tuple[Reason, str]] = {
    "truncated": ("truncated_or_empty", "not complete"),
    "duplicate_key": ("duplicate_key", "ambiguous"),
    "invalid": ("invalid_arguments", "not valid JSON"),
}


def from_text(tool: Tool, written: str, *, following: str = "", cut: bool = False) -> dict[str, Any]:
    """Arguments written in a text format: JSON, a quoted or plain text for the one parameter, `key=value`.

    Args:
        written: the input up to the next label.
        following: the input and all that comes after it, for JSON whose texts hold lines that look like labels.
        cut: the reply was cut off at the end of `written`.

    Raises:
        ArgumentError: they do not fit, or are not whole.
    """
    text = _unfenced(written, following)
    opening = text[:1]
    if opening and opening in "{｛":
        return from_value(tool, _read_object(text, _without_fence(following)))
    if opening and opening in "[［" and only_parameter_type(tool) != "string":
        return from_value(tool, _read(text))
    if opening in QUOTES:
        quoted = _read_quoted(text)
        if quoted is not None:
            return from_value(tool, quoted)
        if only_parameter_type(tool) == "array" and isinstance(items := _value_of(f"[{text}]"), list):
            return from_value(tool, items)
    _refuse_open(text)
    plain = without_stop_word(text)
    if cut and plain == text:
        raise ArgumentError("truncated_or_empty", "the reply was cut off before the input was complete")
    embedded = _embedded_object(tool, plain)
    return embedded if embedded is not None else from_value(tool, plain)


def from_native(tool: Tool, written: Any, *, cut: bool = False) -> dict[str, Any]:
    """Arguments of a native call: JSON text, an object already, encoded twice, empty or null.

    Raises:
        ArgumentError: as `from_text`.
    """
    if not isinstance(written, str):
        return from_value(tool, without_surrogates(written))
    text = clean(written).strip("\ufeff \t\r\n")
    if cut and text[:1] not in ("{", "｛", "["):
        raise ArgumentError("truncated_or_empty", "the reply was cut off before the arguments were complete")
    if text == "null":
        return from_value(tool, None)
    _refuse_open(text)
    return from_value(tool, text)


def from_value(tool: Tool, value: Any) -> dict[str, Any]:
    """Arguments from a JSON value, or from the text of one.

    Raises:
        ArgumentError: as `from_text`.
    """
    if isinstance(value, str) and _FENCED.match(value.strip()):
        value = _without_fence(value)
    for _ in range(_MAX_ENCODINGS):
        if not isinstance(value, str) or not value.strip() or not _looks_encoded(tool, value.strip()):
            break
        value = _read_whole(value.strip())
    value = from_list(tool, value)
    if not properties(tool) and not tool.parameters.get("additionalProperties"):
        return {}
    if isinstance(value, Mapping):
        given = unwrapped(tool, cast(Mapping[str, Any], value))
    elif value is None or value == "":
        given = {}
    else:
        given = named(tool, value)
    try:
        return fit_arguments(tool, given)
    except ToolError as error:
        raise ArgumentError("invalid_arguments", str(error)) from error


def replayable(written: Any) -> str:
    """Arguments as JSON text of an object, for the history; `{}` for what is no whole object."""
    value: Any = written
    for _ in range(_MAX_ENCODINGS):
        if not isinstance(value, str):
            break
        try:
            value = _read_whole(value.strip()) if value.strip() else {}
        except ArgumentError:
            value = {}
    return clean(json.dumps(value if isinstance(value, Mapping) else {}, ensure_ascii=False))


def example_arguments(tool: Tool) -> dict[str, Any]:
    """Right arguments to show: the schema's own examples, or a value of the right type for each required one."""
    required = tool.parameters.get("required", tuple(properties(tool)))
    return {name: _example(schema) for name, schema in properties(tool).items() if name in required}


def _example(schema: Mapping[str, Any]) -> Any:
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    kind = schema.get("type")
    values: dict[str, Any] = {"integer": 3, "number": 2.5, "boolean": True, "array": [], "object": {}}
    return values.get(kind, "…") if isinstance(kind, str) else "…"


def _looks_encoded(tool: Tool, text: str) -> bool:
    if text[0] in "{｛":
        return True
    if text[0] in "[［":
        is_list = _OPEN_LIST.match(text) is None or isinstance(from_list(tool, _value_of(text)), list | None)
        return only_parameter_type(tool) != "string" or not is_list
    return text[0] == '"' and _read_quoted(text) is not None


def _embedded_object(tool: Tool, text: str) -> dict[str, Any] | None:
    """Arguments in an object that prose stands before, when every key of it is a parameter."""
    at = text.find("{")
    if at < 0:
        return None
    try:
        value, _ = read_value(text, at)
    except JsonError as problem:
        if only_parameter(tool) is None:
            raise _problem(problem) from problem
        return None
    if isinstance(value, dict) and value and all(key in properties(tool) for key in cast(dict[str, Any], value)):
        return from_value(tool, value)
    return None


def _without_fence(text: str) -> str:
    """The input without the code fence or backticks around it; a fence that is never closed is cut off."""
    text = _LANGUAGE_WORD.sub("", text.strip(), count=1) if _LANGUAGE_WORD.match(text.strip()) else text.strip()
    fenced = _FENCED.match(text)
    if not fenced:
        if len(text) > 1 and text[0] == text[-1] == "`":
            return text.strip("`").strip()
        return without_open_fence(text)
    inside = fenced.group(1)
    if inside.lstrip()[:1] in ("{", "["):
        return inside.strip()
    closing = _CLOSING_FENCE.search(inside)
    if closing is None:
        raise ArgumentError("truncated_or_empty", "the code fence around the input is not closed")
    return inside[: closing.start()].strip("\n")


def _unfenced(written: str, following: str) -> str:
    """The input without its fence, in which lines may stand that look like labels."""
    try:
        return _without_fence(written)
    except ArgumentError:
        inside = _CODE_BLOCK.match(following)
        if inside is None or any(part.kind == "observation" for part in sections(inside["code"])):
            raise
        return inside["code"].strip("\n")


def _read_object(text: str, following: str) -> Any:
    try:
        return read_value(text)[0]
    except JsonError as problem:
        if problem.kind != "truncated" or not following.startswith(text):
            raise _problem(problem) from problem
        return _read(following)


def _read(text: str) -> Any:
    try:
        return read_value(text)[0]
    except JsonError as problem:
        raise _problem(problem) from problem


def _read_whole(text: str) -> Any:
    """The value that the text is, but for stray closing marks behind it.

    Some gateways begin a call with `{}` and write its arguments behind that, or write them twice.
    """
    try:
        value, end = read_value(text)
        while _ANOTHER_OBJECT.match(text, end):
            following, behind = read_value(text, end)
            if value != following and {} not in (value, following):
                break
            value, end = value or following, behind
    except JsonError as problem:
        raise _problem(problem) from problem
    if not _AFTER_ARGUMENTS.fullmatch(text, end):
        raise ArgumentError("invalid_arguments", f"there is more behind the arguments: {text[end : end + 40]!r}")
    return value


def _refuse_open(text: str) -> None:
    """Refuse a quoted text or a list that ends too early; it would do as plain text for a tool with one parameter.

    Raises:
        ArgumentError: it is one.
    """
    if _OPEN_TEXT.fullmatch(text):
        raise ArgumentError("truncated_or_empty", "the input ends inside a quoted text")
    if _OPEN_LIST.match(text):
        try:
            read_value(text)
        except JsonError as problem:
            if problem.kind == "truncated":
                raise ArgumentError("truncated_or_empty", "the input ends inside a list") from problem


def _value_of(text: str) -> Any:
    """The value that the text is, None when it is no value."""
    try:
        value, end = read_value(text)
    except JsonError:
        return None
    return None if text[end:].strip() else value


def _read_quoted(text: str) -> str | None:
    """The text inside quotes, when they stand around the whole input."""
    try:
        value, end = read_value(text)
    except JsonError:
        return None
    rest = without_stop_word("\n" + text[end:].strip()).strip()
    return value if isinstance(value, str) and not rest else None


def _problem(problem: JsonError) -> ArgumentError:
    reason, what = _JSON_REASONS[problem.kind]
    return ArgumentError(reason, f"the arguments are {what}: {problem}")
