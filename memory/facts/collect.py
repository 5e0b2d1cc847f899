"""Collects the facts of one text: amounts become facts, two amounts a range, bare numbers by a day word times."""

from __future__ import annotations

import re
from bisect import bisect_left

from .amounts import Amount, second_of_range
from .context import Left
from .fact import Bound, Fact, Kind
from .origin import Origin

_AFTER_BOUND = re.compile(
    r"\s?(以上|以下|以内|或者?以上|或更多|或者更多|[多余](?=[个名家人次元年天岁条件])"
    r"|or more|or less|or greater|or fewer|\+)"
)
_AFTER_BOUNDS: dict[str, Bound] = {
    "以上": ">=", "以下": "<=", "以内": "<=", "或以上": ">=", "或者以上": ">=", "或更多": ">=", "或者更多": ">=",
    "多": ">", "余": ">", "or more": ">=", "or less": "<=", "or greater": ">=", "or fewer": "<=", "+": ">=",
}  # fmt: skip
_HYPHEN_WORD = re.compile(r"-[a-z]{3,}(?![\w-])")
_COUNTED = re.compile(
    r" (?!(?:in|on|at|to|and|or|until|till|yesterday|today|tomorrow|tonight|this|next|last|pm|am|of|the|for|with"
    r"|past|from|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b)[a-z]{3,}"
)
_TIME_BEFORE = re.compile(
    r"(?:\b(?:at|by|until|till|from|to|or|and|before|after|since|around|about|between|past)\s|[-–~@(]\s?)$",
    re.IGNORECASE,
)
_DAY_BEFORE = re.compile(r"[^\W\d]+(?:-[^\W\d]+)?[\s-]{1,2}")  # the day word itself
_DAY_BEHIND = re.compile(r",?\s?(?:(?:in|on|of|from|this|next|last|the)\s){0,3}")
_SCALE_WORDS = (
    ("million", 10**6), ("billion", 10**9), ("thousand", 1000), ("trillion", 10**12), ("亿", 10**8), ("万", 10**4),
)  # fmt: skip


class Collector:
    """The facts of one text so far. `plain` is the normalised text of the same length as `text`."""

    def __init__(self, text: str, plain: str, source: str | None, origin: Origin) -> None:
        self.text = text
        self.plain = plain
        self.source = source
        self.origin = origin
        self.facts: list[Fact] = []
        self.seen: set[str] = set()
        self.day_words: list[int] = []
        self.loose: list[int] = []  # places in `facts` of small bare numbers, which may be clock times

    def emit(self, kind: Kind, start: int, end: int) -> int:
        """Adds a fact without a number and gives its end."""
        self.facts.append(
            Fact(kind, self.text[start:end], (start, end), None, None, None, None,
                 self.source, None, None, False, None, None, self.origin)
        )  # fmt: skip
        return end

    def figure(self, at: int, amount: Amount, left: Left, end: int) -> int:
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
        self.add(at, amount if value is amount.value else amount._replace(value=value), left, end)
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
        if not (same or shared or leading) or (first.form == "fraction" and other.form != "fraction"):
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
                    self.add(at, first._replace(unit=other.unit, kind=other.kind), left, other.end, stretch=False)
                    return self.facts[-1].span[1]
                return 0
        compact = gap[:1] in "-–"
        if compact and low > high and other.unit is None:
            return 0
        if (shared or same) and other.form != "words" and first.form == "integer" and other.scaled and not first.scaled:
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

    def add(self, at: int, amount: Amount, left: Left, end: int, *, stretch: bool = True) -> None:
        bound, stop = left.bound, amount.end
        approx = left.approx or amount.vague
        if stretch and stop < end:
            after = self.plain[stop]
            if after in " +以或多余":
                match = _AFTER_BOUND.match(self.plain, stop, end)
                if match:
                    bound = _AFTER_BOUNDS[match[1]]
        self.facts.append(
            Fact(amount.kind, self.text[left.start : stop], (left.start, stop), amount.value, None, None, amount.unit,
                 self.source, None, None, approx, bound, amount.uncertainty, self.origin)
        )  # fmt: skip
        if amount.unit is None and not amount.scaled and amount.form in ("integer", "words", "decimal", "numeral"):
            self.loose.append(len(self.facts) - 1)

    def settle(self, first: int) -> None:
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
            if _COUNTED.match(self.plain, fact.span[1]):
                continue
            start, stop = fact.span
            place = bisect_left(self.day_words, start)
            close = [w for w in self.day_words[max(0, place - 1) : place + 1] if stop - 34 <= w <= stop + 26]
            if not close or "\n" in self.plain[min(start, close[0]) : max(stop, close[-1])]:
                continue
            if _TIME_BEFORE.search(self.plain, max(0, start - 9), start) or any(
                _DAY_BEFORE.fullmatch(self.plain, w, start)
                or (limit == 31 and _DAY_BEHIND.fullmatch(self.plain, stop, w))
                for w in close
            ):
                self.facts[index] = Fact("time", fact.text, fact.span, source=self.source, origin=self.origin)
        self.loose.clear()


def _shared_scale(plain: str, other: Amount) -> int:
    """The scale word of "5-7 million", which counts for both ends."""
    tail = plain[max(0, other.end - 24) : other.end].lower()
    for word, factor in _SCALE_WORDS:
        if word in tail:
            return factor
    return 0
