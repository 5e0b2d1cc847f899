"""The stand-in's own simple reading of figures, apart from the library's, so that the two can't share a fault."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

NUMBER = r"(?<![\d.,])\d[\d,]*(?:\.\d+)?"
_NOT_THERE = r"[^.。;；|\d]"  # between a label and its figure: neither another sentence nor another figure


@dataclass(frozen=True, slots=True)
class Quantity:
    """What to look for: the words it goes by (alternatives of a pattern), and its units, each in terms of the first."""

    labels: str
    units: Mapping[str, Decimal]

    @property
    def unit(self) -> str:
        """The unit in which figures are given back."""
        return next(iter(self.units))

    @property
    def figure(self) -> str:
        units = "|".join(re.escape(unit) for unit in sorted(self.units, key=len, reverse=True))
        return rf"(?P<number>{NUMBER})\s*(?P<unit>{units})(?![A-Za-z时])"


def find(quantity: Quantity, subject: str, text: str) -> Decimal | None:
    """The figure that the text gives for a subject (a pattern), in the quantity's first unit; the last one if several.

    `installed capacity of Itaipu is 14,000 MW`, `Itaipu: installed capacity 14,000 MW` and, as notes abbreviate it,
    `capacity Itaipu 14,000 MW` or `of Itaipu is 14,000 MW` are read: the unit tells what was measured.
    """
    label, who = f"(?:{quantity.labels})", f"(?:{subject})"
    labelled = (
        rf"{label}{_NOT_THERE}{{0,12}}{who}{_NOT_THERE}{{0,40}}?{quantity.figure}",
        rf"{who}{_NOT_THERE}{{0,12}}{label}{_NOT_THERE}{{0,20}}?{quantity.figure}",
    )
    last_word = quantity.labels.partition("|")[0].split()[-1]
    abbreviated = (rf"(?:of|{last_word}) {who}\W{{0,3}}(?:is\W)?{quantity.figure}",)
    for forms in (labelled, abbreviated):
        found = [match for form in forms for match in re.finditer(form, text, re.IGNORECASE)]
        if found:
            last = max(found, key=lambda match: match.start())
            return _decimal(last["number"]) * quantity.units[last["unit"]]
    return None


def find_after(pattern: str, unit: str, text: str) -> Decimal | None:
    """The figure with that unit that follows a pattern within its sentence; the last one if there are several."""
    found = re.findall(rf"(?:{pattern}){_NOT_THERE}{{0,80}}?({NUMBER})\s*(?:{unit})", text, re.IGNORECASE)
    return _decimal(found[-1]) if found else None


def numbers(text: str) -> list[Decimal]:
    """All figures in a text, in order."""
    return [_decimal(number) for number in re.findall(NUMBER, text)]


def last_number(text: str) -> Decimal | None:
    """The last figure in a text."""
    found = numbers(text)
    return found[-1] if found else None


def plain(value: Decimal) -> str:
    """A figure as a calculator takes it: `14000`, `91.8`."""
    return f"{value.normalize():f}"


def written(value: Decimal) -> str:
    """A figure as people read it: `14,000`, `91.8`."""
    return f"{value.normalize():,f}"


def _decimal(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))
