"""The JSON schema of a tool's arguments: checked before it is used, since a server may have sent it.

Nothing is fetched: a reference leads to a place in the same schema (a JSON pointer, RFC 6901) or nowhere. A pattern
that takes too long counts as not matched.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import regex

from .definition import Tool, ToolError

Schema = Mapping[str, Any]
_MAX_REFERENCES = 100
_PATTERN_SECONDS = 0.2


def validator_of(tool: Tool) -> Any:
    """What checks arguments against the tool's schema. Raises ToolError when the schema is not a valid one."""
    from jsonschema.exceptions import SchemaError

    try:
        return _validator(json.dumps(dict(tool.parameters), default=str))
    except SchemaError as error:
        reason = f"{error.json_path}: {error.message[:200]}"
    except (_NowhereError, RecursionError) as error:
        reason = str(error)[:200]
    raise ToolError(f"{tool.name} cannot be called, its schema is broken ({reason}); use another tool")


@functools.lru_cache(maxsize=256)
def _validator(text: str) -> Any:
    from jsonschema import Draft7Validator, Draft202012Validator, validators
    from referencing import Registry

    schema: dict[str, Any] = _without_named_patterns(json.loads(text))
    draft: Any = Draft7Validator if "draft-07" in str(schema.get("$schema")) else Draft202012Validator
    for part in (schema, *(_place(ref, schema) for ref in _references(schema))):
        draft.check_schema(part)
    nothing: Registry[Any] = Registry()  # pyright: ignore[reportUnknownVariableType]
    checker: Any = cast("Any", validators).extend(draft, {"pattern": _pattern})
    return checker(schema, registry=nothing)  # the default registry fetches what it does not know


def _pattern(validator: Any, pattern: str, value: Any, _: Schema) -> Iterator[Any]:
    """The keyword `pattern`, with a limit of time that the standard library's expressions don't have."""
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(value, "string"):
        return
    try:
        if regex.search(pattern, value, timeout=_PATTERN_SECONDS):
            return
    except (TimeoutError, regex.error):
        pass
    yield ValidationError(f"{value!r:.100} does not match {pattern!r:.100}")


def _without_named_patterns(value: Any) -> Any:
    """The schema without `patternProperties`, which nothing limits, and what depends on it."""
    if isinstance(value, list):
        return [_without_named_patterns(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    if isinstance(members.get("patternProperties"), dict):
        members = {k: v for k, v in members.items() if k not in ("patternProperties", "additionalProperties")}
    return {key: _without_named_patterns(member) for key, member in members.items()}


class _NowhereError(Exception):
    """A reference that leads nowhere in the schema."""


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if isinstance(ref := members.get("$ref"), str):
            yield ref
        value = list(members.values())
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _references(item)


def _place(reference: str, schema: Schema) -> Any:
    start, *steps = reference.split("/")
    place: Any = schema if start == "#" else None
    for step in (step.replace("~1", "/").replace("~0", "~") for step in steps):
        members: Any = dict(enumerate(cast("list[Any]", place))) if isinstance(place, list) else place
        key = int(step) if isinstance(place, list) and step.isdecimal() else step
        place = cast("Mapping[Any, Any]", members).get(key) if isinstance(members, Mapping) else None
    if place is None:
        raise _NowhereError(f"{reference[:100]!r} is no place in it")
    return place


def resolved(schema: Any, root: Schema) -> Schema:
    """The schema, behind its reference if it is one; a schema that is only true or false is one without keywords.

    Raises RecursionError when references lead in a circle.
    """
    for _ in range(_MAX_REFERENCES):
        if not isinstance(schema, Mapping):
            return {}
        members = cast("Schema", schema)
        if "$ref" not in members:
            return members
        schema = _place(members["$ref"], root)
    raise RecursionError("a reference in it leads back to itself")
