"""Labels of prose: the words beside a value that say what was measured."""

from __future__ import annotations

import re

from .word_lists import words

REACH = 70
MAX_WORDS = 4
MAX_CHINESE = 10
MAX_WORD = 24

_WORD = re.compile(r"[^\W\d_]+(?:[_'./-][^\W_]+)*|[^\W_]*_\w+|[\u3400-\u9fff]+")
_BREAK = re.compile(r"[.;!?:](?=\s)|[。；！？，、：|{}]|\d[\d.,]*(?:\s?[%°])?")
_KEY_WORD = re.compile(rf"\d+(?:[.:,-]\d+)*|{_WORD.pattern}")
_SENTENCE = re.compile(r"[.;!?:,](?=\s)|[。；！？，、：|{}]")
_ASSIGNED = re.compile(r"(?<!\w)([^\W\d]\w*)\s?[=<>≤≥≈~]{1,2}\s?$")
_TAG = re.compile(r"<[^<>]*>|^[^<>]*>|<[^<>]*$")
_SMALL_WORDS = words("small")
_CHINESE_TAIL = re.compile(r"(?:截[至止]|直[至到]|(?<![理自])由|(?<![送抵到])达|[的为是在了和与有约到共至仅已从])+$")


def prose_label(text: str, span: tuple[int, int]) -> str:
    """At most four words that stand on the same line beside `span`: before it, or else behind it.

    >>> prose_label("Cash flow was $48 million", (14, 25))
    'Cash flow'
    """
    start, end = span
    line = max(text.rfind("\n", max(0, start - REACH), start) + 1, start - REACH, 0)
    before, behind = text[line:start], text[end : end + REACH // 2].split("\n", 1)[0]
    if "<" in before or "<" in behind:
        before, behind = _TAG.sub(" ", before), _TAG.sub(" ", behind)
    breaks = list(_BREAK.finditer(before))
    if breaks and breaks[-1][0] in ":：" and not before[breaks[-1].end() :].strip(" \"'"):
        key = _key(before[: breaks.pop().start()])
        if key:
            return key
    words = _content(before[breaks[-1].end() :] if breaks else before)
    assigned = _ASSIGNED.search(before)
    if assigned and assigned[1] not in words:
        words.append(assigned[1])
    first = _BREAK.search(behind)
    if not words or (len(words) < 2 and behind[:1] == " " and behind[1:2].islower()):
        words = words[-1:] + _content(behind[: first.start()] if first else behind)[: 3 - len(words[-1:])]
    return " ".join(words[-MAX_WORDS:])


def _key(before: str) -> str:
    """The last words before a colon, with the numbers among them: `Order 17`, `Population (2023)`; words must be there.

    >>> _key("Population (2023)")
    'Population 2023'
    """
    part = _SENTENCE.split(before)[-1]
    words = [w for w in _KEY_WORD.findall(part) if w[0].isdigit() or _content(w)]
    return " ".join(words[-MAX_WORDS:]) if any(not w[0].isdigit() for w in words[-MAX_WORDS:]) else ""


def _content(text: str) -> list[str]:
    """The words of a piece of text without small and overlong words; Chinese runs are cut short."""
    words = (w for w in _WORD.findall(text) if (1 < len(w) <= MAX_WORD or w > "⺀") and w.lower() not in _SMALL_WORDS)
    cut = (_CHINESE_TAIL.sub("", w)[-MAX_CHINESE:] if w > "⺀" else w for w in words)
    return [w for w in cut if w]
