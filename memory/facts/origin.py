"""Where a fact came from, kept so that its label can be read when somebody asks for it."""

from __future__ import annotations

import re

from .json_source import JsonIndex, looks_like_json
from .labels import prose_label
from .tables import Table

_NEAR = 50  # characters in which a word may stand beside a value
_WORD = re.compile(r"[A-Za-z]{3,}|[\u4e00-\u9fff]+")


class Origin:
    """A text that was read; the label of a value is its JSON path or the words around it."""

    __slots__ = ("_json", "_looked", "table", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.table: Table | None = None
        self._json: JsonIndex | None = None
        self._looked = False

    def label(self, span: tuple[int, int]) -> str:
        """The words that say what the value at `span` measures."""
        if not self._looked:
            self._looked = True
            self._json = JsonIndex(self.text) if looks_like_json(self.text) else None
        if self._json is not None:
            path = self._json.path(span[0])
            if path:
                return path
        return prose_label(self.text, span)

    def nearest_word(self, span: tuple[int, int]) -> str:
        """The word of the line that stands nearest before the value at `span`, or else after it, and is not in it."""
        text, (start, end) = self.text, span
        own = text[start:end].lower()
        before = text[max(text.rfind("\n", 0, start) + 1, start - _NEAR) : start]
        for word in reversed(_WORD.findall(before)):
            if word.lower() not in own:
                return word
        after = text[end : end + _NEAR].partition("\n")[0]
        return next((word for word in _WORD.findall(after) if word.lower() not in own), "")


class CellOrigin(Origin):
    """A cell of a table: row name and column heading are the label."""

    __slots__ = ("heading", "row", "row_number")

    def __init__(self, text: str, table: Table, row: str, heading: str, row_number: int) -> None:
        super().__init__(text)
        self.table = table
        self.row = row
        self.heading = heading
        self.row_number = row_number

    def label(self, span: tuple[int, int]) -> str:
        inside = self.text[span[0] : span[1]]
        return " ".join(w for w in (self.row if self.row != inside else "", self.heading) if w)
