"""Decides whether digits, or Chinese numerals, at a place are a date, a year or a clock time."""

from __future__ import annotations

import re

from . import dates
from .fact import Kind
from .numerals_en import Words, read_words
from .word_lists import words

_BEFORE_DAY = words("before_day")
_YEAR_WORDS = words("before_year")
_PART_OF_YEAR = re.compile(r"[qh]\d")
_AFTER_DAY = ("between", "before", "after", "at", "from")

_FOLLOWING = re.compile(r"\d{1,4}(?:\.\d\d)?\s{0,3}(?:[-–~:/]|\.\d{1,2}\.|([A-Za-z]{1,10}))")
# The first letters of what makes digits a clock time or a day: "pm", "noon", "th", "until", "May".
_MOMENT_STARTS = frozenset(
    ("a", "p", "o", "am", "pm", "oc", "no", "is", "hr", "st", "nd", "rd", "th", "of", "to", "an", "un", "ti",
     "ja", "fe", "ma", "ap", "ju", "au", "se", "de")
)  # fmt: skip

Moment = tuple[Kind, int]
CHINESE_REACH = 6
"""A Chinese date or clock time that begins with digits has 年, 月, 日 or 点 within so many characters."""


def moment_at(plain: str, at: int, end: int, floor: int) -> Moment | None:
    """("date" or "time", end) of what begins with digits at `at`; None when it is neither."""
    if not plain[at : at + CHINESE_REACH].isascii():
        moment = chinese_moment(plain, at, end, floor)
        if moment:
            return moment
    head = plain[at : at + 5]
    following = _FOLLOWING.match(plain, at, end)
    if following and (following[1] is None or _may_be_moment(plain, following[1], following.start(1))):
        match = dates.CLOCK.match(plain, at, end) or dates.CLOCK_RANGE.match(plain, at, end)
        if match and not _is_picometre(match[0]):
            return "time", match.end()
        match = dates.DAY_FIRST.match(plain, at, end) or dates.NUMERIC_DATE.match(plain, at, end)
        if match:
            return "date", match.end()
    year = year_at(plain, at, end, floor)
    if year:
        return "date", year
    if "/" in head:
        match = dates.DAY_OF_MONTH.match(plain, at, end)
        if match and _is_day(plain, at, match.end(), floor, end):
            return "date", match.end()
    return None


def year_at(plain: str, at: int, end: int, floor: int) -> int:
    """The end of the year, or of the range of years, that begins at `at`; 0 where none does."""
    if plain[at : at + 1] not in ("1", "2") or not plain[at : at + 4].isdigit():
        return 0
    match = dates.YEARS.match(plain, at, end)
    return match.end() if match and _is_year(plain, match[0], at, match.end(), floor, end) else 0


def _may_be_moment(plain: str, word: str, start: int) -> bool:
    """Whether letters glued to digits, or a word behind them, can make them a clock time or a day."""
    return word[:2].lower() in _MOMENT_STARTS and (not plain[start - 1].isspace() or begins_moment(word))


def begins_moment(word: str) -> bool:
    """Whether digits and, after a space, this word can be or begin a date or a clock time: "pm", "of", "May"."""
    return dates.MOMENT_WORD.match(word) is not None


def chinese_moment(plain: str, at: int, end: int, floor: int) -> Moment | None:
    """2015年3月, 十月八日; 九点半, 上午十点三十."""
    stop = dates.chinese_date(plain, at)
    if at < stop <= end:
        return "date", stop
    if plain[max(floor, at - 2) : at] in dates.DAY_PARTS:
        spoken = dates.SPOKEN_CHINESE_CLOCK.match(plain, at, end)
        if spoken:
            return "time", spoken.end()
    clock = dates.CHINESE_CLOCK.match(plain, at, end)
    return ("time", clock.end()) if clock else None


def year_in_words(plain: str, at: int, end: int, floor: int) -> int:
    """The end of "nineteen ninety six" behind a word such as "in"; 0 when there is no year."""
    year = dates.YEAR_IN_WORDS.match(plain, at, end)
    if year is None:
        return 0
    previous = plain[max(floor, at - 12) : at].lower().split()
    word = previous[-1] if previous and plain[at - 1 : at] == " " else ""
    is_month = word in dates.MONTHS
    return year.end() if is_month or (word in _YEAR_WORDS and "hundred" not in year[0].lower()) else 0


def clock_in_words(plain: str, hour: Words, end: int, *, near_day: bool) -> int:
    """The end of "six pm", "eight o'clock" or, beside a word of the day, "nine thirty"; 0 when it is no time."""
    if hour.value > 24 or hour.fraction:
        return 0
    mark = dates.WORD_CLOCK.match(plain, hour.end, end)
    if mark:
        return mark.end()
    minutes = read_words(plain, hour.end + 1) if near_day and plain[hour.end : hour.end + 1] == " " else None
    return minutes.end if minutes and 10 <= minutes.value < 60 and not minutes.fraction else 0


def _is_picometre(words: str) -> bool:
    """ "2.1 pm" is a length, "2.13 pm" and "2 pm" are times."""
    return words[-2:].lower() == "pm" and " " in words and re.fullmatch(r"\d+\.\d .*", words) is not None


def _is_year(plain: str, word: str, at: int, stop: int, floor: int, end: int) -> bool:
    """Whether four digits are a year: a word of time stands before them, and no unit behind."""
    behind = plain[stop : min(end, stop + 2)]
    joined = len(word) > 6 and word[4:].strip()[0] in "-–~/tTuU" and word[-4:].isdigit()
    if word[-1] in "s年" or joined:
        return not (behind[:1].isalpha() and word[-1].isdigit())
    mark = behind[:1]
    if mark and (mark.isalpha() or mark in "-_/%$€£¥°:" or (mark == "." and behind[1:].isdigit())):
        return False
    if at > floor and plain[at - 1] in "$€£¥=#_-+.":
        return False
    before = plain[max(floor, at - 16) : at].lower().rstrip(" (").split()
    previous = before[-1] if before else ""
    if previous.strip("(,\"'") in _YEAR_WORDS or _PART_OF_YEAR.fullmatch(previous):
        return True
    return len(word) > 4 and word[4:].strip()[:1].lower() in ("q", "h", "b", "a")


def _is_day(plain: str, at: int, stop: int, floor: int, end: int) -> bool:
    """Whether "11/20" is a day of a month: a word of time or another such day stands beside it."""
    before = plain[max(floor, at - 14) : at].lower().rstrip()
    previous = before.rsplit(None, 1)[-1] if before else ""
    if previous in _BEFORE_DAY or previous in dates.WEEKDAYS or (previous.endswith("?") and "date" in before):
        return True
    if re.search(r"\d/\d{1,2},$|\d/\d{1,2} (?:to|and|-)$", before):
        return True
    after = plain[stop : min(end, stop + 10)].lower().split()
    return bool(after) and (after[0] in _AFTER_DAY or "/" in plain[stop : stop + 8])
