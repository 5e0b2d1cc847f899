"""Dates and clock times, English, Chinese and ISO: kinds of their own, so that no rule takes them for amounts."""

from __future__ import annotations

import re

from .word_lists import words

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_WEEKDAY = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
    r"(?![a-z])\.?"
)
_DAY = r"(?:[012]?\d|3[01])(?:st|nd|rd|th)?(?![\d:])(?!\.\d)"
_YEAR = r"(?:1[0-9]|20|21)\d\d(?!\d)"
_LISTED = r"\s+\d{1,2}\s+(?:\d\d:|\d{4})"  # "1999 Mar  4 12:33" is a file's size and date
_FROM = r"\s?(?:-|–|~|to|through|and)\s?"

MONTH_FIRST = re.compile(
    rf"{_MONTH}(?:"
    rf"[\s/-]{{1,2}}(?:the\s)?{_DAY}(?:{_FROM}(?:{_MONTH}\s)?{_DAY})?(?:,?\s{{0,2}}(?:in\s)?{_YEAR})?(?:\s?,\s?{_YEAR})?"
    rf"|,?[\s/-]{{0,2}}{_YEAR}|,\s{_DAY})",
    re.IGNORECASE,
)
DAY_FIRST = re.compile(
    rf"{_DAY}\s?(?:{_FROM}{_DAY}\s)?(?:\s?of\s|[\s/-]|)\s?{_MONTH}(?:,?[\s/-]{{0,2}}(?:{_YEAR}|'\d\d))?"
    rf"|(?:19|20|21)\d\d[-/\s]{_MONTH}(?!{_LISTED})(?:[-/\s]\d{{1,2}}(?!\d))?",
    re.IGNORECASE,
)
WEEKDAY_FIRST = re.compile(
    rf"{_WEEKDAY},?[\s-](?:the\s)?(?:\d{{4}}[-/]\d\d?[-/]\d\d?|\d{{1,2}}[-/]\d{{1,2}}(?![\d/-])"
    rf"|{_MONTH}[\s-]{_DAY}(?:,?\s{_YEAR})?|{_DAY}(?:\s(?:of\s)?{_MONTH}(?:,?\s{_YEAR})?)?(?!\s?[ap]\.?m))",
    re.IGNORECASE,
)
NUMERIC_DATE = re.compile(
    r"(?:\d{4}([-/.])(?:0?\d|1[0-2])\1(?:0?\d|[12]\d|3[01])|(?:0?\d|[12]\d|3[01])([-/.])(?:0?\d|[12]\d|3[01])\2(?:\d{4}|\d\d))"
    r"(?![\d/])(?:[T_ ]\d\d:?\d\d(?::?\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"
)
MONTH_NUMBER = re.compile(r"(?:(?:19|20)\d\d[-/](?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])[-/](?:19|20)\d\d)(?![\d/-])")
YEARS = re.compile(
    r"(?:1[5-9]|20)\d\d(?:\s?(?:[-–~/]|to|until|till|through|and)\s?(?:(?:1[5-9]|20)\d\d|(?<=[-–/])\d\d))?(?![\d%])(?!\.\d|,\d{3})"
    r"(?:\s?(?:q[1-4]|h[12]|BC|AD|BCE|CE)\b|s\b|\s?年)?",
    re.IGNORECASE,
)
DAY_OF_MONTH = re.compile(r"(?:0?[1-9]|[12]\d|3[01])/(?:0?[1-9]|[12]\d|3[01])(?![\d/])")
YEAR_IN_WORDS = re.compile(
    r"(?:(?:six|seven|eigh|nine)teen|twenty)[ -](?:hundred(?: and)?[ -])?"
    r"(?:(?:ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
    r"(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)\b(?![ -](?:thousand|million|fifth|first|th))",
    re.IGNORECASE,
)
MOMENT_WORD = re.compile(
    rf"{_MONTH}|(?:[apo]|[ap]m|noon|hrs|of|to|through|and|until|till)(?![a-z])|oclock", re.IGNORECASE
)  # the words that make the digits before them a date or a clock time, as the patterns here know them
WORD_CLOCK = re.compile(r"\s(?:[ap]\.?m\b|o'?\s?clock)", re.IGNORECASE)
CLOCK = re.compile(
    r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?:[.,]\d+)?(?!\d)(?:\s?[ap](?:\.?\s?m)?\b\.?)?"
    r"|(?:0?\d|1[0-2])(?:\.[0-5]\d)?\s?(?:[ap]\.?\s?m\b\.?|o'?\s?clock|noon\b)"
    r"|(?:[01]?\d|2[0-4])[0-5]\d\s?[ap]\.?m\b\.?|(?:0?\d|1[0-2])\s[ap]\s?\.\s?m\b"
    r"|(?:0?\d|1[0-2])[ap]\b|\d{1,2}(?:ish)\b"
    r"|(?:[01]\d|2[0-4])[0-5]\d\s?(?:hrs\b|-\s?(?:[01]\d|2[0-4])[0-5]\d\b)",
    re.IGNORECASE,
)
CLOCK_RANGE = re.compile(
    r"\d{1,2}(?:[:.]\d\d)?\s?(?:-|–|~|to|and|until|till)\s?(?=\d{1,2}(?:[:.]\d\d)?\s?[ap]\.?m\b|\d{1,2}:\d\d)",
    re.IGNORECASE,
)
_ZH_NUMBER = r"[\d零一二三四五六七八九十]"
_ERAS = "民国|康熙|雍正|乾隆|光绪|贞观|开元|昭和|平成|令和"
CHINESE_DATE = re.compile(
    rf"(?:(?:[12]\d{{3}}|[一二零]{_ZH_NUMBER}{{3}}|零[一二三四五六七八九]|0\d|\d\d(?=\s?年\s?\d)"
    rf"|(?:{_ZH_NUMBER}{{1,3}}(?=年\s?(?:正|{_ZH_NUMBER}{{1,2}})月)|(?<={_ERAS}){_ZH_NUMBER}{{1,3}}))\s?年(?:代|初|底|末|度)?\s?)?"
    rf"(?:(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九正])\s?月(?![球饼饿])份?(?:初|底|末|中旬|上旬|下旬)?\s?"
    rf"(?:[二三]?十[一二三四五六七八九]?(?![日号个\d])|初[一二三四五六七八九十])?)?"
    rf"(?:(?:[12]\d|3[01]|0?[1-9]|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九]|廿[一二三四五六七八九])\s?[日号](?!元|线|楼|店|码))?"
)
_ZH_HOUR = r"(?:[01]?\d|2[0-4]|二?十[一二三四五六七八九]?|[零一二三四五六七八九两])\s?"
CHINESE_CLOCK = re.compile(
    rf"{_ZH_HOUR}(?:点(?:钟|整|半|[一三]刻|\s?{_ZH_NUMBER}{{1,3}}\s?分(?:{_ZH_NUMBER}{{1,3}}\s?秒)?|(?!\s?{_ZH_NUMBER}))"
    rf"|时(?!间)(?:{_ZH_NUMBER}{{1,3}}\s?分(?:{_ZH_NUMBER}{{1,3}}\s?秒)?|整|半)?)"
)
SPOKEN_CHINESE_CLOCK = re.compile(rf"{_ZH_HOUR}点\s?{_ZH_NUMBER}{{1,3}}分?")
DAY_PARTS = ("上午", "下午", "晚上", "早上", "凌晨", "中午", "傍晚", "早晨", "夜里")

MONTHS = words("months")
WEEKDAYS = words("weekdays")
DAY_WORDS = WEEKDAYS | (MONTHS - {"may", "march", "mar"}) | words("day")


def chinese_date(text: str, pos: int) -> int:
    """Where a Chinese date that begins at `pos` ends; `pos` itself when none does.

    "2015年3月" and "十月八日" are dates, "150年" and "三年前" lengths of time.
    """
    match = CHINESE_DATE.match(text, pos)
    return match.end() if match else pos
