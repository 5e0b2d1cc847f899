"""One amount: a number with its scale and unit, and ranges of two amounts that share them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from .context import Left
from .fact import Kind
from .notation import VULGAR, Number, read_number
from .numerals_en import DOZENS, SCALES, read_words
from .numerals_zh import DIGITS, NUMERALS, read_numeral
from .unit_reader import read_unit
from .units import Unit, tables
from .word_lists import words

_SCALE_LETTERS = {"k": 3, "K": 3, "M": 6, "m": 6, "G": 9, "B": 9, "b": 9, "T": 12, "t": 12}
_SCALE_WORD = re.compile(r"[ -]?([A-Za-z]+)")
_SCALE_TAIL = re.compile(r"[A-Za-z0-9_]")
_ZH_SCALE = re.compile(
    r"\s{0,2}[万亿千百十兆](?!克|米|卡|瓦|字|赫|伏|帕|焦|比|牛|升|斤|兆|分)|\s?分\s?之|\s?多\s?[万亿]|\s?余\s?[万亿]|\s{0,3}又\s{0,3}[\d一二三四五六七八九十]"
)
_PLUS_MINUS = re.compile(r"\s?(?:±|\+/-|\+-)\s?(?=[\d.])")
_TO = re.compile(
    r" ?(?:-|–|~) ?(?=[-+$€£¥.]? ?[\d.])| ?(?:to|through|and|till|until) (?=[-$€£¥]? ?[\w.])"
    r"| ?(?:至|到) ?(?=[-\d零一二三四五六七八九十百千两])|- (?:to|and|or) (?=\d)| ?和(?=[\d一二三四五六七八九十])",
    re.IGNORECASE,
)
_ENGLISH_UNITS = words("also_words")
_AFTER_INCH = re.compile(r"\s?(?:$|[.,;:)\]x×/\n]|thick|wide|long|tall|high|deep|in diameter|by\b|-)")
_OLD = re.compile(r"[ -](?:old|of age)\b|大(?=[的了小，。,. ]|$)")
_ZH_HALF = re.compile(r"半(?![年月天日小夜个径圆导])")
_ZH_TENTHS = re.compile(r"\s{0,3}(成|折)(?!为|立|本|就|果|功|绩|员|长|分|叠|扣|腾|磨)")
_RATE_UNIT = re.compile(r"\s{0,3}个?\s{0,3}百\s{0,3}分\s{0,3}点")
_COUNTER_SKIP = re.compile(r"[个枚](?=[一-鿿])")
DOT_CURRENCIES = words("dot_currencies")


_NOTHING_MORE = frozenset("\n\r\t);:}]>|!?")
_NOTHING_AFTER = frozenset({". ", ".\n", ", ", ",\n", ".", ",", ""})
_PER_WORD = re.compile(r" (?:per|an?|each) (?=[A-Za-z])")
_LAST_DIGITS = re.compile(r"\((\d{1,2})\)(?=\s|$|[.,;)])")  # 4.1816(4): the uncertainty of the last digits
_CHINESE_METRES = re.compile(r"(?<=米)[一二三四五六七八九]{1,2}(?![一-鿿]*[米个万千百十])")
_CLOCK_SECONDS = re.compile(r" ?\d{1,2}s\b")
_OVER_WORDS = re.compile(r" over (?=[a-z])")
_THREE_DECIMALS = re.compile(r"\.\d{3}")
_CENTS = re.compile(r"(?: and)? (\d\d)(?=\.?\s*$|[.;,] (?!\d)| more\b)")
_CENTS_WORDS = re.compile(r"(?: and)? (?=[a-z]+(?:[ -][a-z]+)?\.?$)")


class Amount(NamedTuple):
    """A number with what belongs to it. `bare` says that neither scale, unit nor sign came with it."""

    value: Decimal
    end: int
    unit: str | None
    kind: Kind
    form: str
    scaled: bool = False
    vague: bool = False
    low: Decimal | None = None
    high: Decimal | None = None
    uncertainty: Decimal | None = None


def _scale(text: str, number: Decimal, end: int, money: bool) -> tuple[Decimal, int, bool]:
    """Scale letters and words after a number: 10k, $5m, 3.4M, 2 million, 13 lakh."""
    char = text[end : end + 1]
    if char in _SCALE_LETTERS and not _SCALE_TAIL.match(text, end + 1):
        following = text[end + 1 : end + 2]
        kelvin = char == "K" and number >= 100 and "." in text[max(0, end - 4) : end]
        plain_letter = char in ("k", "K", "M", "G") and not kelvin and following not in ("/", "$", "€", "£")
        if plain_letter or (money and char in ("B", "T", "m", "b")):
            return number * 10 ** _SCALE_LETTERS[char], end + 1, True
    match = _SCALE_WORD.match(text, end)
    if match is None:
        return number, end, False
    word = match[1].lower()
    if word in SCALES:
        if word == "mil" and text[match.end() : match.end() + 1] not in " ":
            return number, end, False
        words = read_words(text, match.start(1), number)
        if words:
            return words.value, words.end, True
    if word in DOZENS:
        return number * 12, match.end(), True
    spaced = char == " " and match[1] in ("k", "G", "M", "B") and not _SCALE_TAIL.match(text, match.end())
    certain = (
        money or (match[1] == "M" and number > 20) or (match[1] in "kG" and text[match.end() : match.end() + 1] != "$")
    )
    if spaced and certain:
        return number * 10 ** _SCALE_LETTERS[match[1]], match.end(), True
    return number, end, False


def unit_after(text: str, end: int, *, decimal: bool, money: bool) -> Unit | None:
    """The unit that follows a number directly, after one space, a hyphen, or in brackets."""
    char = text[end : end + 1]
    if not char:
        return None
    glued = True
    pos = end
    if text[end : end + 2] in (",-", ".-", ".–") and money_mark(text, end + 2):
        pos = end + 2 + (text[end + 2 : end + 3] == " ")
        return read_unit(text, pos)
    if char == " ":
        pos, glued = end + (2 if text[end + 1 : end + 2] == " " and text[end + 2 : end + 3] > "⺀" else 1), False
    elif char == "-" and text[end + 1 : end + 2].isalpha():
        pos = end + 1
    head = text[pos : pos + 1]
    if not head or head in "0123456789,.;:)]}>|\n\t=+*\"'`{<&!?#@_\\":
        if head == "'" or head == '"':
            return _quote_unit(text, pos, glued)
        return None
    if head in "([" and (glued or text[pos + 1 : pos + 2].isdigit()):
        return None
    if head == "/" and not glued and text[pos + 1 : pos + 2] == " ":
        return None
    if head in "个枚":
        skipped = _COUNTER_SKIP.match(text, pos)
        return read_unit(text, pos) or (read_unit(text, skipped.end()) if skipped else None)
    unit = read_unit(text, pos)
    if unit is None:
        if head in tables().counters:
            return Unit(head, "quantity", pos + 1)
        return None
    if unit.symbol == "week" and text[unit.end : unit.end + 1] in tuple("一二三四五六日天"):
        return None  # 一个星期一: "one Monday"
    if unit.symbol == "m" and glued and _CLOCK_SECONDS.match(text, unit.end):
        return Unit("min", "duration", unit.end)  # 12m 34s
    word = text[pos : unit.end]
    after = text[unit.end : unit.end + 1]
    if word[-1].isascii() and word[-1].isalnum():
        if after.isdigit() or (glued and after.isascii() and after.isalpha()) or (after == "=" and not glued):
            return None  # "ttl=56 time=11": a key, no unit
        if after == "-" and text[unit.end + 1 : unit.end + 2].isdigit() and len(word) == 1 and not glued:
            return None
    if not glued and word[-1] in "$€£¥×" and (after.isdigit() or word == "×"):
        return None
    if not glued and word.lower() in _ENGLISH_UNITS and not _unit_not_word(text, word, unit.end, decimal):
        return None
    return unit


def money_mark(text: str, pos: int) -> bool:
    """Whether a currency follows at `pos`, after a space at most ("50,- Kč")."""
    unit = read_unit(text, pos + (text[pos : pos + 1] == " "))
    return unit is not None and unit.kind == "money"


def _quote_unit(text: str, pos: int, glued: bool) -> Unit | None:
    """8" and 6' are inches and feet only where no quotation is closed by the mark."""
    if not glued or text[pos] == "'":
        return None
    before = text.rfind('"', max(0, pos - 80), pos)
    return (
        Unit("in", "quantity", pos + 1) if before < 0 and text[pos + 1 : pos + 2] in ("", " ", ",", ".", "\n") else None
    )


def _unit_not_word(text: str, word: str, end: int, decimal: bool) -> bool:
    """Whether a spelling that is also an English word is meant as a unit here."""
    lower = word.lower()
    if lower in ("am", "pm"):
        return decimal
    if lower == "in":
        return _AFTER_INCH.match(text, end) is not None
    if lower in ("as", "at", "a", "all", "try", "top", "even", "real", "sol", "sat", "php", "mad"):
        return word.isupper()
    return True


def read_amount(text: str, pos: int, left: Left, *, with_unit: bool = True) -> Amount | None:
    """The amount whose digits begin at `pos`; `left` tells the currency that stands before it."""
    currency = left.currency
    number = read_number(text, pos, dot_groups=currency in DOT_CURRENCIES)
    if number is None:
        return None
    value, end, form = number
    vague, chinese_unit = False, None
    over = _OVER_WORDS.match(text, end) if form == "integer" and text.startswith(" o", end) else None
    lower = read_words(text, over.end()) if over else None
    if lower and lower.value > value > 0:
        return finish_amount(text, Number(value / lower.value, lower.end, "fraction"), left)
    if form in ("integer", "decimal") and not text[end : end + 4].isascii() and _ZH_SCALE.match(text, end):
        numeral = read_numeral(text, pos)
        if numeral and numeral.end > end and text[pos].isdigit():
            value, end, vague, chinese_unit = numeral.value, numeral.end, numeral.vague, numeral.unit
            form = "numeral"
    return finish_amount(text, Number(value, end, form), left, vague=vague, unit=chinese_unit, with_unit=with_unit)


def finish_amount(
    text: str, number: Number, left: Left, *, vague: bool = False, unit: str | None = None, with_unit: bool = True
) -> Amount:
    """Adds scale, currency and unit to a number that was read from digits or words."""
    value, end, form = number
    currency, scaled = left.currency, form == "numeral"
    if left.scale:
        value, scaled = value * 10**left.scale, True
    if unit:
        return Amount(value, end, unit, "percent", form, True, vague)
    nearby = text[end : end + 2]
    if currency is None and left.unit is None and (nearby[:1] in _NOTHING_MORE or nearby in _NOTHING_AFTER):
        return Amount(value, end, None, "quantity", form, scaled, vague)
    if nearby[:1] in _SCALE_LETTERS or nearby[:1] in (" ", "-") or nearby[:1].isalpha():
        value, end, more = _scale(text, value, end, currency is not None)
        scaled = scaled or more
    uncertainty: Decimal | None = None
    last_digits = _LAST_DIGITS.match(text, end) if form == "decimal" and not scaled else None
    plus_minus = _PLUS_MINUS.match(text, end) if text[end : end + 2].strip()[:1] in ("±", "+") else None
    if last_digits:
        exponent = value.as_tuple().exponent
        uncertainty, end = Decimal(last_digits[1]).scaleb(int(exponent)), last_digits.end()
    elif plus_minus:
        second = read_number(text, plus_minus.end())
        if second:
            uncertainty, end = second.value, second.end
    if not with_unit:
        return Amount(
            value, end, currency, "money" if currency else "quantity", form, scaled, vague, None, None, uncertainty
        )
    kind: Kind = "money" if currency else "quantity"
    symbol = currency
    special = (
        _special_unit(text, value, end) if text[end : end + 1] > "⺀" or text[end : end + 4].strip() > "⺀" else None
    )
    if special:
        value, symbol, kind, end = special
    else:
        found = unit_after(text, end, decimal=form != "integer", money=currency is not None)
        if found is not None and currency is not None and found.symbol.startswith("/"):
            symbol, end = currency + found.symbol, found.end
        elif found is not None and (currency is None or found.kind == "money"):
            if currency is None or found.symbol not in ("$",):
                symbol, kind, end = _with_money(currency, found)
                value, end, symbol = _after_unit(text, value, end, symbol)
        elif found is None and currency is not None and text[end : end + 1] in "/ ":
            per = read_unit(text, end) if text[end : end + 1] == "/" else _per(text, end)
            if per is not None:
                symbol, end = f"{currency}{per.symbol}", per.end
        elif found is None and currency is None and text[end : end + 1] == "[" and text[end + 1 : end + 2].isalpha():
            found = read_unit(text, end)
    if left.unit and (symbol is None or symbol == "°"):
        symbol, kind = left.unit, "percent" if left.unit == "%" else "quantity"
    if symbol in DOT_CURRENCIES and form == "decimal" and _THREE_DECIMALS.fullmatch(text[number.end - 4 : number.end]):
        value = value * 1000
    if kind == "money" and form == "integer" and not scaled:
        value, end = _cents(text, value, end)
    if kind == "duration" or symbol in ("month", "year"):
        old = _OLD.match(text, end)
        end = old.end() if old else end
    return Amount(value, end, symbol, kind, form, scaled, vague, None, None, uncertainty)


def _cents(text: str, value: Decimal, end: int) -> tuple[Decimal, int]:
    """ "15 dollars 50", "15 dollars and 15", "35€ 99": two digits at the end of the phrase are hundredths."""
    match = _CENTS.match(text, end)
    if match:
        return value + Decimal(match[1]) / 100, match.end(1)
    match = _CENTS_WORDS.match(text, end)
    words = read_words(text, match.end()) if match else None
    if words and 0 < words.value < 100 and words.value % 1 == 0 and text[words.end : words.end + 2] in ("", ".", ". "):
        return value + words.value / 100, words.end
    return value, end


def _per(text: str, end: int) -> Unit | None:
    """ " per kg", " a week" after an amount of money."""
    match = _PER_WORD.match(text, end)
    unit = read_unit(text, match.end()) if match else None
    return Unit("/" + unit.symbol, "money", unit.end) if unit and unit.kind != "money" else None


def _with_money(currency: str | None, found: Unit) -> tuple[str, Kind, int]:
    """Sign and name together, "$5 USD" or "¥5元": the one that says more wins."""
    if currency is None or currency in ("$", "¥", "£", "kr"):
        return found.symbol, found.kind, found.end
    return currency, "money", found.end


def _after_unit(text: str, value: Decimal, end: int, symbol: str) -> tuple[Decimal, int, str]:
    """75 USD million, 30 MUSD, 三斤半, 8亿元人民币."""
    if len(symbol) == 4 and symbol[0] in "Mk" and symbol[1:] in tables().codes:
        value, symbol = value * (10**6 if symbol[0] == "M" else 1000), symbol[1:]
    metres = _CHINESE_METRES.match(text, end) if symbol == "m" else None
    if metres:
        digits = "".join(str(DIGITS[c]) for c in metres[0])
        return value + Decimal("0." + digits), metres.end(), symbol
    match = _SCALE_WORD.match(text, end)
    if match and SCALES.get(match[1].lower(), 0) >= 3 and symbol in tables().codes:
        value, end = value * 10 ** SCALES[match[1].lower()], match.end()
    half = _ZH_HALF.match(text, end)
    if half and end > 0 and text[end - 1] > "⺀" and symbol not in ("°",):
        value, end = value + Decimal("0.5"), half.end()
    return value, end, symbol


def _special_unit(text: str, value: Decimal, end: int) -> tuple[Decimal, str, Kind, int] | None:
    """成, 折 and 百分点: tenths, discounts and percentage points."""
    points = _RATE_UNIT.match(text, end)
    if points:
        return value, "pp", "percent", points.end()
    tenths = _ZH_TENTHS.match(text, end)
    if tenths:
        if tenths[1] == "折" and value >= 10:
            return value, "%", "percent", tenths.end()
        return value * 10, "%", "percent", tenths.end()
    if text[end : end + 2] == "个半":
        unit = read_unit(text, end + 2)
        if unit and unit.kind == "duration":
            return value + Decimal("0.5"), unit.symbol, "duration", unit.end
    if text[end : end + 1] == "打" and text[end + 1 : end + 2] not in tuple("电字的开破算"):
        return value * 12, "个", "quantity", end + 1
    return None


_CHANGE_REACH = 60  # characters before a number in which "rose from" is looked for
_CHANGED = re.compile(
    r"\b(?:rises?|rose|risen|rising|f[ae]lls?|fell|fallen|falling|gr[eo]ws?|grown|growing|increas(?:e[ds]?|ing)"
    r"|decreas(?:e[ds]?|ing)|declin(?:e[ds]?|ing)|drop(?:s|ped|ping)?|climb(?:s|ed|ing)?|jump(?:s|ed|ing)?|went"
    r"|goes|improv(?:e[ds]?|ing)|chang(?:e[ds]?|ing)|mov(?:e[ds]?|ing)|reduc(?:e[ds]?|ing)|rais(?:e[ds]?|ing)"
    r"|cut|s[hl]ipp?(?:s|ed)?|shr[aiu]nk|up|down)\b[^.;:\d\n]{0,30}\bfrom\s$",
    re.IGNORECASE,
)


def second_of_range(text: str, first: Amount, left: Left) -> tuple[Amount, bool] | None:
    """The other end of a range that begins with `first`: (amount, the two make one range).

    "3-4 litres", "44 mg to 50 mg", "$350 per kg to $680 per kg" are ranges; "45 and 50 mg" are two amounts
    that share a unit, unless "between" stands before them; so are those of "rose from 45 to 50 mg".
    """
    link = _TO.match(text, first.end)
    if link is None:
        return None
    word = link[0].strip().lower()
    pos = link.end()
    inner = Left(pos)
    while text[pos : pos + 1] in "$€£¥" and pos < len(text):
        inner = inner._replace(currency=text[pos])
        pos += 1
    if text[pos : pos + 1] == " ":
        pos += 1
    negative = text[pos : pos + 1] == "-"
    pos += negative
    second = _amount_any(text, pos, inner._replace(currency=inner.currency or left.currency))
    if second is None:
        return None
    if negative:
        second = second._replace(value=-second.value)
    return second, word not in ("and", "和", "- and", "- or") and not _CHANGED.search(
        text, max(0, left.start - _CHANGE_REACH), left.start
    )


def _amount_any(text: str, pos: int, left: Left) -> Amount | None:
    char = text[pos : pos + 1]
    if not char:
        return None
    if char.isdigit() or (char == "." and text[pos + 1 : pos + 2].isdigit()) or char in VULGAR:
        return read_amount(text, pos, left)
    if char in NUMERALS or char == "负":
        numeral = read_numeral(text, pos)
        return (
            finish_amount(
                text, Number(numeral.value, numeral.end, "numeral"), left, vague=numeral.vague, unit=numeral.unit
            )
            if numeral
            else None
        )
    words = read_words(text, pos)
    if words is None:
        return None
    return finish_amount(text, Number(words.value, words.end, "fraction" if words.fraction else "words"), left)
