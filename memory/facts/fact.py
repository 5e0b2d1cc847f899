"""What was read: one fact with its exact place, and one figure that no source accounts for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from .origin import Origin

Kind = Literal[
    "quantity",
    "money",
    "percent",
    "duration",
    "date",
    "time",
    "identifier",
    "path",
    "url",
    "email",
    "name",
]
Bound = Literal["<", "<=", ">", ">=", "="]

FIGURES: frozenset[str] = frozenset({"quantity", "money", "percent", "duration"})


class Fact:
    """One value read from a text.

    `kind` says what it is; the kinds in `FIGURES` carry a number, the others only their text.
    `value` is the number as a Decimal with every scale word applied ("1.2 million" is 1200000); a
    percentage keeps the number as written. A range has `low` and `high` and no `value`.
    `unit` is a canonical symbol ("km/h", "USD", "%") or None; "$" and "¥" stay as they are unless the
    text says which currency is meant. `text` is exactly `source_text[span[0]:span[1]]`, end-exclusive.
    `approx` is True for "about", `bound` keeps "at least" (">=") and its kin, `uncertainty` the ± part.
    `source` is the ref given when the text was read; `at` the number of the observation it came with.
    `label` says what was measured, in words that stand beside the value at its source.
    """

    __slots__ = (
        "_label",
        "_nearest_word",
        "approx",
        "at",
        "bound",
        "high",
        "kind",
        "low",
        "origin",
        "source",
        "span",
        "text",
        "uncertainty",
        "unit",
        "value",
    )

    def __init__(
        self,
        kind: Kind,
        text: str,
        span: tuple[int, int],
        value: Decimal | None = None,
        low: Decimal | None = None,
        high: Decimal | None = None,
        unit: str | None = None,
        source: str | None = None,
        at: int | None = None,
        label: str | None = None,
        approx: bool = False,
        bound: Bound | None = None,
        uncertainty: Decimal | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.kind: Kind = kind
        self.text = text
        self.span = span
        self.value = value
        self.low = low
        self.high = high
        self.unit = unit
        self.source = source
        self.at = at
        self.approx = approx
        self.bound: Bound | None = bound
        self.uncertainty = uncertainty
        self._label = label
        self._nearest_word: str | None = None
        self.origin = origin

    @property
    def label(self) -> str:
        """What was measured, in the words of the source; read only when it is asked for."""
        if self._label is None:
            self._label = self.origin.label(self.span) if self.origin is not None else ""
        return self._label

    @label.setter
    def label(self, words: str) -> None:
        self._label = words

    @property
    def nearest_word(self) -> str:
        """The word of the fact's line that stands nearest and is not in the fact itself; looked for once."""
        if self._nearest_word is None:
            self._nearest_word = self.label if self.origin is None else self.origin.nearest_word(self.span)
        return self._nearest_word

    @property
    def is_figure(self) -> bool:
        """True for quantities, money, percentages and durations."""
        return self.kind in FIGURES

    @property
    def numbers(self) -> tuple[Decimal, ...]:
        """The value, or both ends of the range; empty for facts without a number."""
        return tuple(n for n in (self.value, self.low, self.high) if n is not None)

    def to_dict(self) -> dict[str, object]:
        """A JSON-ready dict; numbers become strings so that no digit is lost."""
        out: dict[str, object] = {"kind": self.kind, "text": self.text, "span": list(self.span)}
        for name in ("value", "low", "high", "uncertainty"):
            number = cast("Decimal | None", getattr(self, name))
            if number is not None:
                out[name] = str(number)
        for name in ("unit", "source", "at", "label", "bound"):
            if getattr(self, name) not in (None, ""):
                out[name] = getattr(self, name)
        if self.approx:
            out["approx"] = True
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Fact:
        """The inverse of `to_dict`. Raises KeyError when kind, text or span is missing."""

        def number(name: str) -> Decimal | None:
            return Decimal(str(data[name])) if name in data else None

        start, end = cast("tuple[int, int]", data["span"])
        return cls(
            cast("Kind", data["kind"]),
            cast("str", data["text"]),
            (start, end),
            number("value"),
            number("low"),
            number("high"),
            cast("str | None", data.get("unit")),
            cast("str | None", data.get("source")),
            cast("int | None", data.get("at")),
            cast("str", data.get("label", "")),
            bool(data.get("approx", False)),
            cast("Bound | None", data.get("bound")),
            number("uncertainty"),
        )

    def _key(self) -> tuple[object, ...]:
        return (self.kind, self.text, self.span, self.value, self.low, self.high, self.unit, self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fact) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        number = "..".join(str(n) for n in self.numbers)
        inner = f"{self.kind} {self.text!r}" + (f" = {number} {self.unit or ''}".rstrip() if number else "")
        return f"<Fact {inner} at {self.source or ''}{list(self.span)}>"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a summary or answer that was matched with the sources.

    `fact` is the figure as it was read in the answer. `verdict` is "unsupported" where nothing accounts
    for it, "rounded" where a source supports it only after rounding, "supported" otherwise; `support`
    is the text of the source value (or the calculation) that accounts for it.
    """

    fact: Fact
    verdict: Literal["supported", "rounded", "unsupported"]
    support: str | None = None

    @property
    def text(self) -> str:
        return self.fact.text

    @property
    def span(self) -> tuple[int, int]:
        return self.fact.span
