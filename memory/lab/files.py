"""The runs of files and folders, read one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

from .formats import read_file
from .transcripts import Transcript, TranscriptError


class Transcripts(Sequence[Transcript]):
    """The runs of some files, as a sequence that is read anew each time and never held as a whole.

    Iterating reads one run at a time, so files may be larger than memory; `list(...)` holds them. `len` and an index
    read the files up to where they need to.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = tuple(files)

    def __iter__(self) -> Iterator[Transcript]:
        for path in self.files:
            yield from read_file(path)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, index: int) -> Transcript: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Transcript]: ...
    def __getitem__(self, index: int | slice) -> Transcript | Sequence[Transcript]:
        if isinstance(index, slice) or index < 0:
            return list(self)[index]
        for position, transcript in enumerate(self):
            if position == index:
                return transcript
        raise IndexError(f"transcript {index} asked for, but the files hold no more than {len(self)}")

    def __repr__(self) -> str:
        return f"Transcripts({', '.join(map(str, self.files))})"


# What a folder is searched for; a file named outright is read whatever its suffix.
_TEXTS = (".jsonl", ".json", ".traj", ".log", ".txt")
_SUFFIXES = (*_TEXTS, *(f"{suffix}.gz" for suffix in _TEXTS), ".db", ".sqlite", ".sqlite3")


def load_transcripts(*paths: str | Path | Iterable[str | Path]) -> Transcripts:
    """The runs recorded in files, or in all files of folders; see docs/lab.md for the formats.

    Args:
        paths: files and folders, one by one or as lists. A file may be gzipped.

    Raises:
        TranscriptError: no path is given, one does not exist, a folder holds no transcript, or the first run of a
            file can't be read. A fault further down is raised when the iteration comes to it.
    """
    files: list[Path] = []
    for given in paths:
        for path in [given] if isinstance(given, (str, Path)) else given:
            files += _files(Path(path))
    if not files:
        raise TranscriptError("no files are given to read runs from (does a pattern match none?)")
    for path in files:
        next(read_file(path), None)
    return Transcripts(files)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise TranscriptError(f"{path}: no such file or folder")
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(_SUFFIXES))
    if not found:
        raise TranscriptError(f"{path}: the folder holds no file ending in {', '.join(_SUFFIXES)}")
    return found
