"""Support of figures: every figure of an answer is matched with what the run has read."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation

from .extract import extract_facts
from .fact import Fact, Figure
from .units import convert

_RELATIVE = Decimal("1e-9")


def check_figures(text: str, facts: Iterable[Fact], also: Iterable[str] = ()) -> list[Figure]:
    """A verdict for every figure of `text`.

    `facts` are the facts of the run, `also` further texts that count as sources (the task, results of
    calculations). A figure is supported by an equal value, by the same value in another unit, scale or as
    a percentage; it is "rounded" where a source gives it after rounding to the digits it shows.
    """
    known = [f for f in facts if f.numbers]
    for extra in also:
        known.extend(f for f in extract_facts(extra) if f.numbers)
    index: dict[Decimal, Fact] = {}
    for fact in known:
        for number in fact.numbers:
            index.setdefault(abs(number).normalize(), fact)
    return [_judge(figure, known, index) for figure in extract_facts(text) if figure.is_figure]


def unsupported_figures(text: str, facts: Iterable[Fact], also: Iterable[str] = ()) -> list[Figure]:
    """The figures of `text` that no fact, no text in `also` and no rounding or conversion of them accounts for."""
    return [f for f in check_figures(text, facts, also) if f.verdict == "unsupported"]


def _judge(figure: Fact, known: list[Fact], index: dict[Decimal, Fact]) -> Figure:
    rounded: Fact | None = None
    for number in figure.numbers:
        exact = index.get(abs(number).normalize())
        if exact is not None and _compatible(figure.unit, exact.unit):
            continue
        best = _search(number, figure, known)
        if best is None:
            return Figure(figure, "unsupported")
        fact, verdict = best
        if verdict == "rounded":
            rounded = fact
    if rounded is not None:
        return Figure(figure, "rounded", rounded.text)
    return Figure(figure, "supported", figure.text)


def _search(number: Decimal, figure: Fact, known: list[Fact]) -> tuple[Fact, str] | None:
    rounded: Fact | None = None
    for fact in known:
        for source in fact.numbers:
            for candidate in _readings(source, fact.unit, figure.unit):
                if _equal(number, candidate):
                    return fact, "supported"
                if rounded is None and _rounds_to(candidate, number, figure.text):
                    rounded = fact
    return (rounded, "rounded") if rounded is not None else None


def _compatible(a: str | None, b: str | None) -> bool:
    return a == b or a is None or b is None


def _readings(value: Decimal, unit: str | None, wanted: str | None) -> list[Decimal]:
    """The source value as the figure's unit would give it."""
    if unit == wanted or unit is None or wanted is None:
        out = [value]
        if wanted == "%" and unit is None:
            out.append(value * 100)
        if unit == "%" and wanted is None:
            out.append(value / 100)
        return out
    converted = convert(value, unit, wanted)
    return [] if converted is None else [converted]


def _equal(a: Decimal, b: Decimal) -> bool:
    a, b = abs(a), abs(b)
    return a == b or abs(a - b) <= max(a, b) * _RELATIVE


def _rounds_to(source: Decimal, figure: Decimal, text: str) -> bool:
    """Whether `figure` is `source` rounded to the digits that the figure shows."""
    source, figure = abs(source), abs(figure)
    if figure == 0 or source == 0 or abs(source - figure) > figure / 5:
        return False
    exponent = _shown_exponent(figure, text)
    step = Decimal(1).scaleb(exponent)
    try:
        return any(
            (source / step).quantize(Decimal(1), mode) * step == figure for mode in (ROUND_HALF_UP, ROUND_HALF_EVEN)
        )
    except InvalidOperation:
        return False


def _shown_exponent(figure: Decimal, text: str) -> int:
    """The place of the last digit the figure shows: trailing zeros of a whole number may be rounding."""
    normal = figure.normalize()
    exponent = normal.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0
