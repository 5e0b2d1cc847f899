"""Reading, listing and searching files inside allowed folders only.

A path is resolved, symbolic links included, before it is judged; then it is opened folder by folder without following
one more link, and read only when it is a regular file, so neither a link nor a pipe leads elsewhere.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from .definition import Tool, ToolError
from .paging import read_page
from .results import one_line

_MAX_BYTES = 10_000_000
_PAGE = 8_000
_MAX_LISTED = 200
_MAX_MATCHES = 50
_MAX_SEARCHED = 5_000
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class AllowedFolders:
    """Folders a model may look into. Raises FileNotFoundError when one does not exist."""

    def __init__(self, roots: Sequence[Path | str]) -> None:
        self.roots = [Path(root).expanduser().resolve() for root in roots]
        for root in self.roots:
            if not root.is_dir():
                raise FileNotFoundError(f"the folder {root} does not exist; allow one that does")

    def resolve(self, path: str) -> Path:
        """The real place of a path, relative ones taken from each folder in turn.

        Raises ToolError when nothing is there or it lies outside the allowed folders.
        """
        if not path.strip() or "\0" in path:
            raise ToolError("the path is empty or holds a NUL character; give a path inside the allowed folders")
        inside = False
        for root in self.roots:
            try:
                real = (root / path).resolve()
                found = real.exists()
            except (OSError, RuntimeError, ValueError):  # too long, a loop of links, a lone surrogate
                continue
            if self.allows(real):
                inside = True
                if found:
                    return real
        if inside:
            raise ToolError(f"there is no file {path[:200]!r}; list_files shows what there is")
        allowed = ", ".join(map(str, self.roots))
        raise ToolError(f"{path[:200]!r} is outside the allowed folders ({allowed}); give a path inside them")

    def allows(self, real: Path) -> bool:
        return any(real.is_relative_to(root) for root in self.roots)

    def name(self, real: Path) -> str:
        """The path as the model may use it again."""
        root = next(root for root in self.roots if real.is_relative_to(root))
        return real.relative_to(root).as_posix() if len(self.roots) == 1 else str(real)

    def read(self, real: Path) -> bytes:
        """The bytes of a regular file of at most 10 MB. Raises ToolError for anything else."""
        try:
            handle = self._open(real)
        except OSError as error:
            raise ToolError(f"{self.name(real)} cannot be opened: {error.strerror}") from None
        with os.fdopen(handle, "rb") as file:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode):
                raise ToolError(f"{self.name(real)} is not a regular file; list_files shows what a folder holds")
            if state.st_size > _MAX_BYTES:
                raise ToolError(f"{self.name(real)} has {state.st_size:,} bytes; at most {_MAX_BYTES:,} are read")
            return file.read(_MAX_BYTES)

    def _open(self, real: Path) -> int:
        """Opened folder by folder, since one of them may have become a link after the path was judged."""
        if os.open not in os.supports_dir_fd:  # Windows
            return os.open(real, _OPEN_FLAGS)
        root = next(root for root in self.roots if real.is_relative_to(root))
        handle = os.open(root, os.O_RDONLY)
        for part in real.relative_to(root).parts:
            folder = handle
            try:
                handle = os.open(part, _OPEN_FLAGS, dir_fd=folder)
            finally:
                os.close(folder)
        return handle

    def walk(self, start: Path) -> Iterator[Path]:
        """The files below a folder, or the file itself, in order; hidden ones and links are left out."""
        if start.is_file():
            yield start
        for folder, folders, files in os.walk(start):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                file = Path(folder, name)
                if not name.startswith(".") and not file.is_symlink():
                    yield file


def file_tools(roots: Sequence[Path | str]) -> list[Tool]:
    """`read_file`, `list_files` and `search_files` inside the folders. Raises FileNotFoundError if one is missing."""
    folders = AllowedFolders(roots)

    def read_file(path: str, page: int = 1) -> str:
        content = folders.read(folders.resolve(path))
        if b"\0" in content[:8192]:
            return f"({len(content):,} bytes of binary data, not a text)"
        text = content.decode("utf-8-sig", "replace")
        return read_page(text, page, _PAGE, f'read_file("{path}", page={{page}})') if text.strip() else "(empty)"

    def list_files(path: str = ".") -> str:
        lines: list[str] = []
        for count, file in enumerate(folders.walk(folders.resolve(path))):
            if count == _MAX_LISTED:
                lines.append("more left out; list a folder further down to see them")
                break
            lines.append(f"{folders.name(file)} ({file.lstat().st_size:,} bytes)")
        return "\n".join(lines) or "(no files)"

    def search_files(text: str, path: str = ".") -> str:
        if not text.strip():
            raise ToolError("the text to search for is empty; give words that stand in one line")
        lines: list[str] = []
        for count, file in enumerate(folders.walk(folders.resolve(path))):
            if count == _MAX_SEARCHED or len(lines) > _MAX_MATCHES:
                return "\n".join([*lines[:_MAX_MATCHES], "more left out; search in one folder or for more words"])
            lines += _matches(folders, file, text.casefold())
        return "\n".join(lines[:_MAX_MATCHES]) or f"No line holds {text[:80]!r}."

    where = {"type": "string", "description": "A path inside the allowed folders; the whole of them if left out."}
    return [
        Tool(
            "read_file",
            "Use it to read a text file. Takes its path and, for a long one, the page. Returns the text and says how "
            "many pages there are. Not for folders, web addresses or files outside the allowed folders.",
            {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file's path, as list_files shows it."},
                    "page": {"type": "integer", "minimum": 1, "description": "The page, from 1 on; 1 if left out."},
                },
                "required": ["path"],
            },
            read_file,
            categories=("files",),
        ),
        Tool(
            "list_files",
            f"Use it to see which files there are. Takes a folder. Returns up to {_MAX_LISTED} paths with their sizes, "
            "sub-folders included, hidden files and links not. Not for what a file says.",
            {"type": "object", "properties": {"path": where}},
            list_files,
            categories=("files",),
        ),
        Tool(
            "search_files",
            "Use it to find the lines of text files that hold some words. Takes the text as it stands in a line, upper "
            f"or lower case, and a folder. Returns up to {_MAX_MATCHES} lines as path:line: text. No patterns.",
            {
                "type": "object",
                "properties": {"text": {"type": "string", "description": "Words of one line."}, "path": where},
                "required": ["text"],
            },
            search_files,
            categories=("files",),
        ),
    ]


def _matches(folders: AllowedFolders, file: Path, wanted: str) -> list[str]:
    try:
        content = folders.read(file)
    except ToolError:
        return []  # not a regular file, unreadable or too large: nothing to search in
    if b"\0" in content[:8192]:
        return []
    lines = content.decode("utf-8-sig", "replace").splitlines()
    found = [(number, line) for number, line in enumerate(lines, 1) if wanted in line.casefold()]
    return [f"{folders.name(file)}:{number}: {one_line(line, 200)}" for number, line in found]
