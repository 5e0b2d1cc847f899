"""What stands behind a bare number where nothing further on can change it, judged once for each word.

Most numbers of a text end at a mark ("1939,"), carry one unit ("7 MW,") or stand before a plain word ("3 tests").
A word is judged by the rules for units themselves; this file only knows how far these rules look.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .amounts import DOT_CURRENCIES, unit_after
from .fact import Kind
from .moments import begins_moment
from .numerals_en import DOZENS, SCALES, STARTERS
from .units import tables


class Behind(NamedTuple):
    """What belongs to a number: where it ends and its unit.

    `word` when a word follows and no mark, `moment` when the number may be a date or a clock time instead.
    """

    end: int
    unit: str | None
    kind: Kind
    word: bool
    moment: bool


class _Word(NamedTuple):
    """What a word behind a number says: for certain if `final`, else where a mark or no word of `longer` follows."""

    unit: str | None
    kind: Kind
    final: bool
    longer: frozenset[str] = frozenset()
    moment: bool = False


_MARKS = (",", ";", ":", ")", "]", "}", "|", " |", "\n", ". ")
_MARK = re.compile(
    r" ?\||[;}\]<>!)]|[.:](?=[ \n])|,(?![\d-])|'(?!\d)"
    r"|(?:\n| (?= )(?! +\d{1,3}/))(?:\s{3}|\s{0,2}(?![\s(~:/.-]|[^\x00-\x7f])([A-Za-z]{0,9}))"
)
_WORD = re.compile(r"(%| [A-Za-z]{2,24}+(?![A-Za-z]))(?:([,;:)\]}\n]| ?\||\.(?=\s))| ([a-z]{2,24}+)(?=[ ,.\n]))?")
_LETTERS = re.compile(r"[a-z]+")
_REACHING = SCALES.keys() | DOZENS.keys() | {"cu", "cubic", "or", "over", "sq", "square"}
_LINKS = frozenset({"and", "through", "till", "to", "until"})
_AGES = frozenset({"of", "old"})
# The words that the patterns of amounts, ranges, bounds and compound units read on with, behind a unit and a space.
_CONTINUING = STARTERS | SCALES.keys() | _LINKS | _AGES | {"an", "cubed", "or", "per", "squared"}


def look_behind(text: str, stop: int, end: int) -> Behind | None:
    """What belongs to the digits that end at `stop`; None where the rules must read on to say it."""
    mark = _MARK.match(text, stop)
    if mark:
        return Behind(stop, None, "quantity", False, mark[1] is not None and begins_moment(mark[1]))
    match = _WORD.match(text, stop)
    if match is None or match.end(1) > end:
        return None
    word = _judged(match[1])
    if word is None or not (word.final or match[2] or (match[3] and match[3] not in word.longer)):
        return None
    return Behind(match.end(1) if word.unit else stop, word.unit, word.kind, True, word.moment)


@lru_cache(maxsize=8192)
def _judged(word: str) -> _Word | None:
    """What "%" or a space and a word behind a number say; None where that depends on the number or on what follows."""
    lower = word.strip().lower()
    moment = begins_moment(lower)
    if lower in _REACHING:
        return None
    known = tables().aliases
    if lower not in known:
        return _Word(None, "quantity", lower not in _LINKS, _CONTINUING, moment)
    spellings = (alias.spelling.lower() for key in (lower, lower + " ") for alias in known.get(key, ()))
    rests = [spelling[len(lower) :] for spelling in spellings if len(spelling) > len(lower)]
    found = {unit_after(f"0{word}{mark}", 1, decimal=d, money=False) for mark in _MARKS for d in (True, False)}
    if len(found) > 1 or any(rest.startswith(". ") for rest in rests):
        return None
    longer = _CONTINUING.union(*(_LETTERS.findall(rest)[:1] for rest in rests if rest[0] == " "))
    unit = found.pop()
    if unit is None:
        return _Word(None, "quantity", False, longer - _AGES, moment)
    if unit.end != len(word) + 1 or unit.symbol in DOT_CURRENCIES or unit.symbol[1:] in tables().codes:
        return None
    if unit.kind != "duration" and unit.symbol not in ("month", "year"):
        longer -= _AGES
    return _Word(unit.symbol, unit.kind, False, longer, moment)
