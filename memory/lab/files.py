"""The runs of files and folders, read one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import overload

from .formats import is_event_folder, read_file
from .formats.openhands import event_files
from .transcripts import Transcript, TranscriptError


class Transcripts(Sequence[Transcript]):
    """The runs of some files, as a sequence that is read anew each time and never held as a whole.

    Iterating reads one run at a time, so files may be larger than memory; `list(...)` holds them. `len` and an index
    read the files up to where they need to. Ids tell all runs apart: of several files, they begin with the file's path
    below `base`, and of runs of one name, the later ones are numbered.
    """

    def __init__(self, files: Sequence[Path], base: Path | None = None) -> None:
        self.files = tuple(files)
        self.base = base

    def __iter__(self) -> Iterator[Transcript]:
        taken: set[str] = set()
        for path in self.files:
            for run in read_file(path, _place(path, self.base)):
                names = (run.id if number == 1 else f"{run.id}#{number}" for number in count(1))
                name = next(name for name in names if name not in taken)
                taken.add(name)
                yield run if name == run.id else replace(run, id=name)

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


_EVENTS = "events"  # where OpenHands keeps the events of a conversation; `.json` beside this folder is its state


def load_transcripts(*paths: str | Path | Iterable[str | Path]) -> Transcripts:
    """The runs recorded in files, or in all files of folders; see docs/lab.md for the formats.

    Args:
        paths: files and folders, one by one or as lists. A file may be gzipped.

    Raises:
        TranscriptError: no path is given, one does not exist, a folder holds no transcript, or the first run of a
            file can't be read. A fault further down is raised when the iteration comes to it.
    """
    named = [Path(p) for given in paths for p in ([given] if isinstance(given, (str, Path)) else given)]
    files = [file for path in named for file in _files(path)]
    if not files:
        raise TranscriptError("no files are given to read runs from (does a pattern match none?)")
    for path in files:
        next(read_file(path), None)
    return Transcripts(files, None if len(named) == 1 and named[0].is_file() else _shared_folder(named))


def _shared_folder(paths: list[Path]) -> Path:
    return Path(os.path.commonpath([path.absolute() if path.is_dir() else path.absolute().parent for path in paths]))


def _place(path: Path, base: Path | None) -> str:
    """Where a file is below the folder, without its suffix; a folder of events is its conversation."""
    if base is None:
        return ""
    whole = path.absolute()
    if path.is_dir():
        conversation = whole.parent if whole.name == _EVENTS else whole
        return conversation.relative_to(base).as_posix() if base in conversation.parents else conversation.name
    suffix = next((suffix for suffix in _SUFFIXES if path.name.endswith(suffix)), path.suffix)
    return whole.relative_to(base).as_posix().removesuffix(suffix)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise TranscriptError(f"{path}: no such file or folder")
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(_SUFFIXES))
    if not found:
        raise TranscriptError(f"{path}: the folder holds no file ending in {', '.join(_SUFFIXES)}")
    folders = [folder for folder in sorted({p.parent for p in found}) if is_event_folder(folder)]
    events = {file for folder in folders for file in event_files(folder)}
    states = {folder.parent for folder in folders if folder.name == _EVENTS}
    rest = [p for p in found if p not in events and not (p.suffix == ".json" and states.intersection(p.parents))]
    return sorted([*folders, *rest])
