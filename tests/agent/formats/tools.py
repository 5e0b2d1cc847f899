"""Tools that the tests of the reply formats read calls for; none of them is ever run."""

from __future__ import annotations

from typing import Any

from carryforward.tools.definition import Risk, Tool


def make(name: str, risk: Risk = "read", optional: tuple[str, ...] = (), **parameters: Any) -> Tool:
    properties = {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in parameters.items()}
    required = [key for key in parameters if key not in optional]
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool(name, f"what {name} does", schema, lambda **_: "", risk=risk)


TOOLS = [
    make("search", query="string"),
    make("calculator", expression="string"),
    make("read_file", path="string", limit="integer"),
    make("python", code="string"),
    make("save_note", risk="write", title="string", body="string"),
    make("delete_all", risk="execute"),
    make("get_time"),
    make("Unit Converter", value="number", unit="string"),
    make("tags", names="array"),
    make("web-search", optional=("limit",), query="string", limit="integer"),
]
