"""Reads JSON as models write it: Python literals, curly quotes, raw line ends, stray commas.

What it never does is complete a value: text that ends before its value does is a `truncated` problem, and
a key given twice is a `duplicate_key` problem, since either may hide a call nobody meant.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Literal, NoReturn, cast

from ...memory.messages import clean

_MAX_DEPTH = 64
_MAX_DIGITS = 300
# a quote and those that may close it
_PAIRS = ('""', "''", "``", "＂＂", "＇＇", '“”“"', '””"', "‘’‘'", "’’'", "「」", "『』", "«»", '„“”"')
_CLOSING_QUOTES = {pair[0]: pair[1:] for pair in _PAIRS}
QUOTES = frozenset(_CLOSING_QUOTES)
"""What a text may begin with."""
_SPACE = re.compile(r"(?:\s+|(?://|#)[^\n]*\n|/\*.{0,1000}?\*/)*", re.DOTALL)
_BLANKS = re.compile(r"\s*")
_BARE_KEY = re.compile(r"[\w$][\w$.-]*")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?$")
_BARE_VALUE = re.compile(r"[^,，{}｛｝\[\]］\"“”\n]+")
_QUOTED = "|".join(rf"{quote}(?:\\.|[^\n\\{ends}])*[{ends}]" for quote, ends in _CLOSING_QUOTES.items())
_NEXT_KEY = re.compile(rf"\s*(?:{_QUOTED}|[\w$][\w$.-]*)\s*[:：]")
_CONSTANTS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "\n": ""}
_TUPLE = re.compile(r"\(\s*(?:[\"'(\[{]|[+-]?[\d.]+\s*,)")
_ESCAPED = re.compile(r"[{｛]\s*\\[\"']|\[\s*(?:[{｛]\s*)?\\[\"']")  # encoded once more, without the quotes around it
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:\\(?!\\)")  # the start of a Windows path whose backslashes are not escaped
_HEX_ESCAPE = re.compile(r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})")


JsonErrorKind = Literal["invalid", "truncated", "duplicate_key"]


class JsonError(ValueError):
    """A text that is no value. `kind` is `invalid`, `truncated` (it ended too early) or `duplicate_key`."""

    def __init__(self, kind: JsonErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: JsonErrorKind = kind


def read_value(text: str, start: int = 0) -> tuple[Any, int]:
    """The value that begins at `start` (blanks skipped) and the index after its end.

    Raises:
        JsonError: there is no whole value.
    """
    start = _skip(_BLANKS, text, start)
    try:
        value, end = _STRICT.raw_decode(text, start)
    except JsonError:
        raise
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and _ends_early(error, text):
            raise JsonError("truncated", "the text ends before the value does") from error
        if _ESCAPED.match(text, start):
            return _read_escaped(text, start)
        reader = _Reader(text, start)
        value, end = reader.value(0, closers=""), reader.at
    return without_surrogates(value), end


def _read_escaped(text: str, start: int) -> tuple[Any, int]:
    """A value whose quotes are escaped, as in `{\\"a\\": 1}`."""
    plain = _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text[start:])
    value, length = read_value(plain)
    taken = 0  # characters of the text; each escape is one more of them
    for piece in re.finditer(r"\\.|.", text[start:], re.DOTALL):
        if length == 0:
            break
        length, taken = length - 1, taken + len(piece[0])
    return value, start + taken


def _ends_early(error: json.JSONDecodeError, text: str) -> bool:
    """Whether strict JSON ends inside its value. Read with patience, its quotes might pair up in another way."""
    rest = text[error.pos :].strip()
    return (
        not rest
        or error.msg.startswith("Unterminated string")
        or (error.msg == "Expecting value" and any(word.startswith(rest) for word in ("true", "false", "null", "-")))
        or (error.msg.startswith("Invalid \\u") and len(rest) < len("u0000"))
    )


def _skip(blanks: re.Pattern[str], text: str, at: int) -> int:
    match = blanks.match(text, at)
    return match.end() if match else at


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise JsonError("duplicate_key", f"the key {twice[:60]!r} is given twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonError("invalid", f"{text[:20]} is no number that JSON can hold")
    return number


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise JsonError("invalid", f"a number of {len(text)} digits")
    return int(text)


def _no_constant(text: str) -> NoReturn:
    raise JsonError("invalid", f"{text} is no JSON value")


_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_finite,
    parse_int=_integer,
    parse_constant=_no_constant,
    strict=False,
)


def without_surrogates(value: Any) -> Any:
    """The value with every text in it cleaned of what cannot be sent as UTF-8."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {clean(key): without_surrogates(item) for key, item in items}
    return value


class _Reader:
    """A descent over the text for what the strict decoder refuses; `at` is the next character."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def value(self, depth: int, closers: str) -> Any:
        if depth > _MAX_DEPTH:
            raise JsonError("invalid", f"values are nested more than {_MAX_DEPTH} deep")
        char = self._peek()
        if char in "{｛":
            return self._object(depth)
        if char in "[［" or _TUPLE.match(self.text, self.at):
            return self._array(depth)
        if char in _CLOSING_QUOTES:
            return self._string(closers)
        return self._bare(closers)

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        if depth < _MAX_DEPTH and self._peek() in "{｛":
            return self._doubled(depth)
        pairs: list[tuple[str, Any]] = []
        while self._peek() not in "}｝":
            key = self._key()
            if self._peek() not in ":：=＝":
                self._fail(f"a colon is missing after the key {key[:60]!r}")
            self.at += 1
            pairs.append((key, self.value(depth + 1, closers=",，}｝")))
            self._comma("}｝")
        self.at += 1
        return _unique(pairs)

    def _doubled(self, depth: int) -> dict[str, Any]:
        """An object in braces that are doubled, as in templates of prompts."""
        value = self._object(depth + 1)
        if self._peek() not in "}｝":
            self._fail("expected }")
        self.at += 1
        return value

    def _array(self, depth: int) -> list[Any]:
        closing = ")" if self.text[self.at] == "(" else "]］"
        self.at += 1
        items: list[Any] = []
        while self._peek() not in closing:
            items.append(self.value(depth + 1, closers=f",，{closing}"))
            self._comma(closing)
        self.at += 1
        return items

    def _comma(self, closing: str) -> None:
        if self._peek() in ",，":
            self.at += 1
        elif self._peek() not in closing and not (closing[0] == "}" and _NEXT_KEY.match(self.text, self.at)):
            self._fail(f"expected a comma or {closing[0]}")

    def _key(self) -> str:
        if self._peek() in _CLOSING_QUOTES:
            return self._string(":：")
        bare = _BARE_KEY.match(self.text, self.at)
        if not bare:
            self._fail("expected a key")
        self.at = bare.end()
        return bare.group()

    def _string(self, closers: str) -> str:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at) and quote in "\"'":
            end = self.text.find(quote * 3, self.at + 3)
            if end < 0:
                raise JsonError("truncated", "a text is not closed")
            inner, self.at = self.text[self.at + 3 : end], end + 3
            return inner
        self.at += 1
        is_path = _DRIVE.match(self.text, self.at) is not None
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\" and not (is_path and self.text[self.at + 1 : self.at + 2].isalnum()):
                parts.append(self._escape())
            elif char in _CLOSING_QUOTES[quote] and self._closes(self.at + 1, closers):
                self.at += 1
                return "".join(parts)
            else:
                parts.append(char)
                self.at += 1
        raise JsonError("truncated", "a text is not closed")

    def _closes(self, after: int, closers: str) -> bool:
        """Whether a quote before `after` ends its text: models forget to escape the quotes inside."""
        if self.text[after - 1] in "'’" and self.text[after : after + 1].isalnum():
            return False  # an apostrophe
        at = _skip(_SPACE, self.text, after)
        if not closers or at >= len(self.text):
            return True
        following = self.text[at]
        if following in ",，" and "}" in closers:
            rest = _skip(_SPACE, self.text, at + 1)
            return rest >= len(self.text) or self.text[rest] in "}｝" or bool(_NEXT_KEY.match(self.text, rest))
        if following in closers:
            return True
        return "}" in closers and following in _CLOSING_QUOTES and bool(_NEXT_KEY.match(self.text, at))

    def _escape(self) -> str:
        if self.at + 1 >= len(self.text):
            raise JsonError("truncated", "a text is not closed")
        code = _HEX_ESCAPE.match(self.text, self.at + 1)
        if code:
            self.at = code.end()
            return chr(int(code.group(1) or code.group(2), 16))
        char = self.text[self.at + 1]
        self.at += 2
        if char in _CLOSING_QUOTES:
            return char
        return _ESCAPES.get(char, "\\" + char)  # a path or a regular expression, written without care

    def _bare(self, closers: str) -> Any:
        match = _BARE_VALUE.match(self.text, self.at)
        if not match:
            self._fail("expected a value")
        word, end = match.group(), match.end()
        if ")" in closers and ")" in word:  # the end of a tuple
            word = word.partition(")")[0]
            end = self.at + len(word)
        if end == len(self.text):
            raise JsonError("truncated", "the text ends inside a value")
        self.at, word = end, word.strip()
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if _NUMBER.match(word):
            return _finite(word) if any(c in word for c in ".eE") else _integer(word)
        if word.lstrip("+-") in ("NaN", "Infinity", "nan", "inf"):
            _no_constant(word)
        return word

    def _peek(self) -> str:
        self.at = _skip(_SPACE, self.text, self.at)
        if self.at >= len(self.text):
            raise JsonError("truncated", "the text ends before the value does")
        return self.text[self.at]

    def _fail(self, what: str) -> NoReturn:
        near = self.text[self.at : self.at + 20]
        raise JsonError("invalid", f"{what} at {near!r}")
