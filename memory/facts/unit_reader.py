"""Reads the unit that stands at a place: "km/h", "mg per dL", "square miles", "人/平方公里", "USD/hour"."""

from __future__ import annotations

import re
from functools import cache

from .fact import Kind
from .units import Alias, Unit, tables

_POWER_WORDS = re.compile(r"(?:(square|sq\.?)|(cubic|cu\.?))[ -](?=[A-Za-z])", re.IGNORECASE)
_POWER_LETTERS = frozenset("sScC")
_POWER_OPENINGS = frozenset({" s", " S", " c", " C"})
_EXPONENT = re.compile(r"\^?(?:\(?([-+]?[1-4])\)?|(⁻?)([¹²³⁴]))(?!\w|\.\d)|\^([-+]?[1-9])(?!\w)")
_POWER_AFTER = re.compile(r" (squared|cubed)\b", re.IGNORECASE)
_PER = re.compile(r" ?[/∕] ?(?=[^\W\d])| per | an? (?=hour|minute|second|day|week|month|year)|每(?=[^\W\d])")
_PER_AMOUNT = re.compile(r" ?/ ?(\d{1,4}) ?(?=[A-Za-z])")
_TIMES = re.compile(r"[·⋅*]| (?=[A-Za-zμΩ]{1,3}(?:\^?-[1-4]|⁻[¹²³⁴])(?!\w))")
_SUPERSCRIPT = {"¹": "1", "²": "2", "³": "3", "⁴": "4"}
_LETTERS = re.compile(r"[A-Za-z]{1,40}")
_LATIN_TAIL = re.compile(r"[A-Za-zµμ_]")
_CHINESE_POWER = {"平方": "^2", "立方": "^3"}
_BRACKETS = {"(": ")", "[": "]"}


@cache
def _buckets() -> dict[str, list[Alias]]:
    return tables().aliases


def _alias_at(text: str, pos: int) -> Alias | None:
    """The longest known spelling that stands at `pos` and ends at a word boundary."""
    letters = _LETTERS.match(text, pos)
    if letters:
        return _in_bucket(text, pos, letters[0].lower())
    return _in_bucket(text, pos, text[pos : pos + 2].lower()) or _in_bucket(text, pos, text[pos : pos + 1].lower())


def _in_bucket(text: str, pos: int, key: str) -> Alias | None:
    for alias in _buckets().get(key, ()):
        spelling = alias.spelling
        end = pos + len(spelling)
        if alias.folded:
            if text[pos:end].lower() != spelling:
                continue
        elif not text.startswith(spelling, pos):
            continue
        last = spelling[-1]
        if last.isascii() and last.isalpha() and _LATIN_TAIL.match(text, end):
            continue
        if not last.isascii() and last.isalpha() and last < "⺀" and text[end : end + 1].isalpha():
            nxt = text[end]
            if nxt < "⺀":
                continue
        return alias
    return None


def _exponent(text: str, pos: int) -> tuple[str, int]:
    match = _EXPONENT.match(text, pos)
    if match:
        sign_or_power, minus, superscript, caret = match.groups()
        power = sign_or_power or caret or (("-" if minus else "") + _SUPERSCRIPT[superscript])
        return f"^{power.lstrip('+')}", match.end()
    match = _POWER_AFTER.match(text, pos) if text[pos : pos + 2] in _POWER_OPENINGS else None
    if match:
        return ("^2" if match[1].lower() == "squared" else "^3"), match.end()
    return "", pos


def _factor(text: str, pos: int) -> tuple[str, Kind, int] | None:
    """One unit with its power: (symbol, kind, end)."""
    power = ""
    words = _POWER_WORDS.match(text, pos) if text[pos : pos + 1] in _POWER_LETTERS else None
    if words:
        power, pos = ("^2" if words[1] else "^3"), words.end()
    elif text[pos : pos + 2] in _CHINESE_POWER:
        power, pos = _CHINESE_POWER[text[pos : pos + 2]], pos + 2
    alias = _alias_at(text, pos)
    if alias is None:
        return None
    end = pos + len(alias.spelling)
    kind = alias.kind
    if not power and alias.symbol != "x":
        power, end = _exponent(text, end)
    if power:
        kind = "quantity"
    return ("" if power == "^1" else alias.symbol + power) or alias.symbol, kind, end


def read_unit(text: str, pos: int) -> Unit | None:
    """The unit that begins exactly at `pos`, compound units included; None where none does.

    >>> read_unit("mg/dL of", 0)
    Unit(symbol='mg/dL', kind='quantity', end=5)
    """
    opening = text[pos : pos + 1]
    if opening in _BRACKETS:
        inner = read_unit(text, pos + 1)
        if inner and text[inner.end : inner.end + 1] == _BRACKETS[opening]:
            return Unit(inner.symbol, inner.kind, inner.end + 1)
        return None
    first = _factor(text, pos)
    if first is None:
        if opening == "/":
            below = _factor(text, pos + 1)
            return Unit("/" + below[0], "quantity", below[2]) if below else None
        return None
    symbol, kind, end = first
    while True:
        amount = _PER_AMOUNT.match(text, end)
        link = amount or _PER.match(text, end)
        joint = "/"
        if link is None:
            link, joint = _TIMES.match(text, end), " "
        if link is None:
            return Unit(symbol, kind, end)
        following = _factor(text, link.end())
        if following is None or (amount and following[0] == symbol):  # 120 W / 300 W: used, of all
            return Unit(symbol, kind, end)
        symbol += joint + (f"{amount[1]} " if amount else "") + following[0]
        if kind != "money":
            kind = "quantity"
        end = following[2]
