"""Reading again what has left the context."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .facts import WorkingFacts
from .messages import Message

PAGE = 4000  # characters
_MATCHES = 5
_SNIPPET = 300  # characters
_REF = re.compile(r"\s*\[?(m\d+)\]?\s*")
_WORD = re.compile(r"[A-Za-z0-9_]{2,}|[\u4e00-\u9fff]{1,2}")


def read_again(messages: Mapping[str, Message], facts: WorkingFacts, ref_or_words: str, page: int) -> str:
    """The text of a message, a page of it, or the best places for some words."""
    ref = _REF.fullmatch(ref_or_words)
    if ref is None:
        return _search(messages, facts, ref_or_words)
    message = messages.get(ref.group(1))
    if message is None:
        last = f"m{len(messages)}"
        return f"There is no {ref.group(1)}: refs go from m1 to {last}. Give a ref, or words to search for."
    text = "\n".join([message.text, *(f"{call.name}({call.arguments})" for call in message.tool_calls)]).strip()
    pages = max(1, -(-len(text) // PAGE))
    if not 1 <= page <= pages:
        return f"{ref.group(1)} has {pages} page(s); page {page} is not one of them."
    shown = text[(page - 1) * PAGE : page * PAGE]
    return shown if pages == 1 else f"{shown}\n[page {page} of {pages}; next: lookup {ref.group(1)}, page {page + 1}]"


def _search(messages: Mapping[str, Message], facts: WorkingFacts, words: str) -> str:
    wanted = {word.lower() for word in _WORD.findall(words)}
    scored: list[tuple[int, str]] = []
    for ref, message in messages.items():
        text = message.text.lower()
        score = sum(word in text for word in wanted)
        if score and message.role != "system":
            scored.append((score, ref))
    scored.sort(key=lambda s: -s[0])
    found = [f"{ref}: {_around(messages[ref].text, wanted)}" for _, ref in scored[:_MATCHES]]
    figures = [f"{fact.source}: {fact.label} {fact.text}" for fact in facts.find(words)[:_MATCHES]]
    if not found and not figures:
        return f"Nothing in this run holds {words!r}. Give a ref such as m3, or other words."
    return "\n".join([*figures, *found, "[read one whole with its ref, e.g. lookup m3]"])


def _around(text: str, wanted: set[str]) -> str:
    """The stretch of the text that holds most of the words."""
    lowered = text.lower()
    places = [at for word in wanted if (at := lowered.find(word)) >= 0]
    best = max(places, key=lambda at: sum(at <= other < at + _SNIPPET for other in places), default=0)
    start = max(0, best - _SNIPPET // 4)
    return " ".join(text[start : start + _SNIPPET].split())
