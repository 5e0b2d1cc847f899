"""Writes facts compactly: one line a source, values exactly as they stood, a word or two of label."""

from __future__ import annotations

from collections.abc import Iterable

from .entries import Entry
from .fact import Fact
from .shelves import Item

MAX_LABEL = 26
NEAR = 50
"""Characters within which two facts of one line stand together."""


def estimate(text: str) -> int:
    """A cautious token count without a tokenizer: three characters a token, one for each Chinese character."""
    wide = sum(1 for c in text if c > "⺀")
    return (len(text) - wide) // 3 + wide + 1


def short_label(label: str) -> str:
    """The end of a long label: the last steps of a path, the last words of a phrase."""
    if len(label) <= MAX_LABEL:
        return label
    tail = label[-MAX_LABEL:]
    for mark in (".", " "):
        head, found, rest = tail.partition(mark)
        if found and rest and len(head) < MAX_LABEL - 3:
            return rest
    return tail


def say(entry: Entry) -> tuple[str, str]:
    """The short label, and all of it: `total 1,250.00 USD (was 1,190.00 USD; ≠ m4 1,200)`."""
    if entry.said is None:
        fact, older = entry.fact, entry.older
        notes = [f"was {older[-1].text}"] if older else []
        notes.extend(f"≠ {other.source} {other.text}" for other in entry.disagrees[-2:])
        own = short_label(fact.label)
        label = "" if fact.text in fact.label else own
        note = f" ({'; '.join(notes)})" if notes else ""
        entry.said = own, f"{label} {fact.text}{note}".strip()
    return entry.said


def written(group: list[Item]) -> str:
    """The line of one source: its ref, the call that it answered, and what the items say, each value once."""
    named = next((item for item in group if item.entry.call), group[0])
    group.sort(key=_place)
    return f"{beginning(named)}: {'; '.join(_parts(group))}"


def beginning(item: Item) -> str:
    """What the line of an item's source begins with: its ref, and the tool that was called."""
    return f"{item.fact.source or ''} {item.entry.call or ''}".rstrip()


def _place(item: Item) -> tuple[int, int]:
    return item.fact.span


def _parts(group: list[Item]) -> Iterable[str]:
    """What the items say; a label that the item before already gave is not repeated."""
    parts: dict[str, None] = {}
    label = ""
    near = False  # whether an item stands close behind the one before it
    for at, item in enumerate(group):
        fact = item.fact
        behind, near = near, at + 1 < len(group) and _together(fact, group[at + 1].fact)
        if item.line:
            parts[item.line] = None
            label = ""
        elif fact.is_figure:
            own, words = say(item.entry)
            parts[words.removeprefix(own + " ") if own and own == label else words] = None
            label = own
        else:
            parts[fact.text if behind or near else f"{fact.nearest_word} {fact.text}".strip()] = None
    return parts


def _together(one: Fact, other: Fact) -> bool:
    """Whether two facts stand close together in one line of their text: then each tells what the other is."""
    first, second = one.origin, other.origin
    if first is None or second is None or other.span[0] - one.span[1] >= NEAR or first.text is not second.text:
        return False
    return "\n" not in first.text[one.span[1] : other.span[0]]
