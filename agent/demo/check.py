"""What a right answer to the demo's tasks must say, computed from the documents themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from .reading import numbers, written
from .stations import Record, computed, factor, subject


@dataclass(frozen=True, slots=True)
class Expected:
    """Figures that must stand beside a subject (a pattern), in one line of the answer."""

    about: str
    subject: str
    figures: tuple[Decimal, ...]

    def missing(self, answer: str) -> list[str]:
        """The figures that the lines about the subject do not give."""
        lines = [line for line in answer.splitlines() if re.search(self.subject, line, re.IGNORECASE)]
        given = {number for line in lines for number in numbers(line)}
        return [written(figure) for figure in self.figures if figure not in given]


def expected_comparison(names: Sequence[str], folder: Path) -> list[Expected]:
    """Each station's three figures, and those of all together."""
    found = [record_of(name, folder) for name in names]
    rows = [Expected(r.name, subject(r.name), (r.capacity, r.generation, r.factor)) for r in found]
    capacity = sum((r.capacity for r in found), Decimal(0))
    generation = sum((r.generation for r in found), Decimal(0))
    return [*rows, Expected("total", "total|合计", (capacity, generation, factor(capacity, generation)))]


def expected_followup(weak: str, strong: str, other: str, folder: Path) -> list[Expected]:
    """The gain in TWh, and its share of the third station's generation in percent."""
    small, large, third = (record_of(name, folder) for name in (weak, strong, other))
    at_other_factor = small.capacity * Decimal("8.76") / 1000 * large.factor / 100
    gain = _rounded(at_other_factor - small.generation)
    return [Expected("answer", ".", (gain, _rounded(gain / third.generation * 100)))]


def record_of(name: str, folder: Path) -> Record:
    """The record of a station, from the document whose title names it.

    Raises:
        ValueError: no document's title names it, or the document does not give both figures.
    """
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if re.search(subject(name), text.partition("\n")[0]):
            return computed(name, text)
    raise ValueError(f"no document in {folder} has {name} in its title")


def _rounded(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.1"), ROUND_HALF_UP)
