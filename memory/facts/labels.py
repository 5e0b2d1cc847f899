"""Labels of prose: the words beside a value that say what was measured."""

from __future__ import annotations


def prose_label(text: str, span: tuple[int, int]) -> str:
    """A short label from the words around `span`."""
    return " ".join(text[max(0, span[0] - 30) : span[0]].split()[-4:])
