"""What a chunk of text without spaces is by its shape: identifier, path, address, date, number or a plain word.

An identifier is something a program would compare letter by letter: a code that mixes letters and digits,
a name built with underscores or dots, a path, an address, a hash. A chunk's shape is judged once and kept.
"""

from __future__ import annotations

import re
from string import ascii_letters
from typing import NamedTuple

from . import dates
from .notation import MOST_PARTS, VULGAR
from .numerals_en import STARTERS
from .unit_reader import read_unit
from .units import tables


class Piece(NamedTuple):
    """A part of a chunk: its role, and where it stands in the chunk."""

    role: str
    start: int
    end: int


Pieces = tuple[Piece, ...]

_LEADING = "\"'`*.,:;!?-+~^&\\$€£¥%…·•°"
_TRAILING = "\"'`*.,:;!?-&\\…·•~^+"
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)[^\s\"'<>]*|(?:mailto|urn|tel|file):\S+", re.IGNORECASE)
_HOST = re.compile(
    r"(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|cn|de|uk|fr|jp|info|dev|ai|am|fm|tv|co|us|eu|ru|app|pm)(?::\d+)?(?:/\S*)?",
    re.IGNORECASE,
)
_HEX = re.compile(
    r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}|(?=[A-F]*\d)(?=\d*[A-F])[0-9A-F]{8,64}|0x[0-9a-fA-F]+|\d{32}"
)
_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_IPV4 = re.compile(r"\d{1,4}(?:\.\d{1,4}){3}(?:[:/]\d{1,5})?")
_IPV6 = re.compile(r"(?=[0-9A-Fa-f:.]*::|(?:[0-9A-Fa-f]{1,4}:){3})[0-9A-Fa-f:]{3,}(?:\d+\.\d+\.\d+\.\d+)?(?:/\d+)?")
_VERSION = re.compile(
    r"[vV]\d+(?:\.\d+)*(?:[.-]?[a-z]+\d*)*|\d+(?:\.\d+){2,}(?:[.+-]?[A-Za-z][\w.+-]*)?|\d+\.\d+(?:\.\d+)*(?:a|b|rc|dev|post|alpha|beta)\.?\d+"
)
_DOT_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")
_PURE_NUMBER = re.compile(r"[-+]?(?:\d[\d.]*|\.\d+)(?:[eE][-+]?\d+|\^[-+]*\d+)?%?")
_LINE_REF = re.compile(r"(.*[A-Za-z].*?):(\d+(?::\d+)?(?:-\d+)?)")
_NUMBER_START = re.compile(r"[-+]?(?:\d[\d.]*\d|\d|\.\d+)")
_RANGE = re.compile(r"(?:\d+(?:\.\d+)?)\s?[-–~/x×]\s?[-+$€£]?\.?\d")
_HYPHEN_UNIT = re.compile(r"\d+(?:\.\d+)?-(?:[a-z]{2,}|[A-Z]{3})(?:-[a-z]+)*")
_HYPHEN_WORDS = re.compile(r"[^\W\d_][a-zß-ÿ]*-[^\W\d_][a-zß-ÿ]*")
_CODE_NAME = re.compile(r"[\w.$@#-]*_[\w.$@#-]*|[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)+|[A-Za-z_]\w*(?:::\w+)+")
_CAMEL = re.compile(r"[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]+[A-Z]\w*")
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:~|\.{1,2})?[\\/]?(?:[\w.@+%#~-]+[\\/])+[\w.@+%#~*-]*|[\\/][\w.@+%-]+[\\/]?")
_JOINED = re.compile(r"\d{1,9}(?:\.\d{1,9})?(?:([/×])\d{1,9}(?:\.\d{1,9})?)(?:\1\d{1,9}(?:\.\d{1,9})?)*[A-Za-z]{0,6}")
LONGEST_SCORE = 3  # digits
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|ST|ND|RD|TH)(?:-[a-z]+)?")
_DIGIT = re.compile(r"\d")
_CURRENCY_NUMBER = re.compile(r"[A-Za-z]{0,4}[^\w\s.,:;/\\#@%~_+-]{0,2}-?\.{0,2}\d")
_GLUED_LETTERS = frozenset("mglLshdDYyWVAKkMGTBxXKbtN%")
_ABBREVIATION = re.compile(r"(?:[A-Za-z]\.){2,}|[A-Z][a-z]+\.[A-Z][a-z]+|e\.g|i\.e", re.ASCII)

NONE: Pieces = ()
MAX_CHUNK = 400
GUID_DIGITS = 32
MAX_PLAIN = 16
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?%?")
MAX_GLUED = 4
LONG_NUMBER = 7  # so many digits with one letter behind them are a serial number


def classify(chunk: str) -> Pieces:
    """The pieces of a chunk that matter, in order; empty for a plain word.

    Roles beside the kinds of facts: "number" (a figure may begin here), "plain number" and "plain percent"
    (digits alone), "word" (a number word), "month", "weekday", "day" (a word about the day), "phone" (a telephone cue).
    """
    if len(chunk) > MAX_CHUNK:
        return _one("url", 0, len(chunk)) if _URL.match(chunk) else NONE
    body = chunk.lstrip(_LEADING)
    start = len(chunk) - len(body)
    body = body.rstrip(_TRAILING)
    if not body:
        return NONE
    end = start + len(body)
    if "::" in chunk and _IPV6.fullmatch(chunk.strip(".,;")):
        return _one("identifier", 0, len(chunk.rstrip(".,;")))
    if (
        not body.isalpha()
        and chunk[start - 1 : start] == "."
        and body[0].isdigit()
        and chunk[: start - 1].rstrip("-+$€£¥.") == ""
        and ".." not in chunk[:start].replace("$..", "")
    ):
        start, body = start - 1, "." + body
    if body[0] in VULGAR:
        return _one("number", start, end)
    has_digit = not body.isalpha() and _DIGIT.search(body) is not None
    if not has_digit:
        return _without_digits(chunk, body, start, end)
    return _with_digits(chunk, body, start, end)


def _one(role: str, start: int, end: int) -> Pieces:
    return (Piece(role, start, end),)


def _without_digits(chunk: str, body: str, start: int, end: int) -> Pieces:
    if body and chunk[start - 1 : start] == "@" and start == 1:
        return _one("identifier", 0, end)
    if body.isalpha():
        word = body.lower()
        if word in STARTERS:
            return _one("word", start, end)
        if word in dates.MONTHS:
            return _one("month", start, end)
        if word in dates.WEEKDAYS or word.removesuffix("s") in dates.WEEKDAYS:
            return _one("weekday", start, end)
        if word in dates.DAY_WORDS:
            return _one("day", start, end)
        if word in ("phone", "tel", "telephone", "call", "mobile", "fax", "cell"):
            return _one("phone", start, end)
        return _one("identifier", start, end) if _CAMEL.fullmatch(body) else NONE
    if "@" in body:
        return _one("email" if _EMAIL.fullmatch(body) else "identifier", start, end)
    if _URL.match(body):
        return _one("url", start, end)
    if "/" in body or "\\" in body:
        return _path(chunk, start, end)
    if "_" in body or "." in body or "::" in body:
        first = chunk[start - 1 : start]
        begin = start - 1 if first in (".", "_") and _CODE_NAME.fullmatch(chunk[start - 1 : end]) else start
        if (
            (_CODE_NAME.fullmatch(body) or ("_" in body and "%" in body))
            and not _ABBREVIATION.fullmatch(body)
            and len(body) > 3
        ):
            return _one("identifier", begin, end)
        if ":" in body:
            return _split(chunk, ":", start, end)
        return NONE
    if ":" in body:
        return _split(chunk, ":", start, end) or _one("name", start, end)
    if "-" in body:
        return _hyphenated(chunk, body, start, end)
    return NONE


def _hyphenated(chunk: str, body: str, start: int, end: int) -> Pieces:
    first = body.split("-", 1)[0].lower()
    if first in STARTERS or first in dates.WEEKDAYS or first in dates.MONTHS:
        return _one("word" if first in STARTERS else "weekday" if first in dates.WEEKDAYS else "month", start, end)
    if body.count("-") >= 2 or chunk.startswith("--") or not _HYPHEN_WORDS.fullmatch(body):
        begin = start - 2 if chunk.startswith("--", max(start - 2, 0)) else start
        return _one("identifier", begin, end) if body[0].isalnum() else NONE
    return _one("name", start, end)


def _path(chunk: str, start: int, end: int) -> Pieces:
    while start > 0 and chunk[start - 1] in "./~\\":
        start -= 1
    body = chunk[start:end]
    if body.startswith("//"):
        return NONE
    if _PATH.fullmatch(body) and (
        body[0] in "/~." or body.count("/") > 1 or "_" in body or "." in body or len(body) > 6 or "\\" in body
    ):
        return _one("path", start, end)
    if ":" in body:
        return _split(chunk, ":", start, end)
    return NONE


def _split(chunk: str, mark: str, start: int, end: int) -> Pieces:
    """The pieces of both sides of a mark: "timeout:30", "a.b:c_d"."""
    cut = chunk.find(mark, start, end)
    if cut < 0:
        return NONE
    left = classify(chunk[start:cut])
    right = classify(chunk[cut + 1 : end]) if cut + 1 < end and mark not in chunk[cut + 1 : end] else NONE
    moved_left = tuple(Piece(p.role, p.start + start, p.end + start) for p in left)
    return moved_left + tuple(Piece(p.role, p.start + cut + 1, p.end + cut + 1) for p in right)


def _with_digits(chunk: str, body: str, start: int, end: int) -> Pieces:
    if (
        _PURE_NUMBER.fullmatch(body)
        and len(body) != GUID_DIGITS
        and (body.count(".") < 2 or _DOT_GROUPS.fullmatch(body.rstrip("%")))
    ):
        if chunk[start - 1 : start] == "#" or chunk[:1] == "#":
            return _one("identifier", 0, end)
        if chunk[end:] in ("", ".") and len(body) < MAX_PLAIN and _PLAIN.fullmatch(body):
            return _one("plain percent" if body[-1] == "%" else "plain number", start, end)
        line = body.isdigit() and start == 0 and len(chunk) == end + 1 and chunk[-1] in ":-"
        return _one("line number" if line else "number", start, end)
    if start and chunk[start - 1] in "$€£¥" and body[0].isdigit():
        return _one("number", start, end)
    if _URL.match(body):
        return _one("url", start, end)
    if "@" in body:
        email = _EMAIL.search(body)
        if email:
            return _one("email", start + email.start(), start + email.end())
        return _one("identifier", start, end)
    if chunk[:1] == "#" or body[:1] == "#":
        return _one("identifier", 0, end)
    if body[0].isdigit() or body[0] == ".":
        return _digit_first(chunk, body, start, end)
    return _letter_first(chunk, body, start, end)


def _digit_first(chunk: str, body: str, start: int, end: int) -> Pieces:
    whole = dates.NUMERIC_DATE.match(body)
    if whole and (whole.end() == len(body) or body[whole.end()] in "-–~T:"):
        rest = _shift(classify(body[whole.end() + 1 :]), start + whole.end() + 1) if whole.end() < len(body) else NONE
        return (Piece("date", start, start + whole.end()), *rest)
    if _JOINED.fullmatch(body) and not _is_one_fraction(body):
        return tuple(Piece("number", start + m.start(), start + m.end()) for m in re.finditer(r"[^/×]+", body))
    if _GUID.fullmatch(body) or _IPV4.fullmatch(body):
        return _one("identifier", start, end)
    for pattern, role in ((dates.CLOCK, "time"), (dates.MONTH_NUMBER, "date"), (dates.DAY_FIRST, "date")):
        found = pattern.match(body)
        if found and (found.end() == len(body) or (role == "time" and body[found.end()] in "-–~")):
            if role == "time" and _is_ratio_like(body):
                break
            return _one(role, start, end)
    if _ORDINAL.fullmatch(body):
        return _one("ordinal", start, end)
    if (_VERSION.fullmatch(body) and not _DOT_GROUPS.fullmatch(body)) or _HEX.fullmatch(body) or _IPV6.fullmatch(body):
        if re.fullmatch(r"\d+[eE]\d+", body):
            return _one("number", start, end)
        return _one("identifier", start, end)
    if _is_figure(body, signed=chunk[start - 1 : start] == "-"):
        return _one("number", start, end)
    if ":" in body and "::" not in body:
        head, _, tail = body.partition(":")
        if head.isdigit() and tail.isdigit() and len(body) <= 2 * LONGEST_SCORE:  # 3:1, the score of a game
            return (Piece("number", start, start + len(head)), Piece("number", start + len(head) + 1, end))
        if head.isdigit():
            return _shift(classify(body[len(head) + 1 :]), start + len(head) + 1)
        return _split(chunk, ":", start, end)
    if "/" in body and _PATH.fullmatch(body):
        return _one("path", start, end)
    if _HOST.fullmatch(body):
        return _one("url", start, end)
    grep_line = re.match(r"(\d+)[-:](?=[A-Za-z_@#.])", body)
    if grep_line and "_" in body:
        return _shift(classify(body[grep_line.end() :]), start + grep_line.end())
    return _one("identifier", start, end)


def _is_one_fraction(body: str) -> bool:
    """Whether numbers between slashes are a fraction, "3/10", or a date, "3/10/2024"; not "120/80" or "1.2/3.4/5.0"."""
    if "×" in body:
        return False
    parts = [part.rstrip(ascii_letters) for part in body.split("/")]
    if "." in body:
        return len(parts) < 3
    return len(parts) > 2 or int(parts[0]) < int(parts[1]) or int(parts[1]) <= MOST_PARTS


def _is_ratio_like(body: str) -> bool:
    return body.endswith(("%", "x"))


def _shift(pieces: Pieces, by: int) -> Pieces:
    """The pieces of a part of a chunk as pieces of the whole."""
    return tuple(Piece(p.role, p.start + by, p.end + by) for p in pieces)


def _is_figure(body: str, *, signed: bool = False) -> bool:
    """Digits with a unit, a scale letter or another figure glued to them: "5mg/mL", "10-15", "3k", "27-kilometer"."""
    head = _NUMBER_START.match(body)
    if head is None:
        return False
    tail = body[head.end() :]
    if not tail:
        return True
    if "_" in tail:
        return False
    if tail[0] in "-–~/":
        if tail[0] == "-" and tail.count("-") > 1 and any(c.isdigit() for c in tail):
            return False
        if _RANGE.match(body):
            rest = _NUMBER_START.match(body, len(head[0]) + 1)
            after = body[rest.end() :] if rest else ""
            if rest and len(after) == 1 and after.isalpha() and len(rest[0]) > MAX_GLUED:
                return False
            return not after or after[0] in "°%" or _unit_tail(after) or bool(re.fullmatch(r"-?[a-z]{2,}", after))
        if _HYPHEN_UNIT.fullmatch(body):
            return True
        unit = read_unit(body, len(head[0]) + 1) or read_unit(body, len(head[0]))
        return unit is not None and unit.end == len(body)
    return _unit_tail(tail, len(head[0]), signed=signed)


def _unit_tail(tail: str, digits: int = 1, *, signed: bool = False) -> bool:
    """Whether letters glued to a number are a scale, a unit, a currency or a mixture of them."""
    if tail[0] in "°%‰$€£¥²³½¼¾×±^":
        return True
    if tail == "D" and digits == 1:
        return False  # 2D, 3D
    if len(tail) == 1 and tail in "CF" and signed:
        return True
    if len(tail) == 1:
        return (digits < LONG_NUMBER and tail in _GLUED_LETTERS) or ord(tail) > 127
    dash = tail.find("-") if tail[0] not in "-" else -1
    if dash > 0 and tail[dash + 1 : dash + 2].isdigit():
        rest = _NUMBER_START.match(tail, dash + 1)
        after = tail[rest.end() :] if rest else ""
        return _unit_tail(tail[:dash]) and (not after or _unit_tail(after))
    if tail[0] in "kKMBT" and tail[1:2] in "$€£¥-/":
        return True
    unit = read_unit(tail, 0)
    if unit is not None and (unit.end == len(tail) or tail[unit.end] in "-/–."):
        return True
    if tail.lower() in ("mil", "mln", "bn", "bln", "tn", "mn", "mio", "tln"):
        return True
    return bool(re.fullmatch(r"[x×]10\^?-?\d+.*|[x×]\d+\^\d+|x\d+(?:\.\d+)?", tail)) and "0" not in tail[1:2]


def _letter_first(chunk: str, body: str, start: int, end: int) -> Pieces:
    head = _CURRENCY_NUMBER.match(body)
    if head:
        digit = next(i for i, c in enumerate(body) if c.isdigit())
        letters = body[:digit].rstrip(".-")
        known = tables()
        if letters in known.codes or letters in known.currency_signs or letters.upper() in known.codes:
            if digit and body[digit - 1] == ".":
                digit -= 1
            return _one("number", start + digit, end)
        if letters and not letters[-1].isalnum() and not letters.startswith("_"):
            return _one("number", start + digit, end)
    line = _LINE_REF.fullmatch(body)
    if line and ("." in line[1] or "/" in line[1]) and not line[1].startswith(("http", "www")):
        inner = classify(line[1])
        kind = inner[0].role if inner else "identifier"
        begin = start + (inner[0].start if inner else 0)
        while begin > 0 and chunk[begin - 1] in "./~":
            begin -= 1
        return _one("path" if kind == "path" else "identifier", begin, end)
    for pattern in (dates.MONTH_FIRST, dates.WEEKDAY_FIRST):
        found = pattern.fullmatch(body)
        if found:
            return _one("date", start, end)
    if "/" in body or "\\" in body:
        pieces = _path(chunk, start, end)
        return pieces or (_split(chunk, ":", start, end) if ":" in body else _one("identifier", start, end))
    if ":" in body and "::" not in body:
        return _split(chunk, ":", start, end)
    while start > 0 and chunk[start - 1] in "._":
        start -= 1
    return _one("identifier", start, end)
