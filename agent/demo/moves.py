"""The calls that the stand-in makes, and what it reads off their results."""

from __future__ import annotations

import re
from typing import Any

Call = tuple[str, dict[str, Any]]

_DOCUMENT = re.compile(r"[\w-]+\.md")
_PAGE = re.compile(r"lookup (m\d+)(?:, page (\d+))?")


def search(query: str) -> Call:
    return "search", {"query": query}


def fetch(document: str) -> Call:
    return "fetch", {"document": document}


def calculate(expression: str) -> Call:
    return "calculator", {"expression": expression}


def lookup(ref_or_words: str) -> Call:
    return "lookup", {"query": ref_or_words}


def save_note(text: str) -> Call:
    return "save_note", {"text": text}


def document_on(subject: str, results: str) -> str | None:
    """The document that search results name for a subject (a pattern): the next one after a mention, or the first."""
    mention = re.search(subject, results, re.IGNORECASE)
    after = _DOCUMENT.search(results, mention.start()) if mention else None
    first = after or _DOCUMENT.search(results)
    return first[0] if first else None


def place_to_read_on(shown: str) -> Call | None:
    """The look-up that a shortened observation offers for its whole text, if it was shortened."""
    places = _PAGE.findall(shown)
    return lookup(places[-1][0]) if places else None
