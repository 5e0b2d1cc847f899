"""Arguments as a model sends them, made to fit a JSON schema where nothing is lost by it, and checked.

Models write `"185"` for 185, `"true"` for true, a JSON text where a list is wanted, null for what they leave out.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .definition import Tool, ToolError

_MAX_DEPTH = 40
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_MAX_DIGITS = 300

Schema = Mapping[str, Any]


def fit_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in the types the tool's schema asks for.

    Raises ToolError, naming the parameter, when one is missing, unknown or of the wrong kind.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match  # pyright: ignore[reportUnknownVariableType]

    if _too_deep(arguments):
        raise ToolError(f"{tool.name}: the arguments are nested more than {_MAX_DEPTH} deep; send a flatter value")
    _refuse_unknown(tool, arguments)
    fitted = _fit_object(arguments, tool.parameters, tool.parameters)
    errors: Any = Draft202012Validator(dict(tool.parameters)).iter_errors(fitted)  # pyright: ignore
    error = cast("Any", best_match(errors))
    if error is not None:
        raise ToolError(f"{tool.name}: {_explain(error, tool)}")
    return fitted


def usage(tool: Tool) -> str:
    """The parameters in one line: `query (string), limit (integer, optional)`."""
    properties: Mapping[str, Schema] = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    parts = [
        f"{name} ({_type_words(schema)}{'' if name in required else ', optional'})"
        for name, schema in properties.items()
    ]
    return ", ".join(parts) or "no parameters"


def _type_words(schema: Schema) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    kinds = schema.get("type") or [_type_words(option) for option in schema.get("anyOf", ())]
    return kinds if isinstance(kinds, str) else " or ".join(kinds) or "any value"


def _refuse_unknown(tool: Tool, arguments: Mapping[str, Any]) -> None:
    known = list(tool.parameters.get("properties", {}))
    if tool.parameters.get("additionalProperties"):
        return
    for name in arguments:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ToolError(f"{tool.name}: there is no parameter {name[:60]!r}{hint} It takes {usage(tool)}.")


def _explain(error: Any, tool: Tool) -> str:
    if error.validator == "required":
        return f"{error.message}; it takes {usage(tool)}"
    where = error.json_path.removeprefix("$.")
    message = str(error.message)
    return f"parameter {where!r}: {message if len(message) < 300 else message[:140] + ' … ' + message[-140:]}"


def _too_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else ()


def _fit(value: Any, schema: Schema, root: Schema) -> Any:
    """The value in the schema's type when that loses nothing, else the value as it is."""
    if "$ref" in schema:
        return _fit(value, _resolve(schema["$ref"], root), root)
    for options in (schema.get("anyOf"), schema.get("oneOf")):
        if options:
            return _fit_first(value, options, root)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return _fit_first(value, [{**schema, "type": kind} for kind in cast("list[str]", kinds)], root)
    if "enum" in schema:
        return _fit_choice(value, schema["enum"])
    fitter = _FITTERS.get(kinds or "")
    return fitter(value, schema, root) if fitter else value


def _resolve(ref: str, root: Schema) -> Schema:
    found: Any = root
    for part in ref.removeprefix("#/").split("/"):
        found = found.get(part, {})
    return found


def _fit_first(value: Any, options: Sequence[Schema], root: Schema) -> Any:
    for option in options:
        fitted = _fit(value, option, root)
        if _is_type(fitted, _resolve(option["$ref"], root) if "$ref" in option else option):
            return fitted
    return value


def _is_type(value: Any, schema: Schema) -> bool:
    if "enum" in schema:
        return value in schema["enum"]
    match schema.get("type"):
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
        case str() as kind if kind in _PYTHON_TYPES:
            return isinstance(value, _PYTHON_TYPES[kind])
        case _:
            return True


_PYTHON_TYPES: dict[str, type] = {"string": str, "boolean": bool, "array": list, "object": dict}


def _fit_choice(value: Any, choices: Sequence[Any]) -> Any:
    if value in choices:
        return value
    text = _fit_string(value, {}, {})
    same = [c for c in choices if isinstance(text, str) and str(c).casefold() == text.strip().casefold()]
    return same[0] if len(same) == 1 else value


def _fit_string(value: Any, schema: Schema, root: Schema) -> Any:
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def _fit_integer(value: Any, schema: Schema, root: Schema) -> Any:
    number = _fit_number(value, schema, root)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _fit_number(value: Any, schema: Schema, root: Schema) -> Any:
    if not isinstance(value, str) or len(value) > _MAX_DIGITS or not _NUMBER.fullmatch(value.strip()):
        return value
    text = value.strip()
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _fit_boolean(value: Any, schema: Schema, root: Schema) -> Any:
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def _fit_array(value: Any, schema: Schema, root: Schema) -> Any:
    items = _from_json(value, "[")
    if not isinstance(items, list):
        if items is None or isinstance(items, dict):
            return value
        items = [items]  # one value where a list of values is wanted
    return [_fit(item, schema.get("items", {}), root) for item in cast("list[Any]", items)]


def _fit_object(value: Any, schema: Schema, root: Schema) -> Any:
    members = _from_json(value, "{")
    if not isinstance(members, Mapping):
        return value
    properties: Mapping[str, Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    fitted: dict[str, Any] = {}
    for name, member in cast("Mapping[str, Any]", members).items():
        fitted_member = _fit(member, properties.get(name, {}), root)
        left_out = fitted_member is None and name not in required and name in properties
        if left_out and not _allows_null(properties[name], root):
            continue
        fitted[name] = fitted_member
    return fitted


def _allows_null(schema: Schema, root: Schema) -> bool:
    options: Sequence[Schema] = schema.get("anyOf") or schema.get("oneOf") or (schema,)
    resolved = [_resolve(option["$ref"], root) if "$ref" in option else option for option in options]
    return any(option.get("type", "null") == "null" or "null" in option["type"] for option in resolved)


def _from_json(value: Any, opening: str) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if _too_deep(parsed) else parsed


_FITTERS: dict[str, Callable[[Any, Schema, Schema], Any]] = {
    "string": _fit_string,
    "integer": _fit_integer,
    "number": _fit_number,
    "boolean": _fit_boolean,
    "array": _fit_array,
    "object": _fit_object,
}
