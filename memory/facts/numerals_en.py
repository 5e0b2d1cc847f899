"""English number words: "twenty-one trillion and three hundred", "two and a half", "half a dozen"."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

UNITS = {
    w: i
    for i, w in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
} | {"nought": 0, "naught": 0}
TENS = {
    w: 10 * (i + 2)
    for i, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"])
}
SCALES = {
    "hundred": 2, "thousand": 3, "lakh": 5, "lakhs": 5, "lac": 5, "million": 6, "crore": 7, "crores": 7,
    "billion": 9, "trillion": 12, "quadrillion": 15, "mil": 6, "mln": 6, "mn": 6, "mio": 6, "millions": 6,
    "billions": 9, "bln": 9, "bn": 9, "tln": 12, "tn": 12, "trn": 12, "trillions": 12, "thousands": 3,
}  # fmt: skip
DOZENS = {"dozen": 12, "dozens": 12, "doz": 12, "dz": 12, "dzs": 12}
_ORDINAL_UNITS = {
    "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "first": 1,
}  # fmt: skip
_ORDINAL_TENS = {w[:-1] + "ieth": n for w, n in TENS.items()}
_ORDINAL_SCALES = {
    w + "th": n for w, n in SCALES.items() if w in ("hundred", "thousand", "million", "billion", "trillion")
}
_FRACTION_ONLY = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4}
_ARTICLES = ("a", "an")
_DIGITS = re.compile(r"\d{1,3}(?![\d,.]*\d|[\w/%])(?! (?:hundred|thousand|million|billion))")
_WORD = re.compile(r"[A-Za-z]+")
_GAP = re.compile(r"\s?&\s|\s{1,4}(?:-\s{1,2})?|-|,\s(?=[a-z])")

ORDINALS = frozenset(_ORDINAL_UNITS) | frozenset(_ORDINAL_TENS) | frozenset(_ORDINAL_SCALES) | {"second"}
STARTERS = (
    frozenset(UNITS)
    | frozenset(TENS)
    | (ORDINALS - {"first", "second"})
    | frozenset(word + "s" for word in _ORDINAL_SCALES)
    | {"half", "quarter", "dozen", "hundred", "thousand", "million", "billion", "trillion"}
)


class Words(NamedTuple):
    """A number in words: value, end, and whether it is a fraction such as "two thirds"."""

    value: Decimal
    end: int
    fraction: bool


class _Token(NamedTuple):
    word: str
    end: int


def _token(text: str, pos: int) -> _Token | None:
    match = _WORD.match(text, pos)
    return _Token(match[0].lower(), match.end()) if match else None


def _next(text: str, end: int) -> _Token | None:
    """The word after a gap (space, hyphen, comma, ampersand)."""
    gap = _GAP.match(text, end)
    return _token(text, gap.end()) if gap else None


def _denominator(text: str, pos: int) -> tuple[int, bool, int] | None:
    """A fraction's lower part at `pos`: (number, plural, end) for "thirds", "twenty-fifth", "trillionths"."""
    token = _token(text, pos)
    if token is None:
        return None
    word, end = token
    if word in _FRACTION_ONLY:
        return _FRACTION_ONLY[word], word in ("halves", "quarters"), end
    plural = word.endswith("s")
    stem = word[:-1] if plural else word
    if stem in _ORDINAL_UNITS and stem != "first":
        return _ORDINAL_UNITS[stem], plural, end
    if stem in _ORDINAL_TENS:
        return _ORDINAL_TENS[stem], plural, end
    if stem in _ORDINAL_SCALES:
        return 10 ** _ORDINAL_SCALES[stem], plural, end
    if word in TENS:
        following = _next(text, end)
        if following:
            plural = following.word.endswith("s")
            unit = _ORDINAL_UNITS.get(following.word.rstrip("s"))
            if unit and unit < 10:
                return TENS[word] + unit, plural, following.end
    if word in UNITS:
        return _hundred_and(text, UNITS[word], end)
    return None


def _hundred_and(text: str, count: int, end: int) -> tuple[int, bool, int] | None:
    """ "one hundred and fifth" as a lower part."""
    token = _next(text, end)
    if token is None or token.word != "hundred":
        return None
    token = _next(text, token.end)
    if token and token.word == "and":
        token = _next(text, token.end)
    unit = _ORDINAL_UNITS.get(token.word.rstrip("s")) if token else None
    if token is None or unit is None:
        return None
    return 100 * count + unit, token.word.endswith("s"), token.end


def _cardinal(text: str, pos: int, given: Decimal | None) -> tuple[Decimal, int, int, int] | None:
    """A whole number in words: (value, end, last scale's power of ten, start of the last word).

    `given` is a number in digits that already stands before `pos` ("4 thousand 3 hundred").
    """
    total, group, scale = Decimal(0), given if given is not None else Decimal(0), 0
    low = given is None  # whether a smaller number may still follow in this group
    seen, last_step, end, last_start = given is not None, 1000, pos, pos
    cursor = pos
    while True:
        token = _token(text, cursor)
        digits = _DIGITS.match(text, cursor) if token is None and seen and last_step >= 100 and scale else None
        word = token.word if token else ""
        if digits:
            group += Decimal(digits[0])
            last_step, end, last_start, scale = 1, digits.end(), cursor, 0
        elif word in UNITS and (last_step >= 100 or (last_step == 10 and 0 < UNITS[word] < 10)) and low:
            group += UNITS[word]
            seen, last_step, last_start, scale = True, 1, cursor, 0
        elif word in TENS and last_step >= 100 and low:
            group += TENS[word]
            seen, last_step, last_start, scale = True, 10, cursor, 0
        elif word in SCALES and (seen or word == "hundred"):
            power = SCALES[word]
            if power == 2:
                if group >= 100 or scale:
                    break
                group *= 100
                last_step = 100
            elif group == 0 and scale:
                total *= 10**power
                last_step = 1000
            else:
                total, group, last_step = total + group * 10**power, Decimal(0), 1000
            low, scale, last_start = True, power, cursor
        elif word == "and" and seen:
            gap = _GAP.match(text, token.end) if token else None
            if gap is None or _mixed_fraction(text, end) is not None:
                break
            if not _may_follow_and(text, gap.end(), last_step, scale):
                break
            cursor = gap.end()
            continue
        else:
            break
        end = digits.end() if digits else (token.end if token else end)
        gap = _GAP.match(text, end)
        if gap is None:
            break
        cursor = gap.end()
    return (total + group, end, scale, last_start) if seen and end > pos else None


def _may_follow_and(text: str, pos: int, last_step: int, scale: int) -> bool:
    """Whether the number at `pos` continues the one before "and": "hundred and two", not "five and six"."""
    ahead = _token(text, pos)
    if ahead is None:
        return scale > 0 and _DIGITS.match(text, pos) is not None
    if last_step >= 100:
        return ahead.word in UNITS or ahead.word in TENS
    return last_step == 10 and 0 < UNITS.get(ahead.word, 0) < 10


def _mixed_fraction(text: str, end: int) -> tuple[Decimal, int] | None:
    """ "and a half", "and two thirds", "and three fifths" after a whole number."""
    token = _next(text, end)
    if token is None or token.word != "and":
        return None
    token = _next(text, token.end)
    if token is None:
        return None
    if token.word == "half":
        return Decimal("0.5"), token.end
    top = 1 if token.word in _ARTICLES else UNITS.get(token.word)
    gap = _GAP.match(text, token.end)
    if not top or gap is None:
        return None
    lower = _denominator(text, gap.end())
    if lower is None or (lower[1] is False and top != 1):
        return None
    return Decimal(top) / lower[0], lower[2]


def read_words(text: str, pos: int, given: Decimal | None = None) -> Words | None:
    """The number in words that begins at `pos`; with `given`, the words that go on a number in digits.

    Ordinals ("twenty-fifth") are no numbers; a lone "one", "half" or "a" is left to the caller.
    """
    first = _token(text, pos)
    if first is None:
        return None
    if given is None:
        if first.word in _ARTICLES:
            return _after_article(text, first.end)
        if first.word in ("half", "quarter"):
            return _half(text, pos, Decimal("0.5") if first.word == "half" else Decimal("0.25"), first.end)
        if first.word in DOZENS:
            return None
    whole = _cardinal(text, pos, given)
    if whole is None:
        return None
    value, end, scale, last_start = whole
    fraction = _as_numerator(text, pos, value, end, last_start) if given is None else None
    if fraction is not None:
        return fraction if fraction.value >= 0 else None
    return _finish(text, value, end, scale)


def _finish(text: str, value: Decimal, end: int, scale: int) -> Words:
    """What may follow a whole number: "point five", "and a half", "dozen", "over three", "out of ten"."""
    token = _next(text, end)
    if token is None:
        return Words(value, end, False)
    if token.word == "point":
        decimals = _decimals(text, token.end)
        if decimals:
            return Words(value + decimals[0], decimals[1], False)
    mixed = _mixed_fraction(text, end)
    if mixed:
        part, end = mixed
        value += part * 10**scale if scale >= 6 else part
        after = _next(text, end)
        if after and after.word in SCALES:
            return Words(value * 10 ** SCALES[after.word], after.end, False)
        if after and after.word in DOZENS:
            return Words(value * 12, after.end, False)
        return Words(value, end, True)
    if token.word in DOZENS:
        return Words(value * DOZENS[token.word], token.end, False)
    if token.word in ("half", "halves") and value > 0 and scale == 0 and token.word == "halves":
        return Words(value / 2, token.end, True)
    if token.word in ("over", "out"):
        return _quotient(text, value, end, token) or Words(value, end, False)
    return Words(value, end, False)


def _quotient(text: str, top: Decimal, end: int, token: _Token) -> Words | None:
    """ "one over twenty", "two out of five hundred"."""
    if token.word == "out":
        of = _next(text, token.end)
        if of is None or of.word != "of":
            return None
        token = of
    gap = _GAP.match(text, token.end)
    if gap is None:
        return None
    digits = _DIGITS.match(text, gap.end())
    lower = None if digits else _cardinal(text, gap.end(), None)
    bottom, stop = (
        (Decimal(digits[0]), digits.end()) if digits else (lower[0], lower[1]) if lower else (Decimal(0), end)
    )
    return Words(top / bottom, stop, True) if bottom > top else None


def _decimals(text: str, end: int) -> tuple[Decimal, int] | None:
    """The words after "point": "zero three" is .03, "seventy-one" .71, "eleven" .11."""
    digits = ""
    while len(digits) < 20:
        token = _next(text, end)
        if token is None:
            break
        if token.word in TENS:
            tens, end = TENS[token.word], token.end
            unit = _next(text, end)
            if unit and 0 < UNITS.get(unit.word, 0) < 10:
                tens, end = tens + UNITS[unit.word], unit.end
            digits += str(tens)
        elif token.word in UNITS:
            digits, end = digits + str(UNITS[token.word]), token.end
        else:
            break
    return (Decimal("0." + digits), end) if digits else None


def _as_numerator(text: str, pos: int, value: Decimal, end: int, last_start: int) -> Words | None:
    """ "two thirds", "one hundred thirty fifths" (100/35), "ninety-five hundred fifths".

    A value below zero in the result says that the words are an ordinal ("one hundred twenty-fifth").
    """
    gap = _GAP.match(text, end)
    if gap is None:
        return None
    last = _token(text, last_start)
    if last and last.word in TENS and last_start > pos and " and " not in text[pos:last_start]:
        compound = _denominator(text, last_start)
        if compound and compound[0] % 10:
            upper = value - TENS[last.word]
            return Words(upper / compound[0] if compound[1] or upper == 1 else Decimal(-1), compound[2], True)
    lower = _denominator(text, gap.end())
    if lower is None:
        ordinal = _token(text, gap.end())
        if ordinal and ordinal.word == "first" and last and last.word in TENS:
            return Words(Decimal(-1), ordinal.end, True)
        return None
    number, plural, stop = lower
    word = text[gap.end() : stop].lower()
    if word in ("quarter", "half") and value != 1:
        after = _next(text, stop)
        if word == "quarter" or not after:
            return None
        return None
    if not plural and value != 1:
        return Words(Decimal(-1), stop, True)
    result = value / number
    after = _next(text, stop)
    if after and SCALES.get(after.word, 0) >= 3:
        return Words(result * 10 ** SCALES[after.word], after.end, False)
    return Words(result, stop, True)


def _half(text: str, pos: int, part: Decimal, end: int) -> Words | None:
    """ "half a dozen", "half million", "half an hour"; a lone "half" is 0.5, a lone "quarter" nothing."""
    token = _next(text, end)
    article = token is not None and token.word in _ARTICLES
    if token and article:
        ahead = _next(text, token.end)
        if ahead and ahead.word in SCALES:
            return Words(part * 10 ** SCALES[ahead.word], ahead.end, False)
        if ahead and ahead.word in DOZENS:
            return Words(part * 12, ahead.end, False)
        gap = _GAP.match(text, token.end)
        return Words(part, token.end if gap else end, True)
    if token and SCALES.get(token.word, 0) >= 3:
        return Words(part * 10 ** SCALES[token.word], token.end, False)
    return Words(part, end, True) if part == Decimal("0.5") else None


def _after_article(text: str, end: int) -> Words | None:
    """ "a hundred and two", "a dozen", "a fifth", "a hundred trillionths"."""
    token = _next(text, end)
    if token is None:
        return None
    gap = _GAP.match(text, end)
    start = gap.end() if gap else end
    if token.word in DOZENS:
        return Words(Decimal(12), token.end, False)
    if token.word == "half":
        return Words(Decimal("0.5"), token.end, True)
    if token.word in SCALES and not token.word.endswith("s"):
        more = _cardinal(text, start, Decimal(1))
        if more is None:
            return None
        value, stop, scale, last_start = more
        fraction = _as_numerator(text, start, value, stop, last_start)
        if fraction is not None:
            return fraction if fraction.value >= 0 else None
        return _finish(text, value, stop, scale)
    lower = _denominator(text, start)
    if lower and not lower[1] and lower[0] > 2:
        return Words(Decimal(1) / lower[0], lower[2], True)
    return None
