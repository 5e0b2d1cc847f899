"""Notes that outlive a run: one Markdown file each, in a folder."""

import hashlib
import os
import re
import tempfile
from pathlib import Path

from .definition import Tool, ToolError

_MAX_BODY = 100_000
_MAX_TITLE = 200
_UNSAFE = re.compile(r"[^\w\-]+")


def note_tools(folder: Path | str) -> list[Tool]:
    """`save_note` and `read_notes` over a folder, which is made when the first note is saved."""
    notes = Notes(Path(folder).expanduser())
    return [
        Tool(
            "save_note",
            "Use it to keep a result or a finding for later. Takes a title and the text; a note of the same title is "
            "replaced. Returns a confirmation. Not for reading notes: read_notes does that.",
            {
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "A short title, one line."},
                    "body": {"type": "string", "description": "What to keep."},
                },
                "required": ["title", "body"],
            },
            notes.save,
            risk="write",
            categories=("notes",),
        ),
        Tool(
            "read_notes",
            "Use it to read what save_note kept. Takes a title for one note, or nothing for the list of titles. "
            "Returns the note's text or the titles. Not for documents or files.",
            {
                "type": "object",
                "properties": {"title": {"type": "string", "description": "The title of the note to read."}},
            },
            notes.read,
            categories=("notes",),
        ),
    ]


class Notes:
    """The notes in a folder. A file holds the title as its heading, then the text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, title: str, body: str) -> str:
        """Keep a note, replacing the one of the same title; a reader never sees half of one."""
        title = " ".join(title.split())
        if not title or len(title) > _MAX_TITLE:
            raise ToolError(f"the title needs 1 to {_MAX_TITLE} characters")
        if len(body) > _MAX_BODY:
            raise ToolError(f"the note has {len(body):,} characters; at most {_MAX_BODY:,} are kept, so shorten it")
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("wb", dir=self._folder, suffix=".part", delete=False) as part:
            part.write(f"# {title}\n\n{body}\n".encode("utf-8", "replace"))
        target = self._file(title)
        replaced = target.exists()
        os.replace(part.name, target)  # noqa: PTH105
        return f"{'replaced' if replaced else 'saved'} the note {title!r} ({len(body):,} characters)"

    def read(self, title: str = "") -> str:
        """The text of a note, or the titles of all."""
        wanted = " ".join(title.split())
        titles = self._titles()
        if not wanted:
            listed = "\n".join(f"- {one}" for one in titles)
            return f"{len(titles)} notes:\n{listed}" if titles else "There are no notes yet."
        file = self._file(wanted)
        if not file.is_file():
            raise ToolError(f"there is no note {wanted[:80]!r}; the titles are: {', '.join(titles) or 'none yet'}")
        return file.read_text(encoding="utf-8").partition("\n\n")[2].removesuffix("\n")

    def _titles(self) -> list[str]:
        files = sorted(self._folder.glob("*.md"), key=lambda file: (file.stat().st_mtime_ns, file.name))
        return [file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for file in files]

    def _file(self, title: str) -> Path:
        # the digest keeps apart titles that differ only in signs that a file name cannot hold
        digest = hashlib.sha256(title.encode("utf-8", "replace")).hexdigest()[:8]
        return self._folder / f"{_UNSAFE.sub('-', title)[:40].strip('-').lower() or 'note'}-{digest}.md"
