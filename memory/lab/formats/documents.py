"""JSON values of a file, one after the other, each with its line, without holding the file.

A file that begins with `[` is read element by element, one that begins with `{` line by line; only a single object
spread over several lines is read whole. Gzip is recognised by its magic number (RFC 1952).
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ..transcripts import TranscriptError

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value and the line it begins on."""

    line: int
    value: Any


def magic(path: Path, size: int = 16) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(size)


def open_text(path: Path) -> TextIO:
    """The file as UTF-8 text, unzipped where it is gzipped."""
    if magic(path).startswith(_GZIP):
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file with their numbers from 1, line ends taken off.

    Raises:
        TranscriptError: the file is not UTF-8, or a broken gzip file.
    """
    number = 0
    try:
        with open_text(path) as file:
            for number, line in enumerate(file, 1):
                yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise TranscriptError(f"{path}:{number + 1}: not UTF-8 text: {error.reason}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise TranscriptError(f"{path}:{number + 1}: can't be read: {error}") from error


def documents(path: Path) -> Iterator[Document]:
    """The JSON values of a file: elements of its arrays, or its objects.

    Raises:
        TranscriptError: a value is not JSON; the text says where.
    """
    source = lines(path)
    for number, line in source:
        start = line.lstrip()
        if start.startswith("["):
            yield from _Elements(path, number, start[1:], source).read()
        elif start:
            yield from _objects(path, number, start, source)


def _objects(path: Path, number: int, line: str, source: Iterator[tuple[int, str]]) -> Iterator[Document]:
    """One object a line; where the first line is not complete, the rest of the file belongs to it."""
    try:
        yield Document(number, json.loads(line))
    except (ValueError, RecursionError) as error:
        rest = [text for _, text in source] if number == 1 else []
        if not rest:
            raise _broken(path, number, error) from error
        yield Document(number, _parsed(path, number, "\n".join([line, *rest])))


def _parsed(path: Path, number: int, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _broken(path, number, error) from error


def _broken(path: Path, number: int, error: ValueError | RecursionError) -> TranscriptError:
    if isinstance(error, json.JSONDecodeError):
        return TranscriptError(f"{path}:{number + error.lineno - 1}: not JSON: {error.msg} (column {error.colno})")
    return TranscriptError(f"{path}:{number}: not JSON that can be read: {error}")


class _Elements:
    """Reads one array whose `[` has been taken off, pulling lines as they are needed."""

    def __init__(self, path: Path, number: int, text: str, source: Iterator[tuple[int, str]]) -> None:
        self.path, self.number, self.text, self.source = path, number, text, source
        self.decoder = json.JSONDecoder()

    def read(self) -> Iterator[Document]:
        while True:
            self._skip(", \t\n")
            if self.text.startswith("]"):
                if self.text[1:].strip():
                    raise TranscriptError(f"{self.path}:{self.number}: text after the end of the array")
                return
            yield self._element()

    def _skip(self, signs: str) -> None:
        self.text = self.text.lstrip(signs)
        while not self.text:
            if not self._pull():
                raise TranscriptError(f"{self.path}:{self.number}: the file ends inside an array")
            self.text = self.text.lstrip(signs)

    def _pull(self) -> bool:
        following = next(self.source, None)
        if following is None:
            return False
        self.number, line = following
        self.text += "\n" + line
        return True

    def _element(self) -> Document:
        first = self.number
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text)
            except (ValueError, RecursionError) as error:
                wanted = 2 * len(self.text)  # doubled, so that a long element is not parsed anew for each of its lines
                if not self._pull():
                    raise _broken(self.path, first, error) from error
                while len(self.text) < wanted and self._pull():
                    pass
            else:
                self.text = self.text[end:]
                return Document(first, value)
