"""Whether an embedding model can read a text, learnt from its vectors alone: a server shows no tokenizer.

A model puts one and the same token in the place of every word that its vocabulary lacks, so such a word gets the
vector of a sign that is in no vocabulary. This needs no list of languages and no scale: two vectors are equal or not.
What it cannot notice is a script whose letters the model has one by one, without knowing its words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from .terms import is_cjk

if TYPE_CHECKING:
    from .embedders import Vectors

# A letter of Linear A. Nobody has deciphered it, so there is no text from which a model could have learnt it.
UNREAD = "\U00010600"
# Vectors of length 1 that are nearer than this are one. In the models of docs/long-term.md unknown words lie at 0.0000
# from the unread sign, known ones at 0.33 and more.
SAME = 0.05
# A script is judged by the first so many distinct words that are met in it, at most so many of them in one request.
JUDGED, AT_ONCE = 64, 16


class Legibility:
    """What a model can read of each script, learnt while it is asked and kept.

    Args:
        embed: gives vectors of length 1, float32, shape (len(texts), dimension).
    """

    def __init__(self, embed: Callable[[Sequence[str]], Vectors]) -> None:
        self._embed = embed
        self._read: dict[str, dict[str, bool]] = {}  # script -> word -> whether the model has it

    def share(self, text: str) -> float:
        """Share of the words of `text` that the model can read, in [0, 1]; 1 for a text without words.

        Each word counts with the share that was read of all words met in its script. Of CJK scripts, which do not
        separate words, each character is one.
        """
        words = _words(text)
        self._learn(words)
        read = 0.0
        for script, met in words.items():
            judged = self._read[script]
            read += len(met) * sum(judged.values()) / len(judged)
        return read / sum(map(len, words.values())) if words else 1.0

    def _learn(self, words: dict[str, list[str]]) -> None:
        asked: list[tuple[str, str]] = []
        for script, met in words.items():
            judged = self._read.get(script, {})
            fresh = [word for word in dict.fromkeys(met) if word not in judged]
            room = max(0, JUDGED - len(judged))
            asked += [(script, word) for word in fresh[: min(AT_ONCE, room)]]
        if not asked:
            return
        vectors = self._embed([UNREAD, *(word for _, word in asked)])
        apart = np.linalg.norm(vectors[1:] - vectors[0], axis=1)
        for (script, word), distance in zip(asked, apart, strict=True):
            # A new dictionary each time: another thread may be reading the old one.
            self._read[script] = self._read.get(script, {}) | {word: bool(distance > SAME)}


def _words(text: str) -> dict[str, list[str]]:
    """The words of `text` by script; of CJK scripts the characters."""
    found: dict[str, list[str]] = {}
    for letters in re.findall(r"[^\W\d_]+", text):
        for script, group in groupby(letters, key=_script):
            word = "".join(group)
            found.setdefault(script, []).extend(word if is_cjk(word) else [word])
    return found


def _script(letter: str) -> str:
    """The first word of a letter's name in Unicode, which is its script's: LATIN, CJK, CYRILLIC."""
    return unicodedata.name(letter, "").partition(" ")[0]
