"""The word lists of the grammar, from `words.json`: add a word there and a test."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import cast

PACKAGE = "carryforward.memory.facts"


def data(name: str) -> object:
    """The content of a JSON file of this package."""
    return json.loads(files(__package__ or PACKAGE).joinpath(name).read_text(encoding="utf-8"))


@cache
def _lists() -> dict[str, list[str]]:
    return cast("dict[str, list[str]]", data("words.json"))


def words(name: str) -> frozenset[str]:
    """The list of this name, such as "naming" (words before a number that is a name) or "months"."""
    return frozenset(_lists()[name])
