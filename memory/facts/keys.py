"""What a key or a column heading says about its values: a unit, a scale, a name, a moment, or nothing."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from .fact import Kind
from .unit_reader import read_unit
from .word_lists import words

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+|[%°$€£¥#]")
_NAMING = words("key_naming")
_COUNTING = words("key_counting")
_MOMENT = words("key_moment")
_DATES = words("key_date")
_SCALES: dict[str, int] = {
    "thousands": 3, "thousand": 3, "000s": 3, "000": 3, "millions": 6, "million": 6, "mn": 6, "mm": 6, "billions": 9,
    "billion": 9, "bn": 9, "trillions": 12, "万": 4, "亿": 8, "百万": 6, "千": 3,
}  # fmt: skip
_KEY_UNITS = {
    "seconds": "s", "secs": "s", "sec": "s", "s": "s", "ms": "ms", "millis": "ms", "milliseconds": "ms", "us": "μs",
    "ns": "ns", "minutes": "min", "mins": "min", "min": "min", "hours": "h", "hrs": "h", "days": "day", "weeks": "week",
    "months": "month", "years": "year", "percent": "%", "pct": "%", "percentage": "%", "bytes": "B", "kb": "kB",
    "mb": "MB", "gb": "GB", "tb": "TB", "kg": "kg", "grams": "g", "km": "km", "meters": "m", "metres": "m",
    "miles": "mi",
    "cm": "cm", "mm": "mm", "usd": "USD", "eur": "EUR", "gbp": "GBP", "cny": "CNY", "jpy": "JPY", "celsius": "°C",
    "fahrenheit": "°F", "kwh": "kWh", "watts": "W", "volts": "V", "hz": "Hz", "mhz": "MHz", "ghz": "GHz", "px": "px",
    "mph": "mph", "kmh": "km/h", "rpm": "rpm", "kelvin": "K", "liters": "L", "litres": "L",
}  # fmt: skip
_NOT_MIN = frozenset({"min", "s", "m"})
_IN_BRACKETS = re.compile(r"[(\[（【]([^()\[\]（）【】]{1,30})[)\]）】]")
_IN_SCALE = re.compile(
    r"\bin (?:([a-z]{3}|[$€£¥])\s)?(?:([$€£¥]|[A-Z]{2,3}\$?)\s?)?(thousands|millions|billions)\b", re.IGNORECASE
)
_SIGNED_SCALE = re.compile(
    r"([$€£¥]|US\$|USD|EUR|GBP)\s?(m|mn|bn|k|million|billion|000s?)\b|单位[:：]?\s*([万亿千百]*)\s*([^\s)）]*)",
    re.IGNORECASE,
)
_LETTER_SCALES = {"m": 6, "mn": 6, "bn": 9, "k": 3, "million": 6, "billion": 9, "000": 3, "000s": 3}


class Column(NamedTuple):
    """What a heading says: `role` is "figure", "identifier", "date" or "moment"; scale is a power of ten."""

    role: str = "figure"
    unit: str | None = None
    kind: Kind = "quantity"
    factor: Decimal = Decimal(1)


def _unit_of(words: str) -> tuple[str, Kind] | None:
    unit = read_unit(words, 0)
    return (unit.symbol, unit.kind) if unit and unit.end == len(words) else None


@lru_cache(maxsize=8192)
def column(heading: str) -> Column:
    """Reads a JSON key ("timeout_ms", "orderId") or a column heading ("intake (g/day)", "Sales, $m")."""
    factor, unit = Decimal(1), None
    scale = _IN_SCALE.search(heading)
    if scale:
        factor = Decimal(10) ** _SCALES[scale[3].lower()]
        sign = scale[1] or scale[2]
        unit = _unit_of(sign) if sign else None
    signed = _SIGNED_SCALE.search(heading) if not scale else None
    if signed:
        if signed[1]:
            factor, unit = Decimal(10) ** _LETTER_SCALES[signed[2].lower()], _unit_of(signed[1])
        else:
            factor = Decimal(10) ** sum(_SCALES.get(c, 2 if c == "百" else 0) for c in signed[3] or "")
            unit = _unit_of(signed[4]) if signed[4] else None
    for match in _IN_BRACKETS.finditer(heading):
        inside = match[1].strip()
        if inside.lower() in _SCALES:
            factor = Decimal(10) ** _SCALES[inside.lower()]
        else:
            lead = next((k for k in _SCALES if inside.startswith(k) and k > "⺀"), None)
            if lead and _unit_of(inside[len(lead) :]):
                factor, unit = Decimal(10) ** _SCALES[lead], _unit_of(inside[len(lead) :])
            else:
                unit = unit or _unit_of(inside)
    words = [w.lower() for w in _WORDS.findall(heading)]
    if not words:
        return Column()
    if unit is None and "," in heading:
        unit = _unit_of(heading.rsplit(",", 1)[1].strip())
    last = words[-1]
    if unit is None and (len(words) > 1 or last not in _NOT_MIN) and last in _KEY_UNITS and last == _tail(heading):
        symbol = _KEY_UNITS[last]
        unit = _unit_of(symbol) or (symbol, "quantity")
    if unit is None and "%" in words:
        unit = ("%", "percent")
    if unit:
        return Column("figure", unit[0], unit[1], factor)
    if any(w in _MOMENT for w in words) or (last == "at" and len(words) == 2):
        return Column("moment")
    if (
        last in _NAMING or words[0] in ("zip", "phone", "uuid", "id", "#") or (words[0] in _NAMING and len(words) == 1)
    ) and not (_COUNTING & set(words)):
        return Column("identifier")
    if last in _DATES or heading in _DATES:
        return Column("date")
    return Column("figure", None, "quantity", factor)


def _tail(heading: str) -> str:
    """The last word of a heading as it stands, in lower case."""
    found = _WORDS.findall(heading)
    return found[-1].lower() if found else ""
