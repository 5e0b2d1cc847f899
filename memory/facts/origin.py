"""Where a fact came from, kept so that its label can be read when somebody asks for it."""

from __future__ import annotations

from .labels import prose_label


class Origin:
    """A text that was read; labels are taken from the words around a span."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def label(self, span: tuple[int, int]) -> str:
        """The words that say what the value at `span` measures."""
        return prose_label(self.text, span)
