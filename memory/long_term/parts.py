"""Long texts are embedded in parts: a model reads only its first few hundred tokens, and says nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .embedders import Embedder, Vectors, embed_checked, unit_length
from .outcome import Outcome
from .terms import count_cjk

# MiniLM reads 256 word pieces: about 200 CJK characters, or 800 others.
PART = 800
_CJK_COST = 4
# Outcomes embedded and stored at a time: a kill loses at most so many that were not acknowledged.
BATCH = 256
# A text of any length costs no more than so many embeddings; they are spread evenly over it.
MAX_PARTS = 16


def split(text: str) -> list[str]:
    """Pieces of `text` that a model reads whole, cut at white space where there is some; at least one."""
    pieces: list[str] = []
    piece, cost = "", 0
    for word in re.findall(r"\s+|[^\s]{1,50}", text):
        price = len(word) + (_CJK_COST - 1) * count_cjk(word)
        if cost + price > PART and piece.strip():
            pieces.append(piece.strip())
            piece, cost = "", 0
        piece += word
        cost += price
    if piece.strip() or not pieces:
        pieces.append(piece.strip())
    if len(pieces) <= MAX_PARTS:
        return pieces
    return [pieces[round(at)] for at in np.linspace(0, len(pieces) - 1, MAX_PARTS)]


def search_text(outcome: Outcome) -> str:
    """All that an outcome is found by."""
    return "\n".join(part for part in outcome.texts() if part.strip())


def embed_query(embedder: Embedder, goal: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The vector of a new task: that of its beginning, where people say what they want."""
    return embed_checked(embedder, [split(goal)[0]])[0]


def embed_outcomes(embedder: Embedder, outcomes: Sequence[Outcome]) -> list[Vectors]:
    """One or two vectors an outcome, shape (1 or 2, dimension): how its goal begins, and the mean of all parts.

    A new task is worded like an old goal, so the goal has a vector of its own; what else the outcome tells is in
    the second. On the development sets the mean of all parts beats the best of them, and the beginning alone
    beats both on records that open with what they are about.
    """
    texts: list[str] = []
    spans: list[tuple[int, int]] = []
    for outcome in outcomes:
        whole = split(search_text(outcome))
        lead = split(outcome.goal)[0] if outcome.goal.strip() else whole[0]
        start = len(texts)
        texts += [lead] if whole == [lead] else [lead, *whole]
        spans.append((start, len(texts)))
    vectors = embed_checked(embedder, texts)
    return [_lead_and_mean(vectors[start:end]) for start, end in spans]


def _lead_and_mean(vectors: Vectors) -> Vectors:
    if len(vectors) == 1:
        return vectors
    return np.concatenate([vectors[:1], unit_length(vectors[1:].mean(axis=0, keepdims=True))])
