"""Reading again what has left the context."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping

from .facts import WorkingFacts
from .messages import Message
from .tokens import TokenCounter

TOOL = "lookup"  # the tool's name: what it brings back is no new observation
LEAST_PAGE, MOST_PAGE = 120, 1500  # tokens
_MATCHES = 5
_FIGURES = 8
_PASSAGE = 320  # characters
_ECHO = 200  # characters of a question that found nothing
_PLACES = 40  # occurrences of one word that are looked at
_REF = re.compile(r"\s*\[?(m\d+)\]?\s*")
_WORD = re.compile(r"[A-Za-z0-9_]{2,}|[\u4e00-\u9fff]+")


def read_again(
    messages: Mapping[str, Message], reread: Collection[str], facts: WorkingFacts, asked: str, page: int, size: int
) -> str:
    """The text of a message, a page of about `size` tokens of it, or the best passages for some words.

    `reread` are the refs of earlier look-ups: they are not searched, they hold nothing of their own.
    """
    size = min(max(size, LEAST_PAGE), MOST_PAGE)
    ref = _REF.fullmatch(asked)
    if ref is None:
        return _search(messages, reread, facts, asked, size)
    message = messages.get(ref.group(1))
    if message is None:
        return f"There is no {ref.group(1)}: refs go from m1 to m{len(messages)}. Give a ref, or words to search for."
    text = "\n".join([message.outline, *(f"{call.name}({call.arguments})" for call in message.tool_calls)]).strip()
    return _page(text, ref.group(1), max(page, 1), size) if text else f"{ref.group(1)} holds no text."


def _page(text: str, ref: str, page: int, size: int) -> str:
    """One page; a page ends at a line's end where that leaves it not much shorter."""
    counter, at, shown = TokenCounter(), 0, ""
    for number in range(1, page + 1):
        shown = counter.truncate(text[at:], size)
        cut = shown.rfind("\n") + 1
        if at + len(shown) < len(text) and cut > len(shown) // 2:
            shown = shown[:cut]
        if not shown and number > 1:
            return f"{ref} has {number - 1} page(s); page {page} is not one of them."
        at += len(shown)
    return shown if at >= len(text) else f"{shown}\n[page {page}; next: lookup {ref}, page {page + 1}]"


def _search(
    messages: Mapping[str, Message], reread: Collection[str], facts: WorkingFacts, asked: str, size: int
) -> str:
    wanted = words(asked)
    scored: list[tuple[float, str]] = []
    for ref, message in messages.items():
        if ref in reread or message.role in ("system", "assistant"):
            continue
        text = message.text.lower()
        score = sum(1 + min(text.count(word), 5) / 10 for word in wanted if word in text)
        if score:
            scored.append((score, ref))
    scored.sort(key=lambda s: -s[0])
    found = [f"{ref}: {_passage(messages[ref].text, wanted)}" for _, ref in scored[:_MATCHES]]
    figures = [f"{fact.source}: {fact.label} {fact.text}" for fact in facts.find(asked)[:_FIGURES]]
    if not found and not figures:
        return f"Nothing in this run holds {asked[:_ECHO]!r}. Give a ref such as m3, or other words."
    text = TokenCounter().truncate("\n".join([*figures, *found]), size)
    return f"{text}\n[read one whole by its ref, e.g. lookup {scored[0][1] if scored else 'm3'}]"


def words(text: str) -> set[str]:
    """The words to search for; of Chinese text every pair of neighbouring characters."""
    found: set[str] = set()
    for run in _WORD.findall(text.lower()):
        found |= {run} if run.isascii() or len(run) == 1 else {run[i : i + 2] for i in range(len(run) - 1)}
    return found


def _passage(text: str, wanted: set[str]) -> str:
    """The stretch of the text that holds most of the words."""
    lowered = text.lower()
    places: list[tuple[int, str]] = []
    for word in wanted:
        at = lowered.find(word)
        for _ in range(_PLACES):
            if at < 0:
                break
            places.append((at, word))
            at = lowered.find(word, at + 1)
    places.sort()
    best, inside, first = (0, 0), Counter[str](), 0
    for at, word in places:
        inside[word] += 1
        while at - places[first][0] > _PASSAGE:
            inside[places[first][1]] -= 1
            first += 1
        best = max(best, (sum(n > 0 for n in inside.values()), -places[first][0]))
    start = max(0, -best[1] - _PASSAGE // 4)
    return " ".join(text[start : start + _PASSAGE + _PASSAGE // 4].split())
