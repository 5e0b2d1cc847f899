"""The terms that the lexical side of recall compares: words, pairs of CJK characters, calendar dates."""

from __future__ import annotations

import re
import unicodedata

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_RUN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")

_MONTH_NAMES = "january february march april may june july august september october november december"
_FULL = {name: number for number, name in enumerate(_MONTH_NAMES.split(), 1)}
_MONTHS = _FULL | {name[:3]: number for name, number in _FULL.items()} | {"sept": 9}
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(?P<day>\d{1,2})"
_DATES = (
    re.compile(rf"(?<!\d)\d{{4}}\s*[-/.年]\s*(?P<month>\d{{1,2}})\s*[-/.月]\s*{_DAY}(?!\d)"),
    re.compile(rf"(?<!\d)(?P<month>\d{{1,2}})\s*月\s*{_DAY}(?!\d)"),
    re.compile(rf"\b(?P<month>{_NAME})\.?\s+{_DAY}(?:st|nd|rd|th)?\b", re.IGNORECASE),
    re.compile(rf"\b{_DAY}(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_NAME})\b", re.IGNORECASE),
)

# English words that carry grammar, not matter. Other languages need no list: what is frequent there is frequent
# in the store, and so weighs little.
_ENGLISH = (
    "a about after all also am an and any are as at be because been before being between both but by can could "
    "did do does doing during each few for from further had has have having he her here him his how i if in into "
    "is it its just me more most my no nor not of off on once only or other our out over own please same she "
    "should so some such than that the their them then there these they this those through to too under until up "
    "very was we were what when where which while who whom whose why will with would you your"
)
FUNCTION_WORDS = frozenset(_ENGLISH.split())


def terms(text: str) -> list[str]:
    """The terms of `text`, repeats kept.

    A run of CJK characters gives its overlapping pairs, as these scripts do not separate words; a run of one
    character gives itself. English plurals lose their ending (the S-stemmer of D. Harman, "How effective is
    suffixing?", JASIS 42(1), 1991). A date gives one more term, the same for "May 2nd", "2023-05-02" and
    "5月2日": month and day, as the year is often left out and is a word of its own where it is not.
    """
    text = unicodedata.normalize("NFKC", text)
    found = _dates(text)
    for run in _RUN.findall(text.casefold()):
        if not _IS_CJK.match(run):
            found.append(run if run in FUNCTION_WORDS else _singular(run))
        elif len(run) == 1:
            found.append(run)
        else:
            found += [run[at : at + 2] for at in range(len(run) - 1)]
    return found


def is_date(term: str) -> bool:
    return term.startswith("#")


def is_cjk(term: str) -> bool:
    return _IS_CJK.match(term) is not None


def count_cjk(text: str) -> int:
    """The number of CJK characters in `text`."""
    return 0 if text.isascii() else len(_IS_CJK.findall(text))


def fingerprint(text: str) -> str:
    """Equal for texts that differ only in case, spacing, punctuation or width of characters."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _dates(text: str) -> list[str]:
    found: list[str] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            month = _MONTHS.get(match["month"].lower()) or int(match["month"])
            day = int(match["day"])
            if 1 <= month <= 12 and 1 <= day <= 31:
                found.append(f"#{month:02d}-{day:02d}")
    return found


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if len(word) > 2 and word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word
