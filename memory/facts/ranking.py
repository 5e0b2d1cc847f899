"""What to carry forward first: the sum of what a fact is worth and how it stands in the run, higher is sooner."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from .fact import Fact, Kind

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


def words_of(text: str) -> frozenset[str]:
    """The words of a text that a match may count, in lower case."""
    return frozenset(w.lower() for w in WORD.findall(text))


def worth(fact: Fact, about: int, crowd: int) -> float:
    """What a fact is worth by itself: its kind, and how many words of the task (`about`) stand in it.

    An observation with thousands of values (`crowd`) gives each of them less weight, so that a log or a listing does
    not drown a single order number. The key of a JSON object is the name of a value, not one.
    """
    weight = KIND_WEIGHT[fact.kind]
    if fact.kind == "quantity" and fact.unit is not None:
        weight = 0.8
    elif fact.kind == "quantity" and len(fact.text) < 3:
        weight = 0.15
    rarity = 1.0 / (1.0 + math.log1p(crowd / 40))
    return 1.2 * min(about, 3) + weight * rarity - (KEY_PENALTY if _is_key(fact) else 0.0)


@lru_cache(maxsize=1 << 16)
def recency(age: int) -> float:
    """What is added for being seen or used `age` observations and actions ago."""
    return 1.5 * 0.5 ** (age / RECENCY_HALF_LIFE)


def repetition(seen: int) -> float:
    """What is added for standing in `seen` observations."""
    return 0.4 * math.log(seen) if seen > 1 else 0.0


def use(times: int) -> float:
    """What is added for use in so many actions: it counts most."""
    return 1.5 * min(times, 4)


def _is_key(fact: Fact) -> bool:
    return fact.origin is not None and not fact.is_figure and fact.origin.text.startswith('":', fact.span[1])
