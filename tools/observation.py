"""What a tool returned, as a text that a model reads well."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any, cast

_LINE = 110
_MAX_COLUMNS = 12
_MAX_DEPTH = 40


def to_observation(result: Any) -> str:
    """One readable text for a result of any type.

    Text stays as it is, None is "done", numbers are numbers, bytes are a note of their size, a list of flat
    records is a Markdown table, everything else is JSON on few lines.
    """
    if result is None:
        return "done"
    if isinstance(result, str):
        return result
    plain = _plain(result, _MAX_DEPTH)
    if isinstance(plain, str):
        return plain
    if _is_table(plain):
        return _table(cast("list[dict[str, Any]]", plain))
    return _json(plain, 0)


def _plain(value: Any, depth: int) -> Any:
    """The value in the types of JSON."""
    if depth == 0:
        return "…"
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal | Fraction | date | datetime | time | PurePath | complex):
        return str(value)
    if isinstance(value, Enum):
        return _plain(value.value, depth - 1)
    if isinstance(value, bytes | bytearray):
        return f"({len(value):,} bytes of binary data)"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name), depth - 1) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        members = cast("Mapping[Any, Any]", value)
        return {str(key): _plain(member, depth - 1) for key, member in members.items()}
    if isinstance(value, Sequence | Set):
        return [_plain(item, depth - 1) for item in cast("Sequence[Any]", value)]
    for method in ("model_dump", "to_dict", "tolist", "_asdict"):  # pydantic, pandas, numpy, namedtuple-like
        if callable(dump := getattr(value, method, None)):
            dumped = dump(orient="records") if method == "to_dict" and hasattr(value, "columns") else dump()
            return _plain(dumped, depth - 1)
    return str(value)


def _is_table(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    rows = cast("list[Any]", value)
    if len(rows) < 2 or not all(isinstance(row, dict) for row in rows):
        return False
    records = cast("list[dict[str, Any]]", rows)
    columns = {name for row in records for name in row}
    flat = all(not isinstance(cell, dict | list) for row in records for cell in row.values())
    return flat and 0 < len(columns) <= _MAX_COLUMNS


def _table(rows: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [_row(columns), "|" + " --- |" * len(columns)]
    lines += [_row([_cell(row.get(name)) for name in columns]) for row in rows]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _json(value: Any, indent: int) -> str:
    """JSON that breaks lines only where a value is too long for one."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(flat) + indent <= _LINE:
        return flat
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_json(member, indent + 1)}" for key, member in members]
        return "{\n" + ",\n".join(inner + part for part in parts) + "\n" + " " * indent + "}"
    items = cast("list[Any]", value)
    if all(not isinstance(item, dict | list) for item in items):
        return flat
    return "[\n" + ",\n".join(inner + _json(item, indent + 1) for item in items) + "\n" + " " * indent + "]"
