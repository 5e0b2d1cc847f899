"""Facts that rules cannot see, read by a model and believed only where the text itself says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from .fact import Fact, Kind

Ask = Callable[[Sequence[Mapping[str, str]]], str]

_KINDS: frozenset[str] = frozenset({"name", "identifier", "quantity", "date"})
_LIST = re.compile(r"\[.*\]", re.DOTALL)
_PROMPT = (
    "List what this text states that later steps of the task may need and that plain rules would miss: names, "
    "decisions, conclusions. Answer with a JSON list of objects with the keys label, value and quote. "
    "Each quote is copied letter by letter from the text and holds the value. An empty list is a good answer.\n\n"
)


class ModelExtractor:
    """Asks a model for facts; `ask` maps chat messages to the reply's text.

    Every fact comes with a quote. A quote that does not stand in the text, letter by letter, or that does not hold
    the value, is dropped: `refused` keeps these, with the reason.
    """

    def __init__(self, ask: Ask, *, limit: int = 12_000) -> None:
        self._ask = ask
        self._limit = limit
        self.refused: list[tuple[str, str]] = []

    def extract(self, text: str, *, source: str) -> list[Fact]:
        """The facts of the first `limit` characters of `text`; a reply that is no JSON list gives none.

        Raises what `ask` raises.
        """
        reply = self._ask([{"role": "user", "content": _PROMPT + text[: self._limit]}])
        facts: list[Fact] = []
        for row in _rows(reply):
            fact = self._checked(row, text, source)
            if fact is not None:
                facts.append(fact)
        return facts

    def _checked(self, row: Mapping[str, object], text: str, source: str) -> Fact | None:
        label, value, quote = (str(row.get(name) or "").strip() for name in ("label", "value", "quote"))
        place = text.find(quote) if quote else -1
        if place < 0:
            self.refused.append((value, "the quote does not stand in the text"))
            return None
        inside = quote.find(value) if value else -1
        if inside < 0:
            self.refused.append((value, "the quote does not hold the value"))
            return None
        start = place + inside
        kind = row.get("kind")
        kind = cast("Kind", kind) if kind in _KINDS else "name"
        return Fact(kind, value, (start, start + len(value)), source=source, label=label)


def _rows(reply: str) -> list[Mapping[str, object]]:
    match = _LIST.search(reply)
    if match is None:
        return []
    try:
        data: object = json.loads(match[0])
    except (ValueError, RecursionError):
        return []
    rows = cast("list[object]", data) if isinstance(data, list) else []
    return [cast("Mapping[str, object]", row) for row in rows if isinstance(row, dict)]
