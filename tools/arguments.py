"""Arguments as a model sends them, made to fit a JSON schema where nothing is lost by it, and checked.

Models write `"185"` for 185, `"true"` for true, a JSON text where a list is wanted, null for what they leave out.
"""

import ast
import copy
import difflib
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .definition import Tool, ToolError
from .schemas import Schema, resolved, validator_of

_MAX_DEPTH = 40
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_MAX_DIGITS = 300


def fit_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the arguments in the types the tool's schema asks for.

    Raises ToolError, naming the parameter, when one is missing, unknown or of the wrong kind.
    """
    from jsonschema.exceptions import best_match  # pyright: ignore[reportUnknownVariableType]
    from referencing.exceptions import Unresolvable

    if _too_deep(arguments):
        raise ToolError(f"{tool.name}: the arguments are nested more than {_MAX_DEPTH} deep; send a flatter value")
    validator = validator_of(tool)
    _refuse_unknown(tool, arguments)
    try:
        fitted = _fit_object(copy.deepcopy(arguments), validator.schema, validator)
        error = cast("Any", best_match(validator.iter_errors(fitted)))
    except (RecursionError, Unresolvable) as failure:
        raise ToolError(f"{tool.name} cannot be called, its schema is broken ({failure}); use another tool") from None
    if error is not None:
        raise ToolError(f"{tool.name}: {_explain(error, tool)}")
    return fitted


def usage(tool: Tool) -> str:
    """The parameters in one line: `query (string), limit (integer, optional)`."""
    required = tool.parameters.get("required", ())
    parts = [
        f"{name} ({_type_words(schema)}{'' if name in required else ', optional'})"
        for name, schema in _members(tool.parameters, "properties").items()
    ]
    return ", ".join(parts) or "no parameters"


def _type_words(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any value"
    if "enum" in schema:
        return "one of " + json.dumps(schema["enum"], ensure_ascii=False).strip("[]")
    members = cast("Schema", schema)
    kinds = members.get("type") or [_type_words(option) for option in members.get("anyOf", ())]
    return kinds if isinstance(kinds, str) else " or ".join(kinds) or "any value"


def _members(schema: Schema, name: str) -> Schema:
    found = schema.get(name)
    return cast("Schema", found) if isinstance(found, Mapping) else {}


def _refuse_unknown(tool: Tool, arguments: Mapping[str, Any]) -> None:
    known = list(_members(tool.parameters, "properties"))
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


def _fit(value: Any, written: Any, validator: Any) -> Any:
    """The value in the schema's type when that loses nothing, else the value as it is."""
    schema = resolved(written, validator.schema)
    for options in (schema.get("anyOf"), schema.get("oneOf")):
        if options:
            return _fit_first(value, options, validator)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return _fit_first(value, [{**schema, "type": kind} for kind in cast("list[str]", kinds)], validator)
    if "enum" in schema:
        return _fit_choice(value, schema["enum"])
    fitter = _FITTERS.get(kinds or "")
    return fitter(value, schema, validator) if fitter else value


def _fit_first(value: Any, options: Sequence[Any], validator: Any) -> Any:
    """The value as it is if an option takes it, else as the first option takes it that it can be made to fit."""
    checks = [validator.evolve(schema=option) for option in options]
    if any(check.is_valid(value) for check in checks):
        return value
    fitted = [_fit(value, option, validator) for option in options]
    good = [one for one, check in zip(fitted, checks, strict=True) if check.is_valid(one)]
    changed = [one for one in fitted if one is not value]
    return [*good, *changed, value][0]


def _fit_choice(value: Any, choices: Sequence[Any]) -> Any:
    if value in choices:
        return value
    text = _fit_string(value, {}, None)
    same = [c for c in choices if isinstance(text, str) and str(c).casefold() == text.strip().casefold()]
    return same[0] if len(same) == 1 else value


def _fit_string(value: Any, schema: Schema, validator: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def _fit_integer(value: Any, schema: Schema, validator: Any) -> Any:
    number = _fit_number(value, schema, validator)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _fit_number(value: Any, schema: Schema, validator: Any) -> Any:
    if not isinstance(value, str) or len(value) > _MAX_DIGITS or not _NUMBER.fullmatch(value.strip()):
        return value
    text = value.strip()
    number = int(text) if text.lstrip("+-").isdigit() else float(text)
    return number if math.isfinite(number) else value


def _fit_boolean(value: Any, schema: Schema, validator: Any) -> Any:
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def _fit_array(value: Any, schema: Schema, validator: Any) -> Any:
    rest: Any = schema.get("items", {})
    first: Any = schema.get("prefixItems", ())
    if isinstance(rest, list):  # the first items, as draft 7 writes it
        first, rest = cast("list[Any]", rest), {}
    items = _from_json(value, "[")
    if not isinstance(items, list):
        if items is None or isinstance(items, dict):
            return value
        items = [items]  # one value where a list of such values is wanted
        if _may_be_list(resolved(rest, validator.schema)) and not validator.evolve(schema=schema).is_valid(items):
            return value
    kinds = itertools.chain(first, itertools.repeat(rest))
    return [_fit(item, kind, validator) for item, kind in zip(cast("list[Any]", items), kinds, strict=False)]


def _may_be_list(schema: Schema) -> bool:
    kind = schema.get("type", "")
    return kind == "array" or isinstance(kind, list) or "anyOf" in schema or "oneOf" in schema


def _fit_object(value: Any, schema: Schema, validator: Any) -> Any:
    members = _from_json(value, "{")
    if not isinstance(members, Mapping):
        return value
    properties: Schema = schema.get("properties", {})
    others: Any = schema.get("additionalProperties", {})
    required = schema.get("required", ())
    fitted: dict[str, Any] = {}
    for name, member in cast("Mapping[str, Any]", members).items():
        kind = properties.get(name, others)
        new = _fit(member, kind, validator)
        left_out = new is None and name in properties and name not in required
        if not left_out or validator.evolve(schema=kind).is_valid(None):
            fitted[name] = new
    return fitted


def _from_json(value: Any, opening: str) -> Any:
    """The list or object that a text is, as JSON or as a Python literal."""
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = _from_literal(value)
    return value if _too_deep(parsed) else parsed


def _from_literal(text: str) -> Any:
    try:
        return json.loads(json.dumps(ast.literal_eval(text.strip()), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


_FITTERS: dict[str, Callable[[Any, Schema, Any], Any]] = {
    "string": _fit_string,
    "integer": _fit_integer,
    "number": _fit_number,
    "boolean": _fit_boolean,
    "array": _fit_array,
    "object": _fit_object,
}
