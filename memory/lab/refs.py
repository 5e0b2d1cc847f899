"""Refs of messages as contexts show them: `m21`, or inside a range, `m3-m31`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_REF = re.compile(r"([A-Za-z]+)(\d+)")
_RANGE = re.compile(r"\b([A-Za-z]+)(\d+)-\1(\d+)\b")


def shows_ref(texts: Iterable[str], ref: str) -> bool:
    """Whether one of the texts names a ref, alone or as part of a range."""
    if not ref:
        return False
    alone, parts = re.compile(rf"\b{re.escape(ref)}\b"), _REF.fullmatch(ref)
    return any(
        (ref in text and alone.search(text)) or (parts and _in_range(text, parts[1], int(parts[2]))) for text in texts
    )


def _in_range(text: str, letters: str, number: int) -> bool:
    if f"-{letters}" not in text:
        return False
    return any(found[1] == letters and int(found[2]) <= number <= int(found[3]) for found in _RANGE.finditer(text))
