"""What stands before a number: sign, currency, "about", "at least", or words that make it a name, not an amount."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

from .fact import Bound
from .units import tables
from .word_lists import words

_SIGNS = "$€£¥₹₽₺₴₩₦₱₫฿₪₡₲₵₸₼₾₮₭៛৳₿Ƀ₤֏"
_CURRENCY = re.compile(
    rf"((?:[A-Za-z]{{1,4}}\.?\s?)?[{_SIGNS}]|(?<![A-Za-z])[A-Za-z]{{2,4}}\$?|(?<!\w)[^\W\d_\u2e80-\uffef]{{1,5}}\.?"
    rf"|[^\x00-\x7f\s\u2e80-\uffef]{{1,8}}):?\s{{0,2}}$"
)
_WORD = re.compile(r"(\S+)\s{1,3}$")
_APPROX = words("approx")
_BOUNDS: dict[str, Bound] = {
    "over": ">", "above": ">", "exceeds": ">", "exceed": ">", "exceeding": ">", "exceeded": ">", "surpass": ">",
    "surpassed": ">", "under": "<", "below": "<", "minimum": ">=", "maximum": "<=", "upto": "<=", "max": "<=",
    "min": ">=", ">": ">", "<": "<", ">=": ">=", "<=": "<=", "≥": ">=", "≤": "<=", "equals": "=", "beyond": ">",
}  # fmt: skip
_TWO_WORD_BOUNDS: dict[tuple[str, str], Bound] = {
    ("at", "least"): ">=", ("at", "most"): "<=", ("up", "to"): "<=", ("no", "more"): "<=", ("equal", "to"): "=",
}  # fmt: skip
_MORE = frozenset(["more", "greater", "larger", "higher", "bigger", "longer", "older", "later"])
_LESS = frozenset(["less", "fewer", "smaller", "lower", "shorter", "younger", "earlier"])
_LOOK_FURTHER = frozenset(
    {"than", "to", "least", "most", "equal", "equals", "is", "is:", "are", "was", "number", "number:", "of"}
)
_SAYS = re.compile(r"[A-Za-z]+:?|[=<>!+*|&~/%]+")
SHORT_WORD = 14
_OR_EQUAL: dict[Bound, Bound] = {">": ">=", "<": "<="}
_NOT: dict[Bound, Bound] = {">": "<=", "<": ">="}

NAMING = words("naming")
_TAG = re.compile(r"</?[A-Za-z][\w.:-]*(?:\s[^<>]*)?>$")
_LONGEST_TAG = 80  # characters
_NAMING_IS = re.compile(
    r"(?:account|card|phone|serial|order|id|ticket|invoice|room|flight|ssn|passport|zip|tracking|reference|编号|单号|账号|卡号|编码|序列号|编码是|传真是|号码是)"
    r"(?:\s?(?:number|no\.?|code|#))?\s?(?:is|:|=|#|是|为)?:?\s{0,2}#?$",
    re.IGNORECASE,
)
_ZH_APPROX = ("大约", "约", "近", "大概", "差不多", "将近", "接近", "上下", "~")
_ZH_BOUNDS: tuple[tuple[Bound, tuple[str, ...]], ...] = (
    ("<=", ("不超过", "不大于", "不多于", "小于等于", "至多", "最多", "最多为")),
    (">=", ("不少于", "不小于", "不低于", "大于等于", "至少", "最少", "至少有", "至少是")),
    (">", ("超过", "大于", "高于", "多于", "突破", "超", "过", "逾")),
    ("<", ("小于", "低于", "少于", "不到", "不足")),
    ("=", ("等于",)),
)


_PERCENT_OF = re.compile(r"per ?cents? of $|percentages? of $", re.IGNORECASE)


class Left(NamedTuple):
    """What was found before a number; `start` is where the reading begins once sign and currency are in it."""

    start: int
    negative: bool = False
    currency: str | None = None
    scale: int = 0
    approx: bool = False
    bound: Bound | None = None
    naming: bool = False
    accounting: bool = False
    dash: int = -1  # where "- 20 degrees" begins, in case the number is a temperature
    unit: str | None = None  # a unit that stands before the number: "percent of 10", 华氏温度100度


@cache
def _currency_symbols() -> dict[str, str]:
    known = tables()
    symbols = {code: code for code in known.codes} | known.currency_signs
    for code in known.codes:
        symbols.setdefault(code.lower(), code)
        symbols.setdefault(code + "$", code)
        symbols.setdefault(code.lower() + "$", code)
    return symbols


def _currency_before(text: str, pos: int, floor: int) -> tuple[int, str, int] | None:
    """(start, symbol, power of ten) of a currency sign or code directly before `pos`."""
    match = _CURRENCY.search(text, max(floor, pos - 12), pos)
    if match is None:
        return None
    sign = match[1]
    if match.start(1) > floor and text[match.start(1) - 1] == "/":
        return None  # "USD/EUR 1.08" is a rate
    if sign[:2] == "a ":
        return match.end(1) - 1, _currency_symbols().get(sign[-1], sign[-1]), 0
    symbols = _currency_symbols()
    compact = sign.replace(" ", "")
    for candidate in (sign, compact, compact.upper() if compact.endswith("$") else compact):
        if candidate in symbols:
            if candidate.isalpha() and candidate.islower() and len(candidate) < 4 and candidate.isascii():
                break
            return match.start(1), symbols[candidate], 0
    if len(sign) == 4 and sign[0] in "MKk" and sign[1:] in symbols and sign.isupper():
        return match.start(1), symbols[sign[1:]], 6 if sign[0] == "M" else 3
    if sign[-1] in _SIGNS:
        return match.end(1) - 1, symbols.get(sign[-1], sign[-1]), 0
    return None


def _word_before(text: str, pos: int, floor: int) -> tuple[str, int]:
    """The word before the space at `pos - 1`, in lower case, and where it begins."""
    stop = pos - 1
    while stop > floor and pos - stop < 4 and text[stop - 1] == " ":
        stop -= 1
    lowest = max(floor, stop - 24)
    start = max(text.rfind(" ", lowest, stop), text.rfind("\n", lowest, stop)) + 1
    if start == 0:
        start = max(floor, stop - 24)
    word = text[start:stop]
    return word.lower().lstrip("(\"'[|"), start


def _is_minus(text: str, pos: int, floor: int) -> bool:
    """Whether the dash at `pos` is a sign: nothing, a space or an opening mark stands before it."""
    if pos <= floor:
        return True
    before = text[pos - 1]
    return before in " \t\n(=[,:<>|\"'*/+≈~;{" + _SIGNS or before > "⺀"


def look_left(text: str, pos: int, floor: int = 0) -> Left:
    """Reads what stands before the number at `pos`, at most some 30 characters back and not past `floor`."""
    if pos - 1 > floor and text[pos - 1] == " ":
        lowest = max(floor, pos - SHORT_WORD)
        stop = pos - 1
        while stop > lowest and text[stop - 1] == " ":
            stop -= 1
        last = text[stop - 1] if stop > floor else " "
        if ("0" <= last <= "9") or (last == ":" and "0" <= text[stop - 2] <= "9"):
            return Left(pos)  # no word of the rules ends with a digit
        start = max(text.rfind(" ", lowest, stop), text.rfind("\n", lowest, stop)) + 1
        if start or (lowest == floor and not text[floor - 1 : floor].isalnum()):
            says = _says(text[start or floor : pos])
            if says is not None:
                return Left(pos, *says)
    return _look_left(text, pos, floor)


@lru_cache(maxsize=16384)
def _says(words: str) -> tuple[Any, ...] | None:
    """What a word with spaces behind it says of a number, whatever stands before it; None where that is not certain."""
    word = words.rstrip(" ")
    if not _SAYS.fullmatch(word) or word.lower() in _LOOK_FURTHER:
        return None
    pos = len(words) + 2
    left = _look_left(f". {words}", pos, 0)
    return left[1:] if left.start == pos else None


def _look_left(text: str, pos: int, floor: int) -> Left:
    start, negative, currency, scale, accounting = pos, False, None, 0, False
    before = text[pos - 1] if pos > floor else ""
    if before in ("\n", "\t", "", "=", "[", ",", "|", "{", '"') or (before == "/" and text[pos - 2].isdigit()):
        return Left(pos)
    if before == "-" and _is_minus(text, pos - 1, floor):
        start, negative = pos - 1, True
    elif before == "." and text[pos - 2 : pos - 1] in _SIGNS:
        start = pos - 1
    ahead = text[start - 1] if start > floor else ""
    if ahead and (not ahead.isascii() or ahead.isalpha() or ahead in "$ :.\"'"):
        found = _currency_before(text, start, floor)
        if found:
            start, currency, scale = found
            if start > floor and text[start - 1] in "-–" and _is_minus(text, start - 1, floor):
                start, negative = start - 1, True
            accounting = text[start - 1 : start] == "("
    ahead = text[start - 1] if start > floor else ""
    if not ahead or ahead in "\n\t=[,|{\"'":
        return Left(start, negative, currency, scale, accounting=accounting)
    if ahead > "⺀":
        return _chinese_left(text, start, floor, Left(start, negative, currency, scale))
    if ahead in "~≈><≥≤":
        return _symbol_left(text, start, floor, Left(start, negative, currency, scale))
    if ahead == " ":
        return _words_left(text, start, floor, Left(start, negative, currency, scale))
    naming = ahead in "#_/\\@&" and currency is None
    return Left(start, negative, currency, scale, naming=naming, accounting=accounting)


def _symbol_left(text: str, pos: int, floor: int, left: Left) -> Left:
    two = text[max(floor, pos - 2) : pos]
    if two[-1] in "~≈":
        return left._replace(approx=True)
    if two[-1] == ">" and _TAG.search(text, max(floor, pos - _LONGEST_TAG), pos):
        return left
    return left._replace(bound=_BOUNDS.get(two) or _BOUNDS.get(two[-1]))


def _chinese_left(text: str, pos: int, floor: int, left: Left) -> Left:
    words = text[max(floor, pos - 6) : pos]
    temperature = re.search("(华氏|摄氏)(?:温度)?$", words)
    if temperature:
        return left._replace(unit="°F" if temperature[1] == "华氏" else "°C")
    if words.endswith("第"):
        return left._replace(naming=True)
    if words.endswith("零下"):
        return left._replace(start=pos - 2, negative=True)
    if words.endswith("负"):
        return left._replace(start=pos - 1, negative=True)
    if words.endswith(_ZH_APPROX):
        return left._replace(approx=True)
    for bound, spellings in _ZH_BOUNDS:
        if words.endswith(spellings):
            return left._replace(bound=bound)
    if _NAMING_IS.search(text, max(floor, pos - 14), pos):
        return left._replace(naming=True)
    return left


def _words_left(text: str, pos: int, floor: int, left: Left) -> Left:
    word, start = _word_before(text, pos, floor)
    if not word:
        return left
    if word in _BOUNDS and word not in ("max", "min"):
        return _widen_bound(text, start, floor, left, _BOUNDS[word])
    if word in _APPROX:
        return left._replace(approx=True)
    if word in ("minus", "negative"):
        return left._replace(start=start, negative=True)
    if word in ("than", "to", "least", "most", "least,", "equal"):
        return _two_words(text, word, start, floor, left)
    if word in NAMING or word.rstrip(".:") in NAMING:
        return left._replace(naming=left.currency is None)
    if word in ("is", "#", "are", "was", "number", "number:", "is:", "no.:") and _NAMING_IS.search(
        text, max(floor, pos - 28), pos
    ):
        return left._replace(naming=left.currency is None)
    if word == "-" and text[max(floor, start - 2) : start].strip().isalpha():
        return left._replace(dash=start)
    if word == "of" and _PERCENT_OF.search(text, max(floor, pos - 14), pos):
        return left._replace(unit="%")
    if word[-1] > "⺀":
        return _chinese_left(text, start + len(word), floor, left)
    return left


def _two_words(text: str, word: str, start: int, floor: int, left: Left) -> Left:
    first, first_start = _word_before(text, start, floor)
    if word == "than":
        bound: Bound | None = ">" if first in _MORE else "<" if first in _LESS else None
        if bound is None:
            return left
        negated, _ = _word_before(text, first_start, floor)
        return left._replace(bound=_NOT[bound] if negated in ("no", "not") else bound)
    if word == "to" and first == "equal":
        return _widen_bound(text, first_start, floor, left, "=")
    bound = _TWO_WORD_BOUNDS.get((first, word))
    return left._replace(bound=bound) if bound else left


def _widen_bound(text: str, start: int, floor: int, left: Left, bound: Bound) -> Left:
    """ "less than or equal to", "equal to or less than": both words count."""
    words = text[max(floor, start - 26) : start].lower()
    if bound == "=" and words.rstrip().endswith("or"):
        if any(w in words for w in ("greater", "more", "larger", "higher")):
            return left._replace(bound=">=")
        if any(w in words for w in ("less", "smaller", "lower", "fewer")):
            return left._replace(bound="<=")
    return left._replace(bound=bound)
