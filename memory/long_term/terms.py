"""The terms that the lexical side of recall compares: words, pairs of CJK characters, calendar dates."""

from __future__ import annotations

import re
import unicodedata

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_RUN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")


def terms(text: str) -> list[str]:
    """The terms of `text` in order, repeats kept.

    A run of CJK characters gives its overlapping pairs, as these scripts do not separate words; a run of one
    character gives itself.
    """
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if not _IS_CJK.match(run):
            found.append(run)
        elif len(run) == 1:
            found.append(run)
        else:
            found += [run[at : at + 2] for at in range(len(run) - 1)]
    return found
