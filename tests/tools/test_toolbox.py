"""A typed function becomes a tool; its arguments are made to fit or refused by name; its result becomes text."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pytest
from carryforward.tools import Tool, Toolbox, ToolError, to_observation, tool
from hypothesis import given
from hypothesis import strategies as st


@dataclass
class Place:
    name: str
    height: float = 0.0


def plan(
    path: str,
    limit: int,
    ratio: float = 1.0,
    deep: bool = False,
    mode: Literal["fast", "slow"] = "fast",
    tags: list[str] | None = None,
    place: Place | None = None,
) -> dict[str, Any]:
    """Read a file.

    Use it for plans.

    Args:
        path: Where it is.
        limit: How many lines
            to read.

    Returns:
        What was read.
    """
    return {key: value for key, value in locals().items() if value is not None}


def test_a_docstring_and_type_hints_make_the_schema():
    made = tool(plan)
    assert made.description == "Read a file. Use it for plans. Returns what was read."
    schema = made.parameters
    assert schema["required"] == ["path", "limit"]
    assert schema["properties"]["limit"] == {"description": "How many lines to read.", "type": "integer"}
    assert schema["properties"]["mode"]["enum"] == ["fast", "slow"]
    assert schema["properties"]["tags"] == {"items": {"type": "string"}, "type": "array"}
    assert "title" not in json.dumps(schema)


def test_numpy_docstrings_are_read_too():
    @tool(risk="write", categories=("x",))
    async def double(n: int) -> int:
        """Double a number.

        Parameters
        ----------
        n : int
            The number.
        """
        return 2 * n

    assert double.parameters["properties"]["n"]["description"] == "The number."
    assert double.risk == "write"
    assert Toolbox([double]).call("double", {"n": "21"}) == "42"
    assert Toolbox([double, plan]).only("x").names == ["double"]


def test_functions_that_cannot_be_tools_are_refused():
    def untyped(n):  # type: ignore[no-untyped-def]
        """Text."""

    def variadic(*n: int):
        """Text."""

    def silent(n: int): ...

    for function, reason in ((untyped, "type hint"), (variadic, "name in the call"), (silent, "docstring")):
        with pytest.raises(TypeError, match=reason):
            tool(function)


@pytest.mark.parametrize(
    ("sent", "fitted"),
    [
        ({"limit": "185"}, {"limit": 185}),
        ({"limit": 185.0}, {"limit": 185}),
        ({"limit": 1, "ratio": "2.5"}, {"ratio": 2.5}),
        ({"limit": 1, "deep": "True"}, {"deep": True}),
        ({"limit": 1, "mode": "SLOW"}, {"mode": "slow"}),
        ({"limit": 1, "tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"limit": 1, "tags": "['a', 'b']"}, {"tags": ["a", "b"]}),
        ({"limit": 1, "tags": "[a] or b"}, {"tags": ["[a] or b"]}),
        ({"limit": 1, "place": "{'name': 'K2', 'height': None}"}, {"place": {"name": "K2", "height": 0.0}}),
        ({"limit": 1, "tags": "a"}, {"tags": ["a"]}),
        ({"limit": 1, "tags": [1]}, {"tags": ["1"]}),
        ({"limit": 1, "path": 7}, {"path": "7"}),
        ({"limit": 1, "place": '{"name": "K2", "height": "8611"}'}, {"place": {"name": "K2", "height": 8611.0}}),
        ({"limit": 1, "tags": None, "deep": None}, {"deep": False}),
    ],
)
def test_arguments_are_fitted_where_nothing_is_lost(sent: dict[str, Any], fitted: dict[str, Any]):
    result = json.loads(Toolbox([plan]).call("plan", {"path": "a.txt", **sent}))
    assert {key: result[key] for key in fitted} == fitted


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"limit": "many"}, "'limit'"),
        ({"limit": 1.5}, "'limit'"),
        ({"limit": True}, "'limit'"),
        ({"limit": None}, "'limit'"),
        ({}, "'limit' is a required property; it takes path (string), limit (integer)"),
        ({"limit": 1, "mode": "idle"}, "'mode'"),
        ({"limit": 1, "tags": {"a": 1}}, "'tags'"),
        ({"limit": 1, "place": {"height": 3}}, "'name' is a required"),
        ({"limit": 1, "limt": 2}, "no parameter 'limt'; did you mean 'limit'"),
        ({"limit": 1, "ratio": "NaN"}, "'ratio'"),
        ({"limit": "9" * 5000}, "'limit'"),
        ({"limit": 1, "ratio": "1e400"}, "'ratio'"),
        ({"limit": 1, "tags": "[" * 100_000}, ""),
        ({"limit": 1, "place": json.loads('{"name":' * 900 + "1" + "}" * 900)}, "nested"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(sent: dict[str, Any], said: str):
    try:
        Toolbox([plan]).call("plan", {"path": "a.txt", **sent})
    except ToolError as error:
        assert said in str(error)
        assert "\n" not in str(error)
        assert len(str(error)) < 800
    else:
        assert said == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["path", "limit", "ratio", "deep", "mode", "tags", "place"]


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), json_values, max_size=6))
def test_any_arguments_give_text_or_one_line(arguments: dict[str, Any]):
    before = json.dumps(arguments)
    try:
        answer = Toolbox([plan]).call("plan", arguments)
    except ToolError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(answer, str)
    assert json.dumps(arguments) == before


@given(
    st.fixed_dictionaries(
        {"path": st.text(), "limit": st.integers(-(10**200), 10**200)},
        optional={
            "ratio": st.floats(allow_nan=False, allow_infinity=False),
            "deep": st.booleans(),
            "mode": st.sampled_from(["fast", "slow"]),
            "tags": st.lists(st.text()),
        },
    )
)
def test_arguments_that_fit_stay_as_they_are_also_as_text(arguments: dict[str, Any]):
    received: list[dict[str, Any]] = []
    box = Toolbox([Tool("plan", "", tool(plan).parameters, lambda **given: received.append(given))])
    box.call("plan", arguments)
    as_text = {k: v if isinstance(v, str) else json.dumps(v) for k, v in arguments.items()}
    box.call("plan", as_text)
    assert received == [arguments, arguments]


def asked_with(schema: Any, value: Any) -> Any:
    """What a tool receives for a parameter of this schema."""
    received: list[Any] = []
    definitions = {"tree": {"type": "object", "properties": {"below": {"$ref": "#/$defs/tree"}}}}
    parameters = {"type": "object", "properties": {"a": schema}, "$defs": {**definitions, "loop": LOOP}}
    Toolbox([Tool("ask", "", parameters, lambda a: received.append(a))]).call("ask", {"a": value})
    return received[0]


LOOP = {"$ref": "#/$defs/loop"}
INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "sent", "fitted"),
    [
        (True, "1", "1"),
        ({"anyOf": [INTEGER, {"type": "string"}]}, "007", "007"),
        ({"anyOf": [INTEGER, {"type": "boolean"}]}, "7", 7),
        ({"type": ["number", "null"]}, "2.5", 2.5),
        ({"type": "object", "additionalProperties": INTEGER}, {"x": "1"}, {"x": 1}),
        ({"type": "array", "prefixItems": [INTEGER], "items": {"type": "string"}}, ["1", 2], [1, "2"]),
        ({"$ref": "#/$defs/tree"}, '{"below": "{}"}', {"below": {}}),
        ({"type": "array", "items": {"anyOf": [{"$ref": "#/properties/a"}, INTEGER]}}, [["1"], 2], [[1], 2]),
    ],
)
def test_schemas_of_every_form_are_understood(schema: Any, sent: Any, fitted: Any):
    assert asked_with(schema, sent) == fitted


def test_lists_of_schemas_are_read_as_draft_7_writes_them():
    received: list[Any] = []
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"type": "array", "items": [INTEGER, {"type": "string"}]}},
    }
    Toolbox([Tool("ask", "", schema, lambda a: received.append(a))]).call("ask", {"a": ["1", 2, 3]})
    assert received == [[1, "2", 3]]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "int"},
        {"type": "string", "pattern": "("},
        {"type": "integer", "minimum": "3"},
        {"type": "number", "multipleOf": 0},
        {"enum": 3},
        {"type": "array", "items": 3},
        {"$ref": "#/$defs/none"},
        {"$ref": "#/$defs/loop"},
        {"$ref": "#elsewhere"},
        {"$dynamicRef": "#elsewhere"},
        json.loads('{"not":' * 900 + "{}" + "}" * 900),
    ],
)
def test_a_broken_schema_is_one_line(schema: Any):
    with pytest.raises(ToolError, match="ask cannot be called, its schema is broken") as refused:
        asked_with(schema, "1")
    assert "\n" not in str(refused.value)


def test_a_schema_of_a_stranger_fetches_nothing():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        with pytest.raises(ToolError, match="is no place in it"):
            asked_with({"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"}, "1")
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_pattern_of_a_stranger_hangs_nothing():
    slow = "a" * 60 + "!"
    with pytest.raises(ToolError, match="does not match"):
        asked_with({"type": "string", "pattern": "^(a+)+$"}, slow)
    named = {"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}
    assert asked_with(named, {slow: 1}) == {slow: 1}


def test_the_tool_cannot_change_what_the_caller_holds():
    def spoil(anything: Any) -> None:
        """Change the argument."""
        anything.append(1)

    sent = {"anything": ["a"]}
    Toolbox([spoil]).call("spoil", sent)
    assert sent == {"anything": ["a"]}


def test_an_unknown_tool_is_named_with_the_nearest():
    with pytest.raises(ToolError, match=r"no tool 'Plann'\. Did you mean 'plan'\? The tools are: plan\."):
        Toolbox([plan]).call("Plann", {})


def test_tools_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="two tools are named"):
        Toolbox([plan, plan])
    with pytest.raises(ValueError, match="needs a name"):
        Tool(" ", "", {}, plan)
    with pytest.raises(ValueError, match="cached"):
        Tool("x", "", {}, plan, risk="write", cache=5)
    with pytest.raises(ValueError, match="risk"):
        Tool("x", "", {}, plan, risk="none")  # type: ignore[arg-type]


def test_whatever_a_tool_raises_is_one_line():
    class OddError(Exception):
        pass

    def fail(how: str) -> None:
        """Fail."""
        raise {"odd": OddError("a\nb"), "exit": SystemExit(3), "stop": StopIteration(), "own": ToolError("x\ny")}[how]

    box = Toolbox([fail])
    for how, said in (("odd", "fail failed: OddError: a b"), ("exit", "SystemExit: 3"), ("own", "x y")):
        with pytest.raises(ToolError, match=said):
            box.call("fail", {"how": how})
    with pytest.raises(ToolError, match="StopIteration"):
        box.call("fail", {"how": "stop"})


def test_a_slow_tool_is_given_up_and_holds_nothing_back():
    @tool(timeout=0.1)
    def sync() -> None:
        """Sleep."""
        time.sleep(30)

    @tool(timeout=0.1)
    async def by_loop() -> None:
        """Sleep."""
        await asyncio.sleep(30)

    started = time.monotonic()
    for one in (sync, by_loop):
        with pytest.raises(ToolError, match=r"took longer than 0\.1 s"):
            Toolbox([one]).call(one.name, {})
    assert time.monotonic() - started < 10


def test_retries_and_cache():
    calls: list[int] = []

    @tool(retries=2, cache=60)
    def flaky(n: int) -> int:
        """Fail twice."""
        calls.append(n)
        if len(calls) < 3:
            raise ConnectionError("not yet")
        return n

    box = Toolbox([flaky])
    assert box.call("flaky", {"n": 5}) == "5"
    assert box.call("flaky", {"n": "5"}) == "5"
    assert calls == [5, 5, 5]
    assert box.call("flaky", {"n": 6}) == "6"


def test_a_write_ends_what_was_kept_of_reads():
    stored = ["old"]

    @tool(cache=60)
    def read(n: int) -> str:
        """Read it."""
        return stored[0]

    @tool(risk="write")
    def write(text: str) -> None:
        """Write it."""
        stored[0] = text

    box = Toolbox([read, write])
    assert box.call("read", {"n": 1}) == "old"
    box.call("write", {"text": "new"})
    assert box.call("read", {"n": 1}) == "new"
    with pytest.raises(ValueError, match="volatile"):
        Tool("x", "", {}, plan, volatile=True, cache=5)


def test_a_call_works_inside_a_running_loop():
    async def cell() -> str:
        return Toolbox([plan]).call("plan", {"path": "a", "limit": 1})

    assert '"path": "a"' in asyncio.run(cell())


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, "done"),
        ("as it is\n", "as it is\n"),
        (4.43, "4.43"),
        (True, "true"),
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (float("inf"), "inf"),
        (b"\x00" * 2048, "(2,048 bytes of binary data)"),
        (Colour.RED, "red"),
        (Place("K2", 8611), '{"name": "K2", "height": 8611}'),
        ([1, 2, 3], "[1, 2, 3]"),
        ({"高": {1}}, '{"高": [1]}'),
        (
            [{"a": 1, "b": "x|y"}, {"a": None, "c": 2}],
            "| a | b | c |\n| --- | --- | --- |\n| 1 | x\\|y |  |\n|  |  | 2 |",
        ),
    ],
)
def test_results_of_any_type_are_readable(result: Any, text: str):
    assert to_observation(result) == text


@given(json_values)
def test_json_results_stay_json(value: Any):
    text = to_observation(value)
    if not isinstance(value, str) and value is not None and not text.startswith("|"):
        assert json.loads(text) == value


def test_long_json_takes_few_lines():
    rows = {f"key{n}": {"x": list(range(10)), "name": "n" * 20} for n in range(30)}
    text = to_observation(rows)
    assert json.loads(text) == rows
    assert len(text.splitlines()) == 32


def test_importing_the_tools_loads_nothing_heavy():
    code = """
import sys, carryforward.tools, carryforward.tools.toolbox, carryforward.tools.calculator, carryforward.tools.corpus
slow = {"httpx", "pint", "torch", "pydantic", "jsonschema", "chromadb", "trafilatura", "pypdf", "mcp"}
heavy = slow & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
