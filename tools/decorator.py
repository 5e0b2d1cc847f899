"""`@tool`: a tool from a typed function and its docstring."""

import inspect
from collections.abc import Callable
from typing import Any, cast, get_type_hints, overload

from .definition import Risk, Tool, ToolError


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    risk: Risk = "read",
    timeout: float = 60.0,
    retries: int = 0,
    cache: float = 0.0,
    volatile: bool = False,
    categories: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, *, name: str | None = None, **options: Any) -> Any:
    """Make a `Tool` of a typed function, sync or async: `@tool`, or `@tool(risk="write", timeout=5)`.

    The docstring (Google, NumPy or reST style) gives the description and the texts of the parameters; the type hints
    give the JSON schema: Literal, Optional, lists, dataclasses and pydantic models included. The options are
    those of `Tool`. Raises TypeError for a function with untyped or variadic parameters or without a docstring.
    """

    def make(function: Callable[..., Any]) -> Tool:
        return _make(function, name, options)

    return make if function is None else make(function)


def _make(function: Callable[..., Any], name: str | None, options: dict[str, Any]) -> Tool:
    from docstring_parser import parse
    from pydantic import ConfigDict, Field, ValidationError, create_model

    name = name or function.__name__
    doc = parse(inspect.getdoc(function) or "")
    texts = {p.arg_name: " ".join((p.description or "").split()) for p in doc.params}
    fields: dict[str, Any] = {}
    for parameter, hint in _parameters(function, name).items():
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hint, Field(default, description=texts.get(parameter.name) or None))
    model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)

    def run(**arguments: Any) -> Any:
        try:
            checked = model.model_validate(arguments)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ToolError(f"{name}: parameter {where!r}: {first['msg']}") from error
        return function(**{field: getattr(checked, field) for field in type(checked).model_fields})

    async def run_async(**arguments: Any) -> Any:
        return await run(**arguments)

    return Tool(
        name,
        _description(doc.short_description, doc.long_description, doc.returns, name),
        _lean(model.model_json_schema()),
        run_async if inspect.iscoroutinefunction(function) else run,
        **options,
    )


def _parameters(function: Callable[..., Any], name: str) -> dict[inspect.Parameter, Any]:
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {name!r}: parameter {parameter.name!r} must be one that has a name in the call")
        if parameter.name not in hints:
            raise TypeError(f"tool {name!r}: parameter {parameter.name!r} needs a type hint")
    return {parameter: hints[parameter.name] for parameter in parameters}


def _description(short: str | None, long: str | None, returns: Any, name: str) -> str:
    if not short:
        raise TypeError(f"tool {name!r}: the function needs a docstring; it tells the model when to use the tool")
    parts = [short, long]
    if returns is not None and returns.description:
        parts.append(f"Returns {returns.description[0].lower()}{returns.description[1:]}")
    return " ".join(" ".join(part.split()) for part in parts if part)


def _lean(schema: Any) -> Any:
    """The schema less what costs tokens and says nothing: pydantic's titles, and null for what may be left out."""
    if isinstance(schema, list):
        return [_lean(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    lean = {key: _lean(value) for key, value in members.items() if not (key == "title" and isinstance(value, str))}
    options = lean.get("anyOf", [])
    if len(options) == 2 and {"type": "null"} in options and lean.get("default", 0) is None:
        del lean["anyOf"], lean["default"]
        lean = options[options[0] == {"type": "null"}] | lean
    return lean
