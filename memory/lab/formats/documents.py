"""JSON values of a file, one after the other, each with its line, without holding the file.

Arrays are read element by element, objects one by one, whether or not lines break between or inside them; only the
value in hand is held whole. Gzip is recognised by its magic number (RFC 1952).
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..transcripts import TranscriptError

_GZIP = b"\x1f\x8b"
_PIECE = 1 << 20  # bytes of a long line that are read at a time
_CUT = 16  # characters; what the end of a piece may cut is no longer: an escape, a number's sign, `false`
_BLANK, _BETWEEN = re.compile(r"\s*"), re.compile(r"[\s,]*")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value, the line it begins on, and the number of the array it is an element of (0: none)."""

    line: int
    value: Any
    array: int = 0


def magic(path: Path, size: int = 16) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(size)


def _open(path: Path) -> BinaryIO:
    """The file, unzipped where it is gzipped."""
    return cast(BinaryIO, gzip.open(path, "rb")) if magic(path).startswith(_GZIP) else path.open("rb")


def _pieces(path: Path, size: int) -> Iterator[tuple[int, str]]:
    """The text of a file line by line, and lines longer than `size` bytes piece by piece, with line numbers from 1."""
    decoder, number = getincrementaldecoder("utf-8-sig")(), 1
    try:
        with _open(path) as file:
            while piece := file.readline(size):
                yield number, decoder.decode(piece)
                number += piece.endswith(b"\n")
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise TranscriptError(f"{path}:{number}: not UTF-8 text: {error.reason}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise TranscriptError(f"{path}:{number}: can't be read: {error}") from error


def unzipped(path: Path, size: int) -> bytes:
    """The first bytes of a file, unzipped where it is gzipped.

    Raises:
        TranscriptError: the file is a broken gzip file.
    """
    try:
        with _open(path) as file:
            return file.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise TranscriptError(f"{path}:1: can't be read: {error}") from error


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file with their numbers from 1, line ends taken off.

    Raises:
        TranscriptError: the file is not UTF-8, or a broken gzip file.
    """
    for number, line in _pieces(path, -1):
        yield number, line.rstrip("\r\n")


def first_sign(path: Path) -> str:
    """The first character of a file that is no blank; empty where there is none.

    Raises:
        TranscriptError: as `lines`.
    """
    return next((start[0] for _, piece in _pieces(path, _PIECE) if (start := piece.lstrip())), "")


def documents(path: Path) -> Iterator[Document]:
    """The JSON values of a file: elements of its arrays, or its objects.

    Raises:
        TranscriptError: a value is not JSON; the text says where.
    """
    scan, array = _Scan(path), 0
    while sign := scan.sign(_BLANK):
        if sign != "[":
            yield scan.value(0)
            continue
        array += 1
        scan.move(1)
        while (sign := scan.sign(_BETWEEN)) != "]":
            if not sign:
                raise TranscriptError(f"{path}:{scan.line}: the file ends inside an array")
            yield scan.value(array)
        scan.move(1)


class _Scan:
    """A position in the text of a file, of which the part from there to the end of the last piece read is held."""

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 1
        self._text, self._at = "", 0
        self._source = _pieces(path, _PIECE)
        self._decoder = json.JSONDecoder()

    def sign(self, skipped: re.Pattern[str]) -> str:
        """The next character after what is skipped; empty at the end of the file."""
        while True:
            found = skipped.match(self._text, self._at)
            self.move(found.end() - self._at if found else 0)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._pull(1):
                return ""

    def move(self, by: int) -> None:
        """Go on by so many characters of what is held."""
        self.line += self._text.count("\n", self._at, self._at + by)
        self._at += by

    def value(self, array: int) -> Document:
        """The JSON value that begins here."""
        line = self.line
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                held = len(self._text.rstrip())
                cut = error.msg.startswith("Unterminated string") or error.pos > held - _CUT
                at = line + self._text.count("\n", self._at, min(error.pos, held))
                near = self._text[max(self._at, error.pos - 30) : error.pos + 10]
                # doubled, so that a long value is not parsed anew for each of its lines
                if not (cut and self._pull(len(self._text) - self._at)):
                    raise TranscriptError(f"{self.path}:{at}: not JSON: {error.msg}, near {near!r}") from error
            except (RecursionError, ValueError) as error:  # levels, or digits of an integer, in thousands
                raise TranscriptError(f"{self.path}:{line}: not JSON that can be read: {error}") from error
            else:
                self.move(end - self._at)
                return Document(line, value, array)

    def _pull(self, wanted: int) -> bool:
        """Read on by at least so many characters; False where the file has no more."""
        parts, read = [self._text[self._at :]], 0
        while read < wanted and (piece := next(self._source, None)) is not None:
            parts.append(piece[1])
            read += len(piece[1])
        self._text, self._at = "".join(parts), 0
        return read > 0
