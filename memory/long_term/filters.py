"""Filters on outcomes: by status, tags and metadata, exact by type."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..messages import clean
from .errors import OutcomeError
from .outcome import STATUSES, Outcome
from .store import RecordStore

# Python integers and SQLite's differ above 64 bits; larger ones are compared as floats.
_INT64 = 2**63
_RANGES = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
# Not a name that metadata could have: a key of metadata is stored with a letter before it.
_STATUS, _TAG, _METADATA = "s", "t", "m:"


def attributes(outcome: Outcome) -> tuple[tuple[str, str, object], ...]:
    """What an outcome can be filtered by, as (key, kind, value)."""
    found: list[tuple[str, str, object]] = [(_STATUS, "text", outcome.status)]
    found += [(_TAG, "text", clean(tag)) for tag in outcome.tags]
    for key, value in outcome.metadata.items():
        kind = _typed(value)
        if kind is not None:
            found.append((clean(_METADATA + key), *kind))
    return tuple(found)


def _typed(value: object) -> tuple[str, object] | None:
    """(kind, comparable value): booleans, numbers, texts and None never equal each other."""
    match value:
        case None:
            return "none", 0
        case bool():
            return "bool", int(value)
        case int() | float():
            if math.isnan(value):
                return None
            return "number", value if abs(value) < _INT64 else _as_float(value)
        case str():
            return "text", clean(value)
        case _:
            return None


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def matching(
    store: RecordStore, status: str | None, tags: Sequence[str], where: Mapping[str, Any] | None
) -> set[int] | None:
    """Rows of the records that pass every filter; None when there is no filter.

    `tags` must all be there. `where` maps a key of metadata to the value it must equal (True is not 1), or to
    bounds: `{"gte": 120, "lte": 180}`, of numbers or of texts; all bounds hold.

    Raises:
        OutcomeError: a filter that no outcome could ever be compared with.
    """
    if status is not None and status not in STATUSES:
        raise OutcomeError(f"unknown status {status!r}; use one of {', '.join(sorted(STATUSES))}")
    if isinstance(tags, str):
        raise OutcomeError(f"tags must be a list, got the text {tags!r}")
    conditions: list[tuple[str, str, str, object]] = []
    if status is not None:
        conditions.append((_STATUS, "text", "=", status))
    conditions += [(_TAG, "text", "=", clean(tag)) for tag in tags]
    for key, wanted in (where or {}).items():
        conditions += _conditions(key, wanted)
    if not conditions:
        return None
    rows: set[int] | None = None
    with store.database.reading() as db:
        for key, kind, sign, value in conditions:
            found = {
                row
                for (row,) in db.execute(
                    f"SELECT row FROM attributes WHERE namespace = ? AND key = ? AND kind = ? AND value {sign} ?",
                    (store.namespace, key, kind, value),
                )
            }
            rows = found if rows is None else rows & found
    return rows


def _conditions(key: str, wanted: object) -> list[tuple[str, str, str, object]]:
    name = clean(_METADATA + key)
    if not isinstance(wanted, dict):
        return [(name, *_comparable(key, wanted, "="))]
    bounds = cast(dict[object, object], wanted)
    unknown = [bound for bound in bounds if bound not in _RANGES]
    if unknown or not bounds:
        raise OutcomeError(f"where[{key!r}]: {unknown or 'no bounds'}; bounds are {', '.join(_RANGES)}")
    return [(name, *_comparable(key, value, _RANGES[str(bound)])) for bound, value in bounds.items()]


def _comparable(key: str, value: object, sign: str) -> tuple[str, str, object]:
    typed = _typed(value)
    if typed is None:
        raise OutcomeError(f"where[{key!r}]: {value!r} cannot be compared; use a text, a number, a boolean or None")
    return typed[0], sign, typed[1]
