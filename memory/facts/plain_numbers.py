"""Numbers of digits alone in their commonest surroundings: in cells, literals, calls and plain sentences."""

from __future__ import annotations

import re
from decimal import Decimal

from .amounts import DOT_CURRENCIES
from .behind import look_behind
from .collect import Collector
from .context import look_left
from .fact import Fact
from .json_source import key_before
from .keys import Column, column
from .moments import CHINESE_REACH, moment_at, year_at
from .negatives import list_number

LONG_CODE = 10
MOMENT_DIGITS = 9
ZIP = re.compile(r"[A-Z]{2} \d{5}(?!\d)")
ADDRESS = re.compile(
    r"\d{1,5} (?:[A-Z][a-z]+ ){1,3}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Drive|Dr|Lane|Ln|Boulevard|Blvd|Way|Court|Place|Square)\b"
)
_GROUPS = re.compile(r"[1-9]\d{0,2}(?:,\d{3}){1,6}+(?:\.\d{1,12}+)?+(?![\d']|[,. ]\d)")
_AMOUNT_KEY = re.compile(
    r"amount|price|cost|total|count|qty|quantity|balance|value|sum|fee|score|weight|height|width|length", re.IGNORECASE
)
_ENDS = frozenset("#")  # "No.:", "#:"


class PlainNumbers(Collector):
    """What `scan.py` tries first: each way here says at once whether it is sure of the number."""

    def alone(self, start: int, end: int) -> None:
        """A cell that holds a number and nothing else: its neighbours do not belong to it."""
        facts, text = self.facts, self.text[start:end]
        facts.append(
            Fact("quantity", text, (start, end), Decimal(self.plain[start:end]), None, None, None,
                 self.source, None, None, False, None, None, self.origin)
        )  # fmt: skip
        if self.day_words:
            self.loose.append(len(facts) - 1)

    def bare(self, chunk: str, at: int, stop: int, end: int) -> bool:
        """The short way for numbers in literals and calls, where nothing around them matters.

        Adds the fact and says True when marks stand on both sides: "(207588)", ": 193.79}".
        """
        plain = self.plain
        if stop >= end or at < 3:
            return False
        after, before = plain[stop], plain[at - 1]
        if after == '"' and before == '"':
            return self._quoted(at, stop)
        if after not in "),}]" or (after == "," and plain[stop + 1 : stop + 2].isdigit()):
            return False
        colon = at - 2 if before == " " else at - 1
        mark = plain[colon]
        if mark not in ",:=" or (mark == "," and colon == at - 1) or plain[colon - 1] in _ENDS:
            return False
        if mark == ":" and plain[colon - 1] in "\"'":
            return self._valued(chunk, at, stop, colon)
        self.facts.append(
            Fact("quantity", self.text[at:stop], (at, stop), Decimal(chunk), None, None, None,
                 self.source, None, None, False, None, None, self.origin)
        )  # fmt: skip
        return True

    def _valued(self, chunk: str, at: int, stop: int, colon: int) -> bool:
        """A number behind a quoted key: the key may give its unit, or say that it is a name or a moment."""
        key = key_before(self.plain, colon, 0)
        meaning = column(key) if key else Column()
        if meaning.role == "identifier" or (meaning.role == "figure" and len(chunk) >= MOMENT_DIGITS + 6):
            self.emit("identifier", at, stop)
        elif meaning.role == "moment" and len(chunk) >= MOMENT_DIGITS:
            self.emit("time", at, stop)
        elif meaning.role == "date":
            self.emit("date", at, stop)
        else:
            self.facts.append(
                Fact(meaning.kind, self.text[at:stop], (at, stop), Decimal(chunk), None, None, meaning.unit,
                     self.source, None, None, False, None, None, self.origin)
            )  # fmt: skip
        return True

    def _quoted(self, at: int, stop: int) -> bool:
        """Digits that are a string: a name ("7803"), unless the key speaks of an amount ("price": "12.50")."""
        plain = self.plain
        key = key_before(plain, plain.rfind(":", max(0, at - 4), at), 0) if ":" in plain[max(0, at - 4) : at] else None
        digits = plain[at:stop]
        if key is None and not digits.isdigit():
            return False
        meaning = column(key) if key else None
        if (
            meaning
            and meaning.role == "figure"
            and (meaning.unit or not digits.isdigit() or _AMOUNT_KEY.search(key or ""))
        ):
            return False
        self.emit("identifier", at, stop)
        return True

    def usual(self, at: int, stop: int, floor: int, end: int) -> int:
        """Adds a number that nothing but a unit, a sign of money, "about" or "at least" belongs to, or that is a name.

        Gives its end, or 0 where the digits at `at` may be something else and the rules must read on.
        """
        plain = self.plain
        if plain[at - 1 : at] in ("[", "+") or stop - at >= LONG_CODE or not plain[at : at + CHINESE_REACH].isascii():
            return 0
        number_end = stop
        if plain[stop : stop + 1] == "," and plain[stop + 1 : stop + 2].isdigit():
            groups = _GROUPS.match(plain, at)
            if groups is None or groups.end() > end:
                return 0
            number_end = groups.end()
        behind = look_behind(plain, number_end, end)
        if behind is None:
            return 0
        span_end, unit, kind, word, moment = behind
        mark = plain[number_end]
        if mark in ".:)" and (list_number(plain, at, stop, floor) or plain[at - 1 : at] == "("):
            return 0
        if moment and moment_at(plain, at, end, floor):
            return 0
        year = year_at(plain, at, end, floor) if stop - at == 4 else 0
        if year:
            return self.emit("date", at, year)
        if stop - at == 5 and ZIP.match(plain, max(floor, at - 3), end):
            return 0
        left = look_left(plain, at, floor)
        if left.naming:
            return self.named(at, stop, end) if mark != "%" else 0
        if word and ADDRESS.match(plain, at, end):
            return 0
        start = left.start
        if left.currency:
            if left.accounting or left.scale or word or left.currency in DOT_CURRENCIES:
                return 0
            unit, kind = left.currency, "money"
        elif left.unit or left.dash >= 0 or (start != at and not left.negative):
            return 0
        value = Decimal(plain[at:number_end].replace(",", ""))
        if left.negative:
            value = -value
        self.facts.append(
            Fact(kind, self.text[start:span_end], (start, span_end), value, None, None, unit,
                 self.source, None, None, left.approx, left.bound, None, self.origin)
        )  # fmt: skip
        if unit is None:
            self.loose.append(len(self.facts) - 1)
        return span_end

    def named(self, at: int, stop: int, end: int) -> int:
        """A number that is a name: "room 12", "#4711"."""
        plain = self.plain
        while stop < end and (
            plain[stop].isdigit() or (plain[stop] in ",-./ " and plain[stop + 1 : stop + 2].isdigit())
        ):
            stop += 1
        start = at - 1 if plain[at - 1 : at] == "#" else at
        return self.emit("identifier", start, stop)
