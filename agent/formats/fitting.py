"""From a value that a model gave as a call's input to the parameters of the tool, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from ...tools.arguments import usage
from .base import Reason, Tool
from .lenient_json import QUOTES, JsonError, read_value
from .names import fold, fold_key

_KEY_VALUE = re.compile(r"\s*([\w-]+)\s*[=＝:：][^\S\n]*")
_NEXT_KEY = re.compile(r"[,，\n]\s*(?=[\w-]+\s*[=＝:：])|$")
_OPENINGS = QUOTES | set("{｛[［")
_VALUE_END = re.compile(r"[^\S\n]*(?:[,，\n]|$)")
# Keys as `fold_key` gives them
INPUT_KEYS = (
    *("actioninput", "arguments", "args", "parameters", "params", "toolinput", "actionarguments", "actionargs"),
    *("toolarguments", "toolargs", "kwargs", "inputs", "input", "行动输入", "动作输入", "参数", "输入"),
)
_WRAPPERS = frozenset(INPUT_KEYS)
_GENERIC = _WRAPPERS | {"value", "text", "arg", "param", "argument", "parameter", "arg1", ""}
_SINGLE = frozenset({"string", "number", "integer", "boolean"})


class ArgumentError(ValueError):
    """Arguments that cannot be used; the message tells the model why."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


def properties(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    """The schemas of the tool's parameters, by name."""
    return tool.parameters.get("properties") or {}


def only_parameter(tool: Tool) -> str | None:
    """The parameter that a bare value is meant for: the only one, or the only required one."""
    names = list(properties(tool))
    required = [name for name in tool.parameters.get("required") or () if name in names]
    if len(names) == 1:
        return names[0]
    return required[0] if len(required) == 1 else None


def only_parameter_type(tool: Tool) -> str | None:
    """The type in the schema of that parameter."""
    name = only_parameter(tool)
    return properties(tool)[name].get("type") if name else None


def named(tool: Tool, value: Any) -> dict[str, Any]:
    """A bare value under its parameter's name, or `key=value` pairs taken apart.

    Raises:
        ArgumentError: the tool has several parameters that the value may be meant for.
    """
    if isinstance(value, str) and (pairs := key_values(tool, value)):
        return pairs
    name = only_parameter(tool)
    if name is None:
        raise ArgumentError("invalid_arguments", f"{tool.name}: the input must be a JSON object with {usage(tool)}")
    return {name: value}


def unwrapped(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what is wrapped around the arguments, its keys by their right names.

    Raises:
        ArgumentError: two keys mean the same parameter.
    """
    names = list(properties(tool))
    if len(given) == 1:
        (key, value), only = next(iter(given.items())), only_parameter(tool)
        if key not in names and fold_key(key) in _WRAPPERS and isinstance(value, Mapping):
            return unwrapped(tool, cast(Mapping[str, Any], value))
        if key not in names and fold_key(key) in _GENERIC and only:
            return {only: value}
    if (inner := _inside_call(tool, given)) is not None:
        return unwrapped(tool, inner)
    folded = {fold_key(name): name for name in names}
    fitted: dict[str, Any] = {}
    for key, value in given.items():
        name = key if key in names else folded.get(fold_key(key), key)
        if name in fitted:
            raise ArgumentError("duplicate_key", f"{tool.name}: the parameter {name!r} is given twice")
        fitted[name] = value
    return fitted


def _inside_call(tool: Tool, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of a whole call of the tool that stands where its arguments belong; None when it is none."""
    strange = {key: value for key, value in given.items() if key not in properties(tool)}
    inner = [
        cast(Mapping[str, Any], value)
        for key, value in strange.items()
        if fold_key(key) in _WRAPPERS and isinstance(value, Mapping)
    ]
    names = [value for value in strange.values() if isinstance(value, str) and fold(value) == fold(tool.name)]
    is_call = len(given) == len(strange) == 2 and len(inner) == len(names) == 1
    return inner[0] if is_call else None


def from_list(tool: Tool, value: Any) -> Any:
    """The one thing in a list, when it is an object whose keys are parameters of the tool, or when the tool's only
    parameter takes a single value; else the value."""
    if not isinstance(value, list) or len(cast(list[Any], value)) != 1:
        return cast(Any, value)
    (only,) = cast(list[Any], value)
    keys = set(cast(Mapping[str, Any], only)) if isinstance(only, Mapping) else set[str]()
    is_object = bool(keys) and keys <= properties(tool).keys()
    is_value = isinstance(only, str | int | float) and only_parameter_type(tool) in _SINGLE
    return cast(Any, only if is_object or is_value else value)


def key_values(tool: Tool, text: str) -> dict[str, Any] | None:
    """`title="a", limit=3` for parameters of the tool; None when the text is something else."""
    found: dict[str, Any] = {}
    at = 0
    while match := _KEY_VALUE.match(text, at):
        name = match.group(1)
        if name not in properties(tool) or name in found:
            return None
        found[name], at = _value_until_key(text, match.end())
        if found[name] == "" and at == match.end() == len(text):
            raise ArgumentError("truncated_or_empty", f"{tool.name}: the input ends before the value of {name!r}")
        at += len(text[at:]) - len(text[at:].lstrip(" \t\n,，"))
    return found if found and at >= len(text) else None


def _value_until_key(text: str, at: int) -> tuple[Any, int]:
    """A quoted text, an object or a list, or else all up to the next key, and where it ends.

    Raises:
        ArgumentError: the text ends inside a quoted text, an object or a list.
    """
    if text[at : at + 1] in _OPENINGS:
        try:
            value, end = read_value(text, at)
            if _VALUE_END.match(text, end):
                return value, end
        except JsonError as problem:
            if problem.kind == "truncated" and text[at] not in "'’":  # these may be apostrophes
                raise ArgumentError("truncated_or_empty", f"the input is not complete: {problem}") from problem
    following = _NEXT_KEY.search(text, at)
    end = following.start() if following else len(text)
    return text[at:end].strip(), end
