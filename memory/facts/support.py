"""Support of figures: every figure of an answer is matched with what the run has read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from .extract import extract_facts
from .fact import Fact, Figure
from .units import convert, tables

EXACT = 1e-9
CLOSE = 0.05  # a figure that ends in zeros ("9,000 m") may be off by so much
COARSE = 0.2  # a figure of one or two digits ("3 %") may be off by so much
_SAME_MONEY: dict[str, frozenset[str]] = {
    "$": frozenset({"USD", "dollar", "CAD", "AUD", "HKD", "SGD", "NZD", "TWD", "MXN"}),
    "dollar": frozenset({"USD", "$", "CAD", "AUD", "HKD", "SGD", "NZD", "TWD"}),
    "¥": frozenset({"CNY", "JPY"}),
    "£": frozenset({"GBP", "pound"}),
    "pound": frozenset({"GBP", "£", "lb"}),
    "kr": frozenset({"SEK", "NOK", "DKK", "ISK"}),
}  # fmt: skip


class _Known(NamedTuple):
    """The numbers of one unit, by size."""

    sizes: list[float]
    facts: list[Fact]


def check_figures(text: str, facts: Iterable[Fact], also: Iterable[str] = ()) -> list[Figure]:
    """A verdict for every figure of `text`.

    `facts` are the facts of the run, `also` further texts that count as sources (the task, results of
    calculations). A figure is "supported" by an equal value, in another unit or scale or as a percentage;
    it is "rounded" where a source gives it after rounding to the digits it shows; else "unsupported".
    """
    groups = _group([*facts, *(f for extra in also for f in extract_facts(extra))])
    return [_judge(figure, groups) for figure in extract_facts(text) if figure.is_figure]


def unsupported_figures(text: str, facts: Iterable[Fact], also: Iterable[str] = ()) -> list[Figure]:
    """The figures of `text` that no fact, no text in `also` and no rounding or conversion of them accounts for."""
    return [f for f in check_figures(text, facts, also) if f.verdict == "unsupported"]


def _plain_unit(unit: str | None) -> str | None:
    """A measure word such as 次 counts and does not measure: no unit."""
    return None if unit in tables().counters else unit


def _group(facts: list[Fact]) -> dict[str | None, _Known]:
    pairs: dict[str | None, list[tuple[float, int]]] = {}
    for place, fact in enumerate(facts):
        for number in fact.numbers:
            pairs.setdefault(_plain_unit(fact.unit), []).append((abs(float(number)), place))
    out: dict[str | None, _Known] = {}
    for unit, found in pairs.items():
        found.sort()
        out[unit] = _Known([size for size, _ in found], [facts[place] for _, place in found])
    return out


def _judge(figure: Fact, groups: dict[str | None, _Known]) -> Figure:
    support: Fact | None = None
    exact = True
    for number in figure.numbers:
        found = _search(number, figure, groups)
        if found is None:
            return Figure(figure, "unsupported")
        support, equal = found
        exact = exact and equal
    return Figure(figure, "supported" if exact else "rounded", support.text if support else None)


def _search(number: Decimal, figure: Fact, groups: dict[str | None, _Known]) -> tuple[Fact, bool] | None:
    """The best source of one number: (fact, it is equal), or None."""
    size = abs(float(number))
    half_step = _half_step(number)
    nearest: Fact | None = None
    for unit, known in groups.items():
        for target, factor in _targets(size, _plain_unit(figure.unit), unit):
            tolerance = max(target * EXACT, 1e-300)
            place = bisect_left(known.sizes, target - tolerance)
            if place < len(known.sizes) and known.sizes[place] <= target + tolerance:
                return known.facts[place], True
            if nearest is None and half_step:
                window = half_step * factor
                low = bisect_left(known.sizes, target - window * (1 + EXACT))
                if low < len(known.sizes) and known.sizes[low] <= target + window * (1 + EXACT):
                    nearest = known.facts[low]
    return (nearest, False) if nearest is not None else None


def _targets(size: float, wanted: str | None, unit: str | None) -> list[tuple[float, float]]:
    """The figure's size as `unit` would give it, with the size there of a step of one; several where ambiguous."""
    if wanted == unit or unit in _SAME_MONEY.get(wanted or "", ()) or wanted in _SAME_MONEY.get(unit or "", ()):
        return [(size, 1.0)]
    if wanted is None or unit is None:
        out = [(size, 1.0)]
        if wanted == "%":
            out.append((size / 100, 0.01))
        elif unit == "%":
            out.append((size * 100, 100.0))
        return out
    converted, doubled = (convert(Decimal(repr(step * size)), wanted, unit) for step in (1, 2))
    if converted is None or doubled is None:
        return []
    target = float(converted)
    slope = abs(float(doubled) - target) / size if size else 1.0  # not their ratio: temperatures have an offset
    return [(abs(target), slope)]


def _half_step(number: Decimal) -> float:
    """How far off a source may be when the figure is rounded to its last digit that is not zero."""
    exponent = number.normalize().as_tuple().exponent
    size = abs(float(number))
    if not isinstance(exponent, int) or size == 0:
        return 0.0
    return min(0.5 * 10.0**exponent, size * (CLOSE if exponent > 0 else COARSE))
