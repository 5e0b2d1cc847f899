"""Numbers written with digits: separators of all locales, decimals, exponents, fractions, scale letters.

Works on normalised text (see `plain.py`): ASCII digits, ASCII minus, plain spaces.
"""

from __future__ import annotations

import re
from decimal import Decimal, Overflow
from typing import NamedTuple

MAX_DIGITS = 40
MAX_EXPONENT = 300
MOST_PARTS = 20
"""The largest lower number of a fraction above one: 120/80 and 500/500 are two numbers."""

_NUMBER = re.compile(
    r"""
    (?P<whole> [1-9]\d{0,2}(?:,\d{3}){1,12}(?![\d]) | \d{1,2}(?:,\d{2}){1,9},\d{3}(?!\d)
             | \d{1,3}(?:\.\d{3}){2,12}(?![\d.]) | \d{1,3}(?:\.\d{3}){1,12}(?=,\d{1,2}(?!\d))
             | \d{1,3}(?:'\d{3}){1,12}(?!\d)
             | \d{1,3}(?:[ ]\d{3}){1,4}(?![\d/])(?![ ]\d{3}(?!\d))(?!\.\d+\.)
             | \d+ )?
    (?P<decimal> \.\d++(?!\.\d) | ,\d+(?![\d]|,\d) )?
    """,
    re.VERBOSE,
)
_SIMPLE = re.compile(r"(?P<whole>\d++)(?P<decimal>\.\d++)?+(?![,.' ]\d)")  # what most numbers are
_EXPONENT = re.compile(
    r"[eE](?P<e>[+-]?\d{1,4})(?![\w.]*\w)"
    r"|\s?[x×*·⋅]\s?(?P<base>10|2)\s?(?:\^\s?\(?(?P<caret>[+-]?\d{1,4})\)?|(?P<signed>-\d{1,3})(?!\d)"
    r"|(?P<sup>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))"
)
_POWER = re.compile(r"\^(?P<power>[+-]*\d{1,3})(?![\d.])")
_FRACTION = re.compile(r"/(\d{1,6})(?![\d/.,]*\d)(?!/)")
_MIXED = re.compile(r" +(\d{1,3})/(\d{1,3})(?![\d/])| ?([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒])")
_SUPERSCRIPTS = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅐": (1, 7), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
    "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip


class Number(NamedTuple):
    """A number and where it ends. `form` is "integer", "decimal", "fraction" or "power"."""

    value: Decimal
    end: int
    form: str


def ratio(top: Decimal | int, bottom: Decimal | int) -> Decimal | None:
    """top/bottom to 28 digits, or None for a zero divisor."""
    return Decimal(top) / Decimal(bottom) if bottom else None


def _power(base: Decimal, exponent: int) -> Decimal | None:
    if abs(exponent) > MAX_EXPONENT or (base == 0 and exponent < 0):
        return None
    try:
        return base**exponent
    except Overflow:
        return None


def read_number(text: str, pos: int, *, dot_groups: bool = False, mixed: bool = True) -> Number | None:
    """The number that begins exactly at `pos` (a digit, a leading decimal point or a vulgar fraction).

    `dot_groups` reads "12.500" as 12500, the habit of currencies such as the euro or the dong.
    A sign is the caller's business. None where no number of at most 40 digits stands there.
    """
    vulgar = VULGAR.get(text[pos : pos + 1])
    if vulgar:
        value = ratio(*vulgar)
        return Number(value, pos + 1, "fraction") if value is not None else None
    match = _SIMPLE.match(text, pos) or _NUMBER.match(text, pos)
    if match is None or match.end() == pos or match.end() - pos > MAX_DIGITS * 2:
        return None
    whole, decimal = match.groups()
    end = match.end()
    if decimal and decimal[0] == "," and _is_list(text, pos, end):
        decimal, end = None, match.end("whole")
    if whole is None and (decimal is None or decimal[0] == ","):
        return None
    digits = whole or "0"
    if not digits.isdigit():
        digits = re.sub(r"[,.' ]", "", digits)
    if len(digits) + len(decimal or "") > MAX_DIGITS:
        return None
    if decimal:
        if dot_groups and decimal[0] == "." and len(decimal) == 4 and whole and len(whole) <= 3:
            value, form = Decimal(digits + decimal[1:]), "integer"
        else:
            value, form = Decimal(f"{digits}.{decimal[1:]}"), "decimal"
    else:
        value, form = Decimal(digits), "integer"
    return _continued(text, Number(value, end, form), mixed)


def _is_list(text: str, pos: int, end: int) -> bool:
    """ "f(1,2)" and "[1,2]" hold two numbers, not a decimal comma."""
    return text[pos - 1 : pos] in ("(", "[", ",", "{") or text[end : end + 1] in (")", "]", "}")


def _continued(text: str, number: Number, mixed: bool) -> Number | None:
    """Adds what may follow directly: an exponent, a power, a fraction."""
    value, end, form = number
    following = text[end : end + 2]
    if following[:1] == " " and following[1:].isalpha() and following[1] not in "x×":
        return number  # a word follows
    if following[:1] in ("e", "E", "x", "×", "*", "·", "⋅", " "):
        match = _EXPONENT.match(text, end)
        if match:
            exponent = int((match["e"] or match["caret"] or match["signed"] or match["sup"]).translate(_SUPERSCRIPTS))
            factor = _power(Decimal(match["base"] or 10), exponent)
            return Number(value * factor, match.end(), "power") if factor is not None else None
    if following[:1] == "^":
        match = _POWER.match(text, end)
        if match:
            raw = match["power"]
            power = _power(value, int(raw.lstrip("+-")) * (-1 if raw.count("-") % 2 else 1))
            if power is not None:
                return Number(power, match.end(), "power")
    if form == "integer" and following[:1] == "/":
        match = _FRACTION.match(text, end)
        quotient = ratio(value, int(match[1])) if match else None
        if match and quotient is not None and (quotient < 1 or int(match[1]) <= MOST_PARTS):
            return Number(quotient, match.end(), "fraction")
    if mixed and form == "integer" and (following[:1] in VULGAR or following[:1] == " "):
        match = _MIXED.match(text, end)
        if match:
            part = ratio(*VULGAR[match[3]]) if match[3] else ratio(int(match[1]), int(match[2]))
            if part is not None:
                return Number(value + part, match.end(), "fraction")
    return number
