"""The subject of the demo's research: hydropower stations, and the two quantities that are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from .reading import NUMBER, Quantity, find, written

CAPACITY = Quantity(
    "installed capacity|总装机容量",
    {"MW": Decimal(1), "GW": Decimal(1000), "万千瓦": Decimal(10)},
)
GENERATION = Quantity(
    "average annual generation|多年平均发电量",
    {"TWh": Decimal(1), "GWh": Decimal("0.001"), "亿千瓦时": Decimal("0.1")},
)
QUANTITIES = (CAPACITY, GENERATION)

EN = (
    "Itaipu",
    "Hoover Dam",
    "Grand Coulee",
    "Glen Canyon",
    "Robert-Bourassa",
    "Churchill Falls",
    "Krasnoyarsk",
    "Sayano-Shushenskaya",
    "Aswan High Dam",
    "Three Gorges (三峡)",
    "Baihetan (白鹤滩)",
    "Xiluodu (溪洛渡)",
    "Wudongde (乌东德)",
    "Xiangjiaba (向家坝)",
)
ZH = ("三峡", "白鹤滩", "溪洛渡", "乌东德", "向家坝")

_RECORD = re.compile(rf"(?P<name>[^;:\n|]+?): (?P<mw>{NUMBER}) MW, (?P<twh>{NUMBER}) TWh, (?P<percent>{NUMBER}) %")


@dataclass(frozen=True, slots=True)
class Record:
    """What is found out about a station: MW, TWh a year, and the capacity factor in percent."""

    name: str
    capacity: Decimal
    generation: Decimal
    factor: Decimal

    def __str__(self) -> str:
        return f"{self.name}: {written(self.capacity)} MW, {written(self.generation)} TWh, {self.factor} %"


def subject(name: str) -> str:
    """A pattern for a station in texts of either language: `Three Gorges (三峡)` gives `Three Gorges|三峡`."""
    return "|".join(re.escape(part.strip()) for part in re.split(r"[()（）]", name) if part.strip())


def figures(name: str, text: str) -> tuple[Decimal | None, Decimal | None]:
    """A station's capacity in MW and generation in TWh as a text gives them; None for what it does not give."""
    return find(CAPACITY, subject(name), text), find(GENERATION, subject(name), text)


def records(text: str) -> dict[str, Record]:
    """The records that a text holds, by the station's name; the last one where a name comes twice."""
    return {
        match["name"].strip(" >-•*"): Record(
            match["name"].strip(" >-•*"), *(Decimal(match[part].replace(",", "")) for part in ("mw", "twh", "percent"))
        )
        for match in _RECORD.finditer(text)
    }


def computed(name: str, document: str) -> Record:
    """The record that follows from a station's document alone: what a right answer must say.

    Raises:
        ValueError: the document does not give both figures.
    """
    capacity, generation = figures(name, document)
    if capacity is None or generation is None:
        raise ValueError(f"the document on {name} does not give installed capacity and average annual generation")
    return Record(name, capacity, generation, factor(capacity, generation))


def factor(capacity: Decimal, generation: Decimal) -> Decimal:
    """The capacity factor in percent, to one decimal place: output over capacity times the year's 8,760 hours."""
    return (generation * 1000 / (capacity * Decimal("8.76")) * 100).quantize(Decimal("0.1"), ROUND_HALF_UP)


def table(found: Iterable[Record]) -> str:
    """Records as the lines of a list."""
    return "\n".join(f"- {record}" for record in found)
