"""What a model call costs, by the list prices in `prices.toml`."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens of fresh input, cached input and output."""

    input: float
    cached: float
    output: float

    def cost(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars for one call; `cached_tokens` are those of the prompt that the provider had in its cache."""
        cached = min(cached_tokens, prompt_tokens)
        fresh = prompt_tokens - cached
        return (fresh * self.input + cached * self.cached + completion_tokens * self.output) / 1_000_000


_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4,8}|latest)$")


def price_of(model: str) -> Price | None:
    """The list price of a model, or None where it is not known.

    A provider in front (`openai/gpt-4o`) and a dated snapshot behind (`gpt-4o-2024-08-06`) are looked through.
    """
    name = model.rsplit("/", 1)[-1].lower()
    return _table().get(name) or _table().get(_SNAPSHOT.sub("", name))


@functools.cache
def _table() -> dict[str, Price]:
    text = (files(__package__ or "carryforward.agent") / "prices.toml").read_text("utf-8")
    entries = tomllib.loads(text)
    return {name: Price(entry["input"], entry["cached"], entry["output"]) for name, entry in entries.items()}
