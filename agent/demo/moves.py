"""The calls that the stand-in makes, and what it reads off their results."""

from __future__ import annotations

import re
from typing import Any

Call = tuple[str, dict[str, Any]]

_NEXT = re.compile(r"page=(\d+)\) brings the next")
_HIT = re.compile(r"^\d+\. (?P<title>.+) \[(?P<document>[^\]\s]+)\]$", re.MULTILINE)


def search(query: str) -> Call:
    return "search", {"query": query}


def fetch(document: str, page: int = 1) -> Call:
    return "fetch", {"document": document, "page": page} if page > 1 else {"document": document}


def calculate(expression: str) -> Call:
    return "calculator", {"expression": expression}


def lookup(words: str) -> Call:
    return "lookup", {"ref_or_words": words}


def save_note(title: str, body: str) -> Call:
    return "save_note", {"title": title, "body": body}


def next_page(fetched: str) -> int | None:
    """The page that a fetched one says to go on with."""
    said = _NEXT.search(fetched)
    return int(said[1]) if said else None


def document_on(subject: str, results: str) -> str | None:
    """The document among search results whose title names a subject (a pattern); the first one if none does."""
    hits = list(_HIT.finditer(results))
    named = [hit for hit in hits if re.search(subject, hit["title"], re.IGNORECASE)]
    return (named or hits)[0]["document"] if hits else None
