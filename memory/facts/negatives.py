"""Digits that count nothing: telephone numbers, list numbers, footnote marks."""

from __future__ import annotations

import re

_PHONE = re.compile(
    r"\+\d{1,3}[\s.(-]{0,3}\d[\d\s().-]{5,17}\d(?![\d.]*\w)"
    r"|\(\+?\d{2,4}\)[\s/-]{0,2}\(?\d{1,5}\)?[\s.-]?\d{3,5}(?:[\s.-]?\d{3,5})?(?!\d)"
    r"|\d{1,3}[-.\s]?\(\d{2,4}\)[-.\s]{0,2}\d{3,4}[-.\s]?\d{3,4}(?!\d)"
    r"|\d{3}[-.]\d{3}[-.]\d{4}(?!\d)|\d{3}-\d{2}-\d{4}(?!\d)|\d{3,4}-\d{3,4}-\d{3,4}(?!\d)|0\d{2,3}-\d{7,8}(?!\d)"
    r"|1[3-9]\d{9}(?!\d)|\d{4}[- ]\d{4}[- ]\d{4}[- ]\d{4}(?!\d)"
    r"|\d{3} \d{3} \d{4}(?!\d)|\d{5}-\d{4}(?!\d)|\d{3}-\d{4}(?!\d)"
)
_PHONE_GAPS = str.maketrans("", "", "-. (")
_PHONE_LIKE = re.compile(
    r"(?:\s?(?:number|no\.?|号码?|num))?\s?(?:is|are|:|=|是|为|at|to|me|us)?[\s:]{0,3}(?P<number>[+(]?[\d(][\d\s()./+-]{4,22}\d(?:\s?(?:ext\.?|x|X)\s?\d{1,6})?)(?![a-zA-Z0-9_])"
)


def phone_at(text: str, at: int, end: int, floor: int) -> tuple[int, int] | None:
    """The span of a telephone or card number whose first digit stands at `at`."""
    start = at
    while start > floor and text[start - 1] in "+(":
        start -= 1
    if start == at and not (
        (text[at : at + 3].isdigit() or "(" in text[at + 1 : at + 5])
        and text[at : at + 12].translate(_PHONE_GAPS)[:7].isdigit()
    ):
        return None
    match = _PHONE.match(text, start, end)
    if match is None:
        return None
    digits = sum(c.isdigit() for c in match[0])
    if digits < 7 or digits > 19:
        return None
    return match.span()


def phone_after(text: str, pos: int, end: int) -> tuple[int, int] | None:
    """The span of the number that follows a word such as "phone" or 电话 within a few characters."""
    match = _PHONE_LIKE.match(text, pos, min(end, pos + 60))
    if match is None or sum(c.isdigit() for c in match["number"]) < 6:
        return None
    return match.span("number")


def bracket_note(text: str, at: int, stop: int, floor: int) -> bool:
    """Whether "[12]" directly after a word or number is a footnote mark (or an index)."""
    if text[stop : stop + 1] not in ("]", ",", "–", "-"):
        return False
    return at - 2 >= floor and (text[at - 2].isalnum() or text[at - 2] in ".,)]\"'%")


def list_number(text: str, at: int, stop: int, floor: int) -> bool:
    """Whether a number at the start of a line only counts the lines: "3. ", "12)", "66:", "1257-"."""
    line = text.rfind("\n", max(floor, at - 12), at) + 1
    if line == 0:
        line = floor if at - floor <= 12 else -1
    if line < 0 or text[line:at].strip(" \t-*(#|>"):
        after = text[stop : stop + 2]
        return (
            after[:1] == ")"
            and after[1:2] in " "
            and text[at - 1 : at] in (" ", "")
            and text[at:stop].isdigit()
            and int(text[at:stop]) < 30
            and text.rfind("(", max(floor, at - 60), at) <= text.rfind(")", max(floor, at - 60), at)
        )
    while stop > at and text[stop - 1] in ".:-":
        stop -= 1
    if not text[at:stop].isdigit():
        return False
    rest = text[stop : stop + 2]
    if rest[:1] == ".":
        return len(rest) > 1 and rest[1].isspace() and stop - at <= 3
    if rest[:1] == ":":
        return True
    if rest[:1] == "-":
        return len(rest) == 1 or (not rest[1].isdigit() and (rest[1].isspace()))
    return rest[:1] == ")" and len(rest) > 1 and rest[1].isspace() and stop - at <= 3
