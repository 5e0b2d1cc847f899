"""Reads running text: one pass over its chunks, each judged once by shape, numbers read where they stand."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import cast

from . import dates
from .amounts import Amount, finish_amount, read_amount, unit_after
from .context import Left, look_left
from .fact import Fact, Kind
from .identifiers import Piece, Pieces, classify
from .moments import Moment, chinese_moment, clock_in_words, moment_at, year_in_words
from .negatives import bracket_note, list_number, phone_after, phone_at
from .notation import Number
from .numerals_en import read_words
from .numerals_zh import read_numeral
from .plain_numbers import ADDRESS, LONG_CODE, ZIP, PlainNumbers
from .spoken import allowed_word, allowed_zh
from .unit_reader import read_unit

_CHUNK = re.compile(r"[^\s()\[\]{}<>\"'`,;=|!*\u2e80-\uffef…]+|[零一二三四五六七八九十百千万亿两半几第上下负对电传正]")
_MAX_KNOWN = 65536
_KNOWN: dict[str, Pieces] = {}
_PLAIN_NUMBER: Pieces = (Piece("plain number", 0, 0),)  # one object for all such chunks, told apart by identity
_FACT_ROLES = frozenset({"identifier", "path", "url", "email", "name", "date", "time"})
_URL_TAIL = re.compile(r"[^\s\"'<>`|，。；、）】》\u3400-\u9fff]*")

_LOGGED_FRACTION = re.compile(r",\d{3}(?!\d)")  # 12:33:01,123, as Python's logging writes it

NEAR = 40
_CLOSING = frozenset(")}]")


class Scanner(PlainNumbers):
    """One pass over one text or over the cells of its tables."""

    def run(self, start: int, end: int) -> None:
        """Reads the facts of `text[start:end]`."""
        plain, text, seen, facts = self.plain, self.text, self.seen, self.facts
        source, origin = self.source, self.origin
        known = _KNOWN.get
        first = len(facts)
        consumed = start
        for match in _CHUNK.finditer(plain, start, end):
            chunk = match[0]
            pieces = known(chunk)
            if pieces is None:
                pieces = _judge(chunk)
            if not pieces:
                continue
            offset = match.start()
            if pieces is _PLAIN_NUMBER:  # most of what stands in literals and tables
                if offset < consumed:
                    continue
                consumed = stop = offset + len(chunk)
                if offset == start and stop == end and len(chunk) < LONG_CODE:
                    self.alone(start, end)
                elif plain[offset - 2 : offset] == ", " and plain[stop : stop + 1] in _CLOSING:
                    facts.append(
                        Fact("quantity", text[offset:stop], (offset, stop), Decimal(chunk), None, None, None,
                             source, None, None, False, None, None, origin)
                    )  # fmt: skip
                elif not self.bare(chunk, offset, stop, end):
                    consumed = self.usual(offset, stop, start, end) or self._number(offset, stop, start, end)
                continue
            for role, piece_start, piece_end in pieces:
                at = offset + piece_start
                if at < consumed:
                    continue
                stop = offset + piece_end
                if role == "identifier" or role == "path" or role == "name":
                    word = text[at:stop]
                    if word not in seen and not (role == "path" and _closes_tag(plain, at, word)):
                        seen.add(word)
                        if plain.startswith('":', stop) and word.replace("_", "").isalpha():
                            role = "name"  # a JSON key says less than a value
                        facts.append(
                            Fact(cast("Kind", role), word, (at, stop), None, None, None, None,
                                 source, None, None, False, None, None, origin)
                        )  # fmt: skip
                    consumed = stop
                elif role == "line number" and (not at or plain[at - 1] == "\n"):
                    continue
                elif role == "plain number" or role == "line number":
                    consumed = self.usual(at, stop, start, end) or self._number(at, stop, start, end)
                elif role == "plain percent":
                    consumed = self.usual(at, stop - 1, start, end) or self._number(at, stop, start, end)
                elif role == "number":
                    consumed = self._number(at, stop, start, end)
                else:
                    consumed = self._other(role, at, stop, start, end)
        self.settle(first)

    def cell(self, start: int, end: int) -> None:
        """Reads the facts of a table's cell, of which most hold one number or one plain word."""
        pieces = _KNOWN.get(self.plain[start:end])
        if pieces is _PLAIN_NUMBER and end - start < LONG_CODE:
            first = len(self.facts)
            self.alone(start, end)
            self.settle(first)
        elif pieces or pieces is None:
            self.run(start, end)

    def _other(self, role: str, at: int, stop: int, floor: int, end: int) -> int:
        """The roles that are rarer than names and digits."""
        plain = self.plain
        if role == "word":
            return self._words(at, floor, end)
        if role == "zh":
            return self._chinese_number(at, floor, end)
        if role in ("month", "weekday"):
            self.day_words.append(at)
            pattern = dates.MONTH_FIRST if role == "month" else dates.WEEKDAY_FIRST
            match = pattern.match(plain, at, end)
            return self.emit("date", at, match.end()) if match else stop
        if role == "day":
            self.day_words.append(at)
            return stop
        if role == "phone":
            found = phone_after(plain, stop, end)
            return self.emit("identifier", found[0], found[1]) if found else stop
        if role == "url":
            tail = _URL_TAIL.match(plain, stop, end)
            stop = tail.end() if tail else stop
            while plain[stop - 1] in ".,;:!?)":
                stop -= 1
            return self.emit("url", at, stop)
        if role == "time":
            colon = self.text.find("：", at, stop)
            unit = unit_after(plain, stop, decimal=False, money=False) if colon > 0 else None
            if unit is not None and unit.kind != "duration":  # 仓库3：12 吨
                self._number(at, colon, floor, colon)
                return self._number(colon + 1, stop, colon + 1, end)
            self.day_words.append(at)
            fraction = _LOGGED_FRACTION.match(plain, stop, end) if plain.count(":", at, stop) == 2 else None
            stop = fraction.end() if fraction else stop
        if role in _FACT_ROLES:
            return self.emit(cast("Kind", role), at, stop)
        return stop

    def _number(self, at: int, stop: int, floor: int, end: int) -> int:
        """A figure that begins with the digits at `at`, or the date, clock time or name they belong to."""
        plain = self.plain
        before = plain[at - 1] if at > floor else ""
        after = plain[stop] if stop < end else ""
        if before == "[" and bracket_note(plain, at, stop, floor):
            return stop
        if (after in ":)." or plain[stop - 1] in ".:-") and list_number(plain, at, stop, floor):
            return stop
        if before in ("(", "+", " ", "", ":", "-") or before > "⺀":
            phone = phone_at(plain, at, end, floor)
            if phone:
                return self.emit("identifier", *phone)
        moment = moment_at(plain, at, end, floor)
        if moment:
            return self._moment(at, moment)
        left = look_left(plain, at, floor)
        if left.naming or ZIP.match(plain, max(floor, at - 3), end) or self._is_code(at, stop, end):
            return self.named(at, stop, end)
        address = ADDRESS.match(plain, at, end)
        if address:
            return self.emit("identifier", at, address.end())
        amount = read_amount(plain, at, left)
        if amount is None or amount.end > end:
            return stop
        if (
            amount.end < stop
            and amount.unit is None
            and plain[amount.end] == "."
            and not plain[amount.end + 1].isdigit()
        ):
            stop = amount.end
        return self.figure(at, amount, left, end)

    def _moment(self, at: int, moment: Moment) -> int:
        if moment[0] == "time":
            self.day_words.append(at)
        return self.emit(moment[0], at, moment[1])

    def _is_code(self, at: int, stop: int, end: int) -> bool:
        """Whether ten digits and more without groups in running text are a number that names something."""
        plain = self.plain
        digits = plain[at:stop]
        if len(digits) < LONG_CODE or not digits.isdigit():
            return False
        after = plain[stop : min(end, stop + 12)]
        if stop >= len(plain) and plain[max(0, at - 2) : at].strip(" -+") == "":
            return False
        return not (after.strip() and (after.strip()[0].isalpha() and read_unit(plain, stop + (after[0] == " "))))

    def _words(self, at: int, floor: int, end: int) -> int:
        """A number in English words."""
        plain = self.plain
        stop = _word_end(plain, at)
        if at > floor and (plain[at - 1].isalnum() or plain[at - 1] in "_-/."):
            return stop
        year = year_in_words(plain, at, end, floor)
        if year:
            return self.emit("date", at, year)
        start = at
        article = 2 if plain[at - 2 : at].lower() == "a " else 3 if plain[at - 3 : at].lower() == "an " else 0
        if article and at - article >= floor and not plain[at - article - 1 : at - article].isalnum():
            words = read_words(plain, at - article)
            if words:
                start = at - article
            else:
                words = read_words(plain, at)
        else:
            words = read_words(plain, at)
        if words is None or words.end > end:
            return stop
        clock = clock_in_words(plain, words, end, near_day=bool(self.day_words) and at - self.day_words[-1] < NEAR)
        if clock:
            self.day_words.append(at)
            return self.emit("time", start, clock)
        left = look_left(plain, start, floor)
        if left.naming:
            return words.end
        amount = finish_amount(plain, Number(words.value, words.end, "fraction" if words.fraction else "words"), left)
        if not allowed_word(plain, start, amount, left, floor):
            return words.end
        return self.figure(start, amount, left, end)

    def _chinese_number(self, at: int, floor: int, end: int) -> int:
        """A number in Chinese numerals, or the date, clock time or idiom they stand in."""
        plain = self.plain
        if plain[at] in "第上下对电传正" and not (plain[at] == "正" and plain[at + 1 : at + 2] == "月"):
            return self._chinese_cue(at, floor, end)
        moment = chinese_moment(plain, at, end, floor)
        if moment:
            return self._moment(at, moment)
        found = allowed_zh(self.text, plain, at, floor, end)
        if found is None:
            return at + 1
        numeral_end, amount = found
        if amount is None:
            return numeral_end
        left = look_left(plain, at, floor)
        if left.naming:
            return numeral_end
        if plain[at] == "负":
            left = Left(at)
        return self.figure(at, amount, left, end)

    def _chinese_cue(self, at: int, floor: int, end: int) -> int:
        plain = self.plain
        char = plain[at]
        if char == "第":
            numeral = read_numeral(plain, at + 1)
            return numeral.end if numeral else at + 1
        if plain[at : at + 2] in ("电话", "传真"):
            found = phone_after(plain, at + 2, end)
            return self.emit("identifier", *found) if found else at + 2
        if char == "对" and plain[at + 1 : at + 2] == "折":
            self.add(at, Amount(Decimal(50), at + 2, "%", "percent", "numeral", True), Left(at), end)
            return at + 2
        return at + 1


def _closes_tag(plain: str, at: int, word: str) -> bool:
    """Whether what looks like a path is the name in `</name>`."""
    return word[0] == "/" and plain[at - 1 : at] == "<" and "/" not in word[1:]


def _judge(chunk: str) -> Pieces:
    """The pieces of a chunk, remembered for as long as there is room."""
    pieces = (Piece("zh", 0, 1),) if len(chunk) == 1 and chunk > "⺀" else classify(chunk)
    if pieces == (("plain number", 0, len(chunk)),):
        pieces = _PLAIN_NUMBER
    if len(_KNOWN) >= _MAX_KNOWN:
        _KNOWN.clear()
    _KNOWN[chunk] = pieces
    return pieces


def _word_end(text: str, at: int) -> int:
    while at < len(text) and text[at].isalpha():
        at += 1
    return at
