"""Labels of prose: the words beside a value that say what was measured."""

from __future__ import annotations

import re

from .unit_reader import read_unit
from .word_lists import words

REACH = 70
MAX_WORDS = 4
MAX_CHINESE = 10
MAX_WORD = 24

_WORD = re.compile(r"[^\W\d_]+(?:[_'./-][^\W_]+)*|[^\W_]*_\w+|[\u3400-\u9fff]+")
_BREAK = re.compile(r"[.;!?:](?=\s)|[。；！？，、：|{}]|\d[\d.,]*(?:\s?[%°万亿]|\s?(?:[tmb]r?illion|thousand)\b)?")
_BEHIND = re.compile(rf"{_BREAK.pattern}|,(?=\s)|\b(?:and|but|or|while|versus|vs)\b")
_KEY_WORD = re.compile(r"\d+(?:[.:,-]\d+)*|\w(?:[\w.'/-]*\w)?")
_LINK = re.compile(r"[\s,/|~–()&+$€£¥-]*(?:(?:to|and|or|至|到|和)\s?)?[$€£¥-]?")
_SENTENCE = re.compile(r"[.;!?:,](?=\s)|[。；！？，、：|{}]")
_ASSIGNED = re.compile(r"(?<![\w/.-])([^\W\d][\w/.-]*)\s?[=<>≤≥≈~]{1,2}\s?$")
_TAG = re.compile(  # of HTML; the names of other elements are labels
    r"</?(?:div|span|p|b|i|u|em|strong|small|sup|sub|t[dhr]|li|[uo]l|d[tdl]|a|h[1-6]|br|code|pre|section|label|button)\b"
    r"[^<>]*(?:>|$)|^[^<>]*[\"'\w/]>"
)
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
    key = _key(before, breaks)
    if key:
        return key
    words = _since(before, breaks)
    assigned = _ASSIGNED.search(before)
    if assigned:
        return " ".join([*(word for word in words if word not in assigned[1]), assigned[1]][-MAX_WORDS:])
    if not words or (len(words) < 2 and behind[:1] == " " and behind[1:2].islower()):
        words = words[-1:] + _content(_BEHIND.split(behind, maxsplit=1)[0])[: 3 - len(words[-1:])]
    return " ".join(words[-MAX_WORDS:]) or _of_the_one_before(before, breaks)


def _key(before: str, breaks: list[re.Match[str]]) -> str:
    """The last words before a colon at the end, with the numbers among them: `Order 17`, `Population 2023`."""
    if not breaks or breaks[-1][0] not in ":：" or before[breaks[-1].end() :].strip(" \"'"):
        return ""
    part = _SENTENCE.split(before[: breaks[-1].start()])[-1]
    words = [word for word in _KEY_WORD.findall(part) if word[0].isdigit() or _content(word)][-MAX_WORDS:]
    return "" if all(word[0].isdigit() for word in words) else " ".join(words)


def _since(before: str, breaks: list[re.Match[str]]) -> list[str]:
    """The words since the last break; behind another figure, not its unit, and only those after the first comma."""
    if breaks and breaks[-1][0] in ":：" and not before[breaks[-1].end() :].strip(" \"'"):
        breaks = breaks[:-1]
    if not breaks:
        return _content(before)
    start = _end_of_figure(before, breaks[-1])
    comma = before.find(", ", start) if breaks[-1][0][0].isdigit() else -1
    return _content(before[comma + 1 if comma >= 0 else start :])


def _of_the_one_before(before: str, breaks: list[re.Match[str]]) -> str:
    """The label of the figure before, where no more than a comma or "to" stands in between: `load 0.45, 1.06`."""
    if not breaks or not breaks[-1][0][0].isdigit():
        return ""
    if not _LINK.fullmatch(before, _end_of_figure(before, breaks[-1])):
        return ""
    rest, earlier = before[: breaks[-1].start()], breaks[:-1]
    words = " ".join(_since(rest, earlier)[-MAX_WORDS:])
    return _key(rest, earlier) or words or _of_the_one_before(rest, earlier)


def _end_of_figure(before: str, last: re.Match[str]) -> int:
    end = last.end()
    start = end + before.startswith(" ", end)
    unit = read_unit(before, start) if last[0][0].isdigit() else None
    return unit.end if unit and before[start : unit.end].lower() not in _SMALL_WORDS else end


def _content(text: str) -> list[str]:
    """The words of a piece of text without small and overlong words; Chinese runs are cut short."""
    words = (w for w in _WORD.findall(text) if (1 < len(w) <= MAX_WORD or w > "⺀") and w.lower() not in _SMALL_WORDS)
    cut = (_CHINESE_TAIL.sub("", w).lstrip("的了")[-MAX_CHINESE:] if w > "⺀" else w for w in words)
    return [w for w in cut if w]
