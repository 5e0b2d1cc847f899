"""Reads running text: one pass over its chunks, each judged once by shape, numbers read where they stand."""

from __future__ import annotations

import re
from bisect import bisect_left
from decimal import Decimal
from typing import cast

from . import dates
from .amounts import Amount, finish_amount, read_amount, second_of_range
from .context import Left, look_left
from .fact import Bound, Fact, Kind
from .json_source import key_before
from .keys import Column, column
from .identifiers import Pieces, classify
from .negatives import bracket_note, list_number, phone_after, phone_at
from .notation import VULGAR, Number
from .numerals_en import read_words
from .numerals_zh import DIGITS, NUMERALS, read_numeral
from .origin import Origin
from .spoken import allowed_word, allowed_zh
from .unit_reader import read_unit

_CHUNK = re.compile(r"[^\s()\[\]{}<>\"'`,;=|!*\u2e80-\uffef…]+")
_CHUNK_ZH = re.compile(r"[^\s()\[\]{}<>\"'`,;=|!*\u2e80-\uffef…]+|[零一二三四五六七八九十百千万亿两半几第上下负对电传]")
_MAX_KNOWN = 65536
_KNOWN: dict[str, Pieces] = {}
_FACT_ROLES = frozenset({"identifier", "path", "url", "email", "name", "date", "time"})
_URL_TAIL = re.compile(r"[^\s\"'<>`|，。；、）】》\u3400-\u9fff]*")
_AFTER_BOUND = re.compile(
    r"\s?(以上|以下|以内|或者?以上|或更多|或者更多|多(?=[个名家人次元年天岁条件])|余(?=[个名家人次元年天岁条件])|or more|or less|or greater|or fewer|\+)"
)
_AFTER_BOUNDS: dict[str, Bound] = {
    "以上": ">=", "以下": "<=", "以内": "<=", "或以上": ">=", "或者以上": ">=", "或更多": ">=", "或者更多": ">=",
    "多": ">", "余": ">", "or more": ">=", "or less": "<=", "or greater": ">=", "or fewer": "<=", "+": ">=",
}  # fmt: skip


LONG_CODE = 10
_HYPHEN_WORD = re.compile(r"-[a-z]{3,}(?![\w-])")
MOMENT_DIGITS = 9
_AMOUNT_KEY = re.compile(
    r"amount|price|cost|total|count|qty|quantity|balance|value|sum|fee|score|weight|height|width|length", re.IGNORECASE
)
_ADDRESS = re.compile(
    r"\d{1,5} (?:[A-Z][a-z]+ ){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Drive|Dr|Lane|Ln|Boulevard|Blvd|Way|Court|Place|Square)\b"
)
_CLOSING = (")", "}", "]", "),", ")]")
_ENDS = frozenset("#")  # "No.:", "#:"


class Scanner:
    """One pass over one text. `plain` is the normalised text of the same length as `text`."""

    def __init__(self, text: str, plain: str, chinese: bool, source: str | None, origin: Origin) -> None:
        self.text = text
        self.plain = plain
        self.chinese = chinese
        self.source = source
        self.origin = origin
        self.facts: list[Fact] = []
        self.seen: set[str] = set()
        self.day_words: list[int] = []
        self.loose: list[int] = []  # places in `facts` of small bare numbers, which may be clock times

    def run(self, start: int, end: int) -> None:
        """Reads the facts of `text[start:end]`."""
        plain, known, seen, facts = self.plain, _KNOWN, self.seen, self.facts
        source, origin = self.source, self.origin
        first = len(facts)
        consumed = start
        for match in (_CHUNK_ZH if self.chinese else _CHUNK).finditer(plain, start, end):
            chunk = match[0]
            pieces = known.get(chunk)
            if pieces is None:
                pieces = _judge(chunk)
            if not pieces:
                continue
            offset = match.start()
            for role, piece_start, piece_end in pieces:
                at = offset + piece_start
                if at < consumed:
                    continue
                stop = offset + piece_end
                if role == "plain number":
                    if plain[at - 2 : at] == ", " and plain[stop : stop + 1] in _CLOSING:
                        facts.append(
                            Fact("quantity", self.text[at:stop], (at, stop), Decimal(chunk), None, None, None,
                                 source, None, None, False, None, None, origin)
                        )  # fmt: skip
                        consumed = stop
                    elif self._bare(chunk, at, stop, end):
                        consumed = stop
                    else:
                        consumed = self._number(at, stop, start, end)
                elif role == "identifier" or role == "path" or role == "name":
                    word = self.text[at:stop]
                    if word not in seen:
                        seen.add(word)
                        facts.append(Fact(cast("Kind", role), word, (at, stop), source=source, origin=origin))
                    consumed = stop
                elif role == "line number":
                    if at and plain[at - 1] != "\n":
                        consumed = self._number(at, stop, start, end)
                elif role == "number":
                    consumed = self._number(at, stop, start, end)
                else:
                    consumed = self._other(role, at, stop, start, end)
        self._settle(first)

    def _bare(self, chunk: str, at: int, stop: int, end: int) -> bool:
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
            Fact("quantity", self.text[at:stop], (at, stop), Decimal(chunk), source=self.source, origin=self.origin)
        )
        return True

    def _valued(self, chunk: str, at: int, stop: int, colon: int) -> bool:
        """A number behind a quoted key: the key may give its unit, or say that it is a name or a moment."""
        key = key_before(self.plain, colon, 0)
        meaning = column(key) if key else Column()
        if meaning.role == "identifier" or (meaning.role == "figure" and len(chunk) >= MOMENT_DIGITS + 6):
            self._emit("identifier", at, stop)
        elif meaning.role == "moment" and len(chunk) >= MOMENT_DIGITS:
            self._emit("time", at, stop)
        elif meaning.role == "date":
            self._emit("date", at, stop)
        else:
            fact = Fact(
                meaning.kind, self.text[at:stop], (at, stop), Decimal(chunk), None, None, meaning.unit, self.source
            )
            fact.origin = self.origin
            self.facts.append(fact)
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
        self._emit("identifier", at, stop)
        return True

    def _emit(self, kind: Kind, start: int, end: int) -> int:
        word = self.text[start:end]
        self.facts.append(Fact(kind, word, (start, end), source=self.source, origin=self.origin))
        return end

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
            return self._emit("date", at, match.end()) if match else stop
        if role == "day":
            self.day_words.append(at)
            return stop
        if role == "phone":
            found = phone_after(plain, stop, end)
            return self._emit("identifier", found[0], found[1]) if found else stop
        if role == "url":
            tail = _URL_TAIL.match(plain, stop, end)
            stop = tail.end() if tail else stop
            while plain[stop - 1] in ".,;:!?)":
                stop -= 1
            return self._emit("url", at, stop)
        if role == "time":
            self.day_words.append(at)
        if role in _FACT_ROLES:
            return self._emit(cast("Kind", role), at, stop)
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
                return self._emit("identifier", *phone)
        date = self._date_at(at, end, floor)
        if date:
            return date
        left = look_left(plain, at, floor)
        if left.naming or self._is_code(at, stop, end):
            return self._named(at, stop, end)
        address = _ADDRESS.match(plain, at, end)
        if address:
            return self._emit("identifier", at, address.end())
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
        return self._figure(at, amount, left, end)

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

    def _named(self, at: int, stop: int, end: int) -> int:
        """A number that is a name: "room 12", "#4711"."""
        plain = self.plain
        while stop < end and (
            plain[stop].isdigit() or (plain[stop] in ",-./ " and plain[stop + 1 : stop + 2].isdigit())
        ):
            stop += 1
        start = at - 1 if plain[at - 1 : at] == "#" else at
        return self._emit("identifier", start, stop)

    def _date_at(self, at: int, end: int, floor: int) -> int:
        """The end of a date or clock time that begins with digits at `at`; 0 when there is none."""
        plain = self.plain
        if self.chinese:
            stop = dates.chinese_date(plain, at)
            if stop > at:
                return self._emit("date", at, stop)
            clock = self._chinese_clock(at, end, floor)
            if clock:
                return self._emit("time", at, clock.end())
        head = plain[at : at + 5]
        if len(head) > 1 and not head[1:].isdigit() and not plain[at + 1 : at + 6].isspace():
            match = dates.CLOCK.match(plain, at, end) or dates.CLOCK_RANGE.match(plain, at, end)
            if match and not (
                match[0][-2:].lower() == "pm"
                and "." in match[0]
                and ":" not in match[0]
                and len(match[0].split(".")[1]) < 5
                and " " in match[0]
            ):
                self.day_words.append(at)
                return self._emit("time", at, match.end())
            match = dates.DAY_FIRST.match(plain, at, end) or dates.NUMERIC_DATE.match(plain, at, end)
            if match:
                return self._emit("date", at, match.end())
        if head[:1] in ("1", "2") and head[:4].isdigit() and len(head) >= 4:
            match = dates.YEARS.match(plain, at, end)
            if match and self._is_year(match[0], at, match.end(), floor, end):
                return self._emit("date", at, match.end())
        if "/" in head:
            match = dates.DAY_OF_MONTH.match(plain, at, end)
            if match and self._is_day(at, match.end(), floor, end):
                return self._emit("date", at, match.end())
        return 0

    def _chinese_clock(self, at: int, end: int, floor: int) -> re.Match[str] | None:
        if self.plain[max(floor, at - 2) : at] in dates.DAY_PARTS:
            spoken = dates.SPOKEN_CHINESE_CLOCK.match(self.plain, at, end)
            if spoken:
                return spoken
        return dates.CHINESE_CLOCK.match(self.plain, at, end)

    def _is_year(self, word: str, at: int, stop: int, floor: int, end: int) -> bool:
        """Whether four digits are a year: a word of time stands before them, and no unit behind."""
        plain = self.plain
        behind = plain[stop : min(end, stop + 2)]
        if word[-1] in "s年" or (len(word) > 6 and word[4:].strip(" ")[0] in "-–~/tTuU" and word[-4:].isdigit()):
            return not (behind[:1].isalpha() and word[-1].isdigit())
        mark = behind[:1]
        if (
            mark
            and (mark.isalpha() or mark in "-_/%$€£¥°:" or (mark == "." and behind[1:].isdigit()))
            or (at > floor and plain[at - 1] in "$€£¥=#_-+.")
        ):
            return False
        before = plain[max(floor, at - 16) : at].lower().rstrip(" (")
        previous = before.rsplit(None, 1)[-1] if before else ""
        if previous.strip("(,\"'") in _YEAR_WORDS:
            return True
        if len(previous) == 2 and previous[0] in "qh" and previous[1].isdigit():
            return True
        return len(word) > 4 and word[4:].strip()[:1].lower() in ("q", "h", "b", "a")

    def _is_day(self, at: int, stop: int, floor: int, end: int) -> bool:
        """Whether "11/20" is a day of a month: a word of time or another such day stands beside it."""
        plain = self.plain
        before = plain[max(floor, at - 14) : at].lower().rstrip()
        previous = before.rsplit(None, 1)[-1] if before else ""
        if previous in _BEFORE_DAY or previous in dates.WEEKDAYS or (previous.endswith("?") and "date" in before):
            return True
        if before.endswith(",") and any(f.kind == "date" and f.span[1] >= at - 3 for f in self.facts[-1:]):
            return True
        after = plain[stop : min(end, stop + 10)].lower().split()
        return bool(after) and after[0] in ("between", "before", "after", "at", "from") or "/" in plain[stop : stop + 8]

    def _figure(self, at: int, amount: Amount, left: Left, end: int) -> int:
        """Adds the fact of an amount, or of the range or pair that begins with it."""
        plain = self.plain
        first = amount
        nearby = plain[amount.end : amount.end + 2]
        if left.dash >= 0 and amount.unit in ("°C", "°F", "K"):
            left = left._replace(start=left.dash, negative=True)
        if left.negative:
            amount = amount._replace(value=-amount.value)
        second = None
        if nearby[:1] in ("-", "–", "~", " ", "至", "到", "和"):
            second = second_of_range(plain, first, left)
        if second is not None and second[0].end <= end:
            other, ranged = second
            joined = self._range(at, amount, other, ranged, left)
            if joined:
                return joined
        value = amount.value
        if left.accounting and plain[amount.end : amount.end + 1] == ")" and self._is_loss(left.start):
            value = -abs(value)
        if amount.unit is None and nearby[:1] == "-":
            word = _HYPHEN_WORD.match(plain, amount.end, end)
            amount = amount._replace(end=word.end() if word else amount.end)
        self._add(at, amount._replace(value=value), left, end)
        return self.facts[-1].span[1]

    def _is_loss(self, start: int) -> bool:
        """Whether "($99.99)" is a negative amount: no other amount of the line is what it restates."""
        line = self.plain.rfind("\n", max(0, start - 120), start) + 1
        return not any(c.isdigit() for c in self.plain[max(line, start - 60) : start - 1])

    def _range(self, at: int, first: Amount, other: Amount, ranged: bool, left: Left) -> int:
        """The end of the range or pair of two amounts, or 0 when they are two facts of their own."""
        same = first.unit == other.unit
        shared = first.unit is None and other.unit is not None
        leading = other.unit is None and first.unit is not None
        if not (same or shared or leading):
            return 0
        gap = self.plain[first.end : other.end]
        if leading and not ranged:
            return 0
        if leading and gap[:1] == " " and not gap.strip().startswith(("-", "–", "~", "to")):
            return 0
        low, high = first.value, other.value
        if not ranged:
            opening = self.plain[max(0, at - 9) : left.start].lower()
            if "between" not in opening and "介于" not in opening and "于" not in opening[-3:]:
                if shared and not other.scaled:
                    self._add(at, first._replace(unit=other.unit, kind=other.kind), left, other.end, stretch=False)
                    return self.facts[-1].span[1]
                return 0
        compact = gap[:1] in "-–"
        if compact and low > high and other.unit is None:
            return 0
        if shared and other.form != "words" and first.form == "integer" and other.scaled and not first.scaled:
            factor = _shared_scale(self.plain, other)
            if factor:
                low *= factor
        span_end = other.end
        start = left.start
        fact = Fact(
            other.kind if shared or same else first.kind,
            self.text[start:span_end],
            (start, span_end),
            None,
            min(low, high),
            max(low, high),
            other.unit if shared else first.unit,
            self.source,
            approx=left.approx,
            origin=self.origin,
        )
        self.facts.append(fact)
        if fact.unit is None:
            self.loose.append(len(self.facts) - 1)
        return span_end

    def _add(self, at: int, amount: Amount, left: Left, end: int, *, stretch: bool = True) -> None:
        bound, stop = left.bound, amount.end
        approx = left.approx or amount.vague
        if stretch and stop < end:
            after = self.plain[stop]
            if after in " +以或多余":
                match = _AFTER_BOUND.match(self.plain, stop, end)
                if match:
                    bound = _AFTER_BOUNDS[match[1]]
        fact = Fact(
            amount.kind,
            self.text[left.start : stop],
            (left.start, stop),
            amount.value,
            None,
            None,
            amount.unit,
            self.source,
            approx=approx,
            bound=bound,
            uncertainty=amount.uncertainty,
            origin=self.origin,
        )
        self.facts.append(fact)
        if amount.unit is None and not amount.scaled and amount.form in ("integer", "words", "decimal", "numeral"):
            self.loose.append(len(self.facts) - 1)

    def _words(self, at: int, floor: int, end: int) -> int:
        """A number in English words."""
        plain = self.plain
        stop = _word_end(plain, at)
        if at > floor and (plain[at - 1].isalnum() or plain[at - 1] in "_-/."):
            return stop
        year = dates.YEAR_IN_WORDS.match(plain, at, end)
        if year and (
            " hundred" not in year[0].lower() or plain[max(floor, at - 5) : at].lower().strip() in _MONTH_ENDS
        ):
            after = plain[year.end() : year.end() + 8].lower()
            if not after.startswith((" perc", " %", " fift")) and plain[max(floor, at - 4) : at].lower().endswith(
                ("in ", "of ", "t ", "r ", "y ", "l ", "h ", "e ")
            ):
                return self._emit("date", at, year.end())
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
        clock = dates.WORD_CLOCK.match(plain, words.end, end)
        if clock and words.value <= 24:
            self.day_words.append(at)
            return self._emit("time", start, clock.end())
        left = look_left(plain, start, floor)
        if left.naming:
            return words.end
        amount = finish_amount(plain, Number(words.value, words.end, "fraction" if words.fraction else "words"), left)
        if not allowed_word(plain, start, amount, left, floor):
            return words.end
        return self._figure(start, amount, left, end)

    def _chinese_number(self, at: int, floor: int, end: int) -> int:
        """A number in Chinese numerals, or the date, clock time or idiom they stand in."""
        plain = self.plain
        if plain[at] in "第上下对电传":
            return self._chinese_cue(at, floor, end)
        date = dates.chinese_date(plain, at)
        if date > at and not (plain[date - 1] in "年月" and date - at == 2 and plain[at] not in "一二三四五六七八九十"):
            return self._emit("date", at, date)
        clock = self._chinese_clock(at, end, floor)
        if clock:
            return self._emit("time", at, clock.end())
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
        return self._figure(at, amount, left, end)

    def _chinese_cue(self, at: int, floor: int, end: int) -> int:
        plain = self.plain
        char = plain[at]
        if char == "第":
            numeral = read_numeral(plain, at + 1)
            return numeral.end if numeral else at + 1
        if plain[at : at + 2] in ("电话", "传真"):
            found = phone_after(plain, at + 2, end)
            return self._emit("identifier", *found) if found else at + 2
        if char == "对" and plain[at + 1 : at + 2] == "折":
            self._add(at, Amount(Decimal(50), at + 2, "%", "percent", "numeral", True), Left(at), end)
            return at + 2
        return at + 1

    def _settle(self, first: int) -> None:
        """Turns small bare numbers beside a word of the day into clock times."""
        if not self.loose or not self.day_words:
            self.loose.clear()
            return
        for index in self.loose:
            fact = self.facts[index]
            if index < first or not all(n == n.to_integral_value() or n < 24 for n in fact.numbers):
                continue
            limit = 2459 if len(fact.text.strip("-")) >= 3 and fact.numbers[0] >= 100 else 31
            if any(n > limit or n < 0 for n in fact.numbers):
                continue
            start, stop = fact.span
            place = bisect_left(self.day_words, start)
            close = [w for w in self.day_words[max(0, place - 1) : place + 1] if stop - 34 <= w <= stop + 26]
            if close and "\n" not in self.plain[min(start, close[0]) : max(stop, close[-1])]:
                self.facts[index] = Fact("time", fact.text, fact.span, source=self.source, origin=self.origin)
        self.loose.clear()


_MONTH_ENDS = ("jan", "feb", "mar", "apr", "pril", "may", "june", "july", "sept", "nov", "dec")
_BEFORE_DAY = frozenset("on this next last until till by before after since due date or".split())
_YEAR_WORDS = frozenset(
    "in since from until till before after of year years during between by for around circa early mid late summer "
    "winter spring autumn fall through to and or fy calendar than any not but begin starting ended".split()
)


def _judge(chunk: str) -> Pieces:
    pieces = classify(chunk) if not (len(chunk) == 1 and chunk > "⺀") else (("zh", 0, 1),)
    if len(_KNOWN) >= _MAX_KNOWN:
        _KNOWN.clear()
    _KNOWN[chunk] = cast("Pieces", pieces)
    return cast("Pieces", pieces)


def _word_end(text: str, at: int) -> int:
    while at < len(text) and text[at].isalpha():
        at += 1
    return at


def _shared_scale(plain: str, other: Amount) -> int:
    """The scale word of "5-7 million", which counts for both ends."""
    tail = plain[max(0, other.end - 24) : other.end].lower()
    for word, factor in (
        ("million", 10**6),
        ("billion", 10**9),
        ("thousand", 1000),
        ("trillion", 10**12),
        ("亿", 10**8),
        ("万", 10**4),
    ):
        if word in tail:
            return factor
    return 0


__all__ = ["DIGITS", "NUMERALS", "VULGAR", "Scanner"]
