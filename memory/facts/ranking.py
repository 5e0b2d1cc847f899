"""What to carry forward first: one score for each entry of the store, higher is sooner."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .fact import Kind

WORD = re.compile(r"[A-Za-z][a-z]{2,}|[A-Z]{3,}|[\u4e00-\u9fff]|\d{3,}")

KIND_WEIGHT: dict[Kind, float] = {
    "identifier": 1.0,
    "path": 0.9,
    "email": 1.0,
    "url": 0.7,
    "money": 1.0,
    "quantity": 0.45,
    "percent": 0.7,
    "duration": 0.7,
    "date": 0.6,
    "time": 0.4,
    "name": 0.2,
}
RECENCY_HALF_LIFE = 60.0
"""Observations after which a fact's recency counts half."""
KEY_PENALTY = 1.5


@dataclass(slots=True)
class Standing:
    """What the score looks at: the fact's kind and text, how often and when it was seen and used."""

    kind: Kind
    text: str
    has_unit: bool
    age: int
    """Observations since it was last seen or used."""
    seen: int
    """In how many observations."""
    used: int
    """In how many later actions."""
    about: int
    """How many words of the task stand in its text or label."""
    crowd: int
    """How many facts came with the same observation."""
    is_key: bool
    """Whether it is a key of a JSON object: the name of a value, not one."""


def words_of(text: str) -> frozenset[str]:
    """The words of a text that a match may count, in lower case."""
    return frozenset(w.lower() for w in WORD.findall(text))


def score(standing: Standing) -> float:
    """Use in an action counts most, then the task's words, recency, repetition and kind.

    An observation with thousands of values gives each of them less weight, so that a log or a listing
    does not drown a single order number.
    """
    recency = 0.5 ** (standing.age / RECENCY_HALF_LIFE)
    weight = KIND_WEIGHT[standing.kind]
    if standing.kind == "quantity" and standing.has_unit:
        weight = 0.8
    if standing.kind == "quantity" and not standing.has_unit and len(standing.text) < 3:
        weight = 0.15
    rarity = 1.0 / (1.0 + math.log1p(standing.crowd / 40))
    return (
        1.5 * min(standing.used, 4)
        + 1.2 * min(standing.about, 3)
        + 1.5 * recency
        + 0.4 * math.log1p(standing.seen - 1 if standing.seen > 1 else 0)
        + weight * rarity
        - (KEY_PENALTY if standing.is_key else 0.0)
    )
