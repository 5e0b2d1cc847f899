"""Chinese numerals: 三千二百, 1.2万亿, 两千四百五, 五又二分之一, 百分之三十, 三成, 七五折, 半.

Works on normalised text (see `plain.py`): formal and traditional numerals already have their everyday form.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10**4, "亿": 10**8, "兆": 10**12}
_VAGUE = "几多余"
NUMERALS = frozenset(DIGITS) | frozenset(_SMALL) | frozenset(_LARGE)
_STEPS = (*_SMALL, *_LARGE)
SCALES = frozenset(_LARGE) | {"千", "百"}

MAX_CHARS = 60
_ARABIC = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?")
_PART_OF = re.compile(r"\s{0,3}分\s{0,3}之\s{0,3}")
_PART_OF_LARGE = re.compile(r"[万亿]+\s*分\s*之")
_AND = re.compile(r"\s{0,3}又\s{0,3}")
_DOT = re.compile(r"\s{0,3}点\s{0,3}(?=[零一二三四五六七八九\d])")
_GAP = re.compile(r"\s{1,3}")
_RATES = {"百": "%", "千": "‰"}


class Numeral(NamedTuple):
    """A number, the unit its notation implies ("%", "‰" or None), its end, and whether 几/多/余 is in it."""

    value: Decimal
    unit: str | None
    end: int
    vague: bool
    spoken: bool  # a Chinese numeral character takes part


class _Whole(NamedTuple):
    value: Decimal
    end: int
    vague: bool
    chars: str


def _skip_gap(text: str, pos: int) -> int:
    """Past spaces that stand inside one numeral: "7 万 5 千", "三 百 五"."""
    gap = _GAP.match(text, pos)
    return gap.end() if gap else pos


def _char(text: str, pos: int) -> str:
    return text[pos : pos + 1]


def _whole(text: str, pos: int) -> _Whole | None:
    """A whole number of Chinese numerals, possibly mixed with digits: 五亿1万4千6百."""
    total, section, group = Decimal(0), Decimal(0), Decimal(0)
    pending: Decimal | None = None
    step, zero, vague, run = 0, False, False, 0
    chars, end, cursor = "", pos, pos
    while len(chars) <= MAX_CHARS:
        char = text[cursor : cursor + 1]
        if char in DIGITS and char:
            if pending is not None and (run == 0 or char == "两"):
                break
            digit = DIGITS[char]
            zero = zero or (digit == 0 and pending is None)
            pending = Decimal(digit) if pending is None else pending * 10 + digit
            run += 1
            cursor += 1
        elif char in _SMALL and char:
            if pending is None and chars and (_char(text, cursor + 1) == "分" or char == "千"):
                break
            group += (Decimal(1) if pending is None or pending == 0 else pending) * _SMALL[char]
            pending, run, step, zero = None, 0, _SMALL[char], False
            cursor += 1
        elif char in _LARGE and char:
            if not chars and not _PART_OF_LARGE.match(text, cursor):
                break
            if char == "兆" and _char(text, cursor + 1) in tuple("字瓦赫位比帕焦伏"):
                break
            unit = _LARGE[char]
            below = group + (pending or 0)
            if not chars:
                below = Decimal(1)
            if unit == 10**4:
                section = (section + below) * unit if section and not below else section + below * unit
            else:
                carried = section + below
                total = (total + carried) * unit if total and not carried else total + carried * unit
                section = Decimal(0)
            group, pending, run, step, zero = Decimal(0), None, 0, unit, False
            cursor += 1
        elif char in _VAGUE and char and chars and _char(text, _skip_gap(text, cursor + 1)) in _STEPS:
            vague = True
            cursor = _skip_gap(text, cursor + 1)
            chars += char
            continue
        elif char in _VAGUE and char and len(chars) > 0 and chars[-1] in "十百千万亿" and char != "几":
            vague = True
            cursor += 1
            end = cursor
            break
        elif char.isascii() and char.isdigit() and not pending and (not chars or chars[-1] in "十百千万亿零兆几"):
            match = _ARABIC.match(text, cursor)
            if match is None:
                break
            pending, run = Decimal(match[0].replace(",", "")), 0
            if chars and len(match[0]) > 1:
                step = 0
            cursor = match.end()
            char = match[0]
        else:
            break
        chars += char
        end = cursor
        ahead = _skip_gap(text, cursor)
        if ahead != cursor and (
            text[ahead : ahead + 1] in NUMERALS
            or text[ahead : ahead + 1] in _VAGUE
            or (text[ahead : ahead + 1].isdigit() and char in "十百千万亿零")
        ):
            cursor = ahead
    if not chars:
        return None
    if pending is not None:
        short = step >= 100 and not zero and run <= 1 and pending < 10 and "." not in chars
        group += pending * step / 10 if short else pending
    return _Whole(total + section + group, end, vague, chars)


def _decimal(text: str, pos: int) -> _Whole | None:
    """A number with a decimal part: 五点二, 一百二十点五, 点 read digit by digit."""
    whole = _whole(text, pos)
    if whole is None:
        return None
    dot = _DOT.match(text, whole.end)
    if dot is None or "." in whole.chars:
        return whole
    digits, cursor = "", dot.end()
    while len(digits) <= MAX_CHARS:
        char = text[cursor : cursor + 1]
        if char in DIGITS and char:
            digits += str(DIGITS[char])
        elif char.isascii() and char.isdigit():
            digits += char
        else:
            break
        cursor += 1
        ahead = _skip_gap(text, cursor)
        if ahead != cursor and text[ahead : ahead + 1] in DIGITS:
            cursor = ahead
    if len(digits) > 30:
        return None
    value = whole.value + Decimal("0." + digits)
    scaled = _trailing_scale(text, cursor)
    if scaled:
        return _Whole(value * scaled[0], scaled[1], whole.vague, whole.chars + "点" + digits)
    return _Whole(value, cursor, whole.vague, whole.chars + "点" + digits)


def _trailing_scale(text: str, pos: int) -> tuple[int, int] | None:
    """万 or 亿 after a decimal: 三点五万."""
    factor, end = 1, pos
    while text[end : end + 1] in _LARGE and end < len(text):
        factor *= _LARGE[text[end]]
        end += 1
    return (factor, end) if end > pos else None


def read_numeral(text: str, pos: int) -> Numeral | None:
    """The number that begins at `pos` with a Chinese numeral or with digits that Chinese ones follow."""
    sign = 1
    if text[pos : pos + 1] == "负":
        sign, pos = -1, _skip_gap(text, pos + 1)
    first = _decimal(text, pos)
    if first is None or len(first.chars) > MAX_CHARS:
        return None
    spoken = any(c in NUMERALS for c in first.chars)
    link = _PART_OF.match(text, first.end)
    if link:
        return _fraction(text, first, link.end(), sign, Decimal(0))
    plus = _AND.match(text, first.end)
    if plus:
        lower = _decimal(text, plus.end())
        link = _PART_OF.match(text, lower.end) if lower else None
        if lower and link:
            mixed = _fraction(text, lower, link.end(), sign, first.value)
            if mixed:
                return mixed._replace(unit=None)
    return Numeral(sign * first.value, None, first.end, first.vague, spoken)


def _fraction(text: str, lower: _Whole, pos: int, sign: int, whole: Decimal) -> Numeral | None:
    """二分之一, 百分之五, 万分之三: the lower part comes first."""
    if text[pos : pos + 1] == "负" or text[pos : pos + 1] == "-":
        sign, pos = -sign, pos + 1
    upper = _decimal(text, pos)
    if upper is None or lower.value == 0:
        return None
    value, end, rate = upper.value, upper.end, _RATES.get(lower.chars)
    if text[end : end + 1] in ("k", "K") and not text[end + 1 : end + 2].isalpha():
        value, end = value * 1000, end + 1
    if rate is None and lower.value >= 10000 and set(lower.chars) <= {"万", "百"}:
        return Numeral(sign * value * 100 / lower.value, "%", end, False, True)
    if rate:
        return Numeral(sign * value, rate, end, False, True)
    return Numeral(sign * (whole + value / lower.value), None, end, False, True)
