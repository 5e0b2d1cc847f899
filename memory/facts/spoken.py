"""When words that can be numerals are numbers, and when they belong to a word or idiom: "that one", 统一, 十分."""

from __future__ import annotations

import re

from .amounts import Amount, finish_amount
from .context import Left
from .notation import Number
from .numerals_zh import DIGITS, MAX_CHARS, read_numeral
from .unit_reader import read_unit
from .units import tables
from .word_lists import words

_IDIOMS = words("chinese_idioms")
_IDIOM = re.compile("|".join(sorted(map(re.escape, _IDIOMS), key=len, reverse=True)))
_PART_OF_WORD_BEFORE = frozenset("统专唯同划归万逐初周期第合单惟每那这某另之其哪任不")
_NUMERAL_RUN = re.compile("(?:[零一二三四五六七八九十百千万亿兆两]+ {0,3})+")
_FORMAL_WORDS = re.compile(
    "收拾|拾[起取到荒金]|队伍|入伍|伍仁|陆[地续军路运]|大陆|登陆|着陆|放肆|肆[意无虐]|朝花夕拾|退伍|隊伍|陸"
)
_STANDS_ALONE = frozenset("是和与或为到、，。：:；“”\"' \t\n（）()？！,.?!=>+-/")
_AFTER_ALONE = frozenset("和与或那、，。：；“”\"' \t\n（）()？！,.?!而")
_CLEAR_WORDS = frozenset(("words",))
_NOT_COUNTS = words("not_before_half")


def allowed_word(text: str, start: int, amount: Amount, left: Left, floor: int) -> bool:
    """Whether English number words are a number here; "one" and "half" mostly are not."""
    word = text[start : amount.end].lower()
    if left.negative or left.currency or left.bound:
        return True
    if word.split(" ")[0].split("-")[0] not in ("one", "half", "quarter", "a", "an"):
        return True
    if amount.unit is not None or amount.scaled:
        return word.split()[0] != "half" or True
    before = text[max(floor, start - 12) : start].lower().split()
    previous = before[-1] if before else ""
    if word == "one":
        return False
    if word in ("half", "a half", "a quarter"):
        return previous not in _NOT_COUNTS and previous not in ("second", "other", "better")
    return True


def allowed_zh(text: str, plain: str, at: int, floor: int, end: int) -> tuple[int, Amount | None] | None:
    """(end of the numeral, its amount or None where it is part of a word); None where no numeral begins."""
    if plain[at] in "几":
        return None
    if plain[at] == "半":
        return _half(plain, at, floor)
    if text[at] in "拾伍陆陸肆" and _FORMAL_WORDS.search(text, max(floor, at - 3), min(end, at + 2)):
        return at + 1, None
    if plain[at] == "一" and at > floor and plain[at - 1] in "统专唯同划归单":
        return at + 1, None
    idiom = _IDIOM.match(plain, at)
    numeral = read_numeral(plain, at)
    if numeral is None or numeral.end > end:
        run = _NUMERAL_RUN.match(plain, at, end)
        return (run.end(), None) if run and run.end() - at > MAX_CHARS else None
    if idiom and not (idiom.end() <= numeral.end and numeral.end - at > 2):
        return idiom.end(), None
    if (at > floor and plain[at - 1] in "周期" and plain[max(floor, at - 2) : at] in ("星期",)) or plain[
        at - 1 : at
    ] == "周":
        return numeral.end, None
    amount = finish_amount(
        plain, Number(numeral.value, numeral.end, "numeral"), Left(at), vague=numeral.vague, unit=numeral.unit
    )
    if at > floor and plain[at - 1] == "数" and plain[at] in "十百千万":
        return numeral.end, None  # 数百人: no number is given
    if amount.unit is not None and not _either_or(plain, at, numeral.end):
        return numeral.end, amount
    if _either_or(plain, at, numeral.end):
        return numeral.end, None
    if numeral.end - at == 1 and not _lone_numeral(plain, at, numeral.end, floor, end):
        return numeral.end, None
    return numeral.end, amount._replace(scaled=False)


def _either_or(plain: str, at: int, stop: int) -> bool:
    """两三个, 七八台: two digits in a row before a measure word mean "two or three"."""
    if stop - at != 2 or plain[stop : stop + 1] not in tables().counters:
        return False
    return DIGITS.get(plain[at + 1], 0) == DIGITS.get(plain[at], 9) + 1


def _lone_numeral(plain: str, at: int, stop: int, floor: int, end: int) -> bool:
    """Whether a single numeral is a number: a measure word follows, or it stands for itself."""
    before = plain[at - 1] if at > floor else " "
    after = plain[stop] if stop < end else " "
    if after in tables().counters and before not in _PART_OF_WORD_BEFORE:
        return plain[at] != "一" or after not in "个位件种项层点场片段只" or True
    alone = before in _STANDS_ALONE or not before > "⺀"
    if alone and (after in _AFTER_ALONE or not after > "⺀"):
        return True
    if plain[at] == "十" and before not in _PART_OF_WORD_BEFORE and after not in "分足字":
        return True
    return after in "以" and plain[stop : stop + 2] in ("以上", "以下")


def _half(plain: str, at: int, floor: int) -> tuple[int, Amount | None]:
    """半小时, 半个月, 半折."""
    from decimal import Decimal

    stop = at + 1
    before = plain[at - 1] if at > floor else " "
    unit = read_unit(plain, stop)
    if unit and unit.kind == "duration" and before not in "上下前后多大夜" and plain[stop] not in "天年夜":
        return unit.end, Amount(Decimal("0.5"), unit.end, unit.symbol, unit.kind, "numeral", True)
    if plain[stop : stop + 1] == "折":
        return stop + 1, Amount(Decimal(50), stop + 1, "%", "percent", "numeral", True)
    if unit and unit.kind != "money" and before not in "一大多上下" and plain[stop] not in "天年夜里圈位节人":
        return unit.end, Amount(Decimal("0.5"), unit.end, unit.symbol, unit.kind, "numeral", True)
    return stop, None
