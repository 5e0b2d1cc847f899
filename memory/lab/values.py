"""Values in a text: the numbers, identifiers and paths that an agent must get right to the letter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from ..messages import Message

SHORTEST = 5  # characters; shorter values turn up by chance

# Letters and digits, joined by what stands inside numbers, paths, dates, hosts and identifiers. A colon joins only
# digits (10:30:00), so that `file.py:12` is a file and a line.
_PIECE = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_]|[./@~-]+(?=[A-Za-z0-9_])|(?<=\d)[:,](?=\d))*", re.ASCII)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_TELLING = re.compile(r"[\d/_@]", re.ASCII)
_ACTION = re.compile(r"^[ \t]*(?:Action(?: Input)?|Final Answer)(?: \d+)?:(.*)", re.MULTILINE)


def values(text: str) -> set[str]:
    """The values of a text: at least five characters, one of them a digit or a separator (`/`, `_`, `@`).

    Thousands separators are taken out: `1,234,567` is 1234567. A list of digits without blanks (`12,345,6`) is taken
    apart at its commas.
    """
    found: set[str] = set()
    for piece in _PIECE.findall(text):
        parts = [piece.replace(",", "")] if _GROUPED.fullmatch(piece) else piece.split(",")
        for part in parts:
            if len(part) >= SHORTEST and _TELLING.search(part):
                found.add(part)
    return found


def used_text(message: Message) -> str:
    """What an assistant message acts on: its decoded tool arguments; without a call its `Action:` and
    `Final Answer:` lines, or, where it has none of these, the whole text."""
    if message.tool_calls:
        return "\n".join(text for call in message.tool_calls for text in leaves(call.arguments))
    text = message.text
    return "\n".join(_ACTION.findall(text)) or text


def shown_text(message: Message) -> str:
    """All text that a message shows to a model, with arguments both as written and decoded."""
    if not message.tool_calls:
        return message.text
    parts = [message.text]
    for call in message.tool_calls:
        parts += [call.name, call.arguments, *leaves(call.arguments)]
    return "\n".join(parts)


def leaves(arguments: str) -> Iterator[str]:
    """The single values of a call's JSON arguments as text; the text itself where it is not JSON."""
    try:
        parsed: Any = json.loads(arguments)
    except (ValueError, RecursionError):
        yield arguments
        return
    yield from _leaves(parsed)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in cast(dict[str, Any], value).values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in cast(list[Any], value):
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


class Searchable:
    """A text that is asked again and again whether it holds a value; each answer is remembered."""

    __slots__ = ("_answers", "_text", "_without_separators")

    def __init__(self, text: str) -> None:
        self._text = text
        self._without_separators: str | None = None
        self._answers: dict[str, bool] = {}

    def holds(self, value: str) -> bool:
        """Whether the value stands in the text, not as a part of a longer word or number."""
        answer = self._answers.get(value)
        if answer is None:
            answer = self._answers[value] = self._find(value)
        return answer

    def _find(self, value: str) -> bool:
        if _stands_in(value, self._text):
            return True
        if not value[0].isdigit() or "," not in self._text:
            return False
        if self._without_separators is None:
            self._without_separators = _THOUSANDS.sub("", self._text)
        return _stands_in(value, self._without_separators)


def _stands_in(value: str, text: str) -> bool:
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if not _joins(text, start - 1, -1) and not _joins(text, end, 1):
            return True
        start = text.find(value, start + 1)
    return False


def _joins(text: str, at: int, onward: int) -> bool:
    """Whether the character at an edge of a value makes it a part of something longer."""
    if not 0 <= at < len(text):
        return False
    sign = text[at]
    if sign == ".":  # a decimal point joins, the end of a sentence does not
        beyond, within = at + onward, at - onward
        return 0 <= beyond < len(text) and _is_digit(text[beyond]) and _is_digit(text[within])
    return sign == "_" or (sign.isascii() and sign.isalnum())


def _is_digit(sign: str) -> bool:
    return sign.isascii() and sign.isdigit()
