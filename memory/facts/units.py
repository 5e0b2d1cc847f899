"""Units and currencies: one canonical symbol each, found at a place in a text, converted through pint.

The tables are data: `units.json` (symbols, English names in the singular, Chinese names, further
spellings, the SI prefixes that go with the symbol, and what pint calls it) and `currencies.json` (ISO
4217 codes with their signs and names).
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Required, TypedDict, cast

from .fact import Kind
from .word_lists import data

if TYPE_CHECKING:
    from pint import UnitRegistry

_LETTERS = re.compile(r"[A-Za-z]+")


class _UnitRow(TypedDict, total=False):
    symbol: Required[str]
    names: list[str]
    zh: list[str]
    spellings: list[str]
    prefixes: str
    kind: Kind
    pint: str


class _CurrencyRow(TypedDict, total=False):
    code: Required[str]
    symbols: list[str]
    names: list[str]
    zh: list[str]


class _UnitFile(TypedDict):
    units: list[_UnitRow]
    counters: list[str]
    prefixes: dict[str, tuple[str, int]]
    prefixes_zh: dict[str, str]


class _CurrencyFile(TypedDict):
    currencies: list[_CurrencyRow]
    ambiguous: list[str]


class Unit(NamedTuple):
    """A unit read at a place: canonical symbol, kind of figure it makes, and where it ends."""

    symbol: str
    kind: Kind
    end: int


class Alias(NamedTuple):
    spelling: str
    folded: bool
    symbol: str
    kind: Kind


class Tables:
    """Every spelling, longest first, by the Latin letters it begins with, or else by its first two characters."""

    def __init__(self) -> None:
        units = cast("_UnitFile", data("units.json"))
        money = cast("_CurrencyFile", data("currencies.json"))
        self.aliases: dict[str, list[Alias]] = {}
        self.pint: dict[str, str] = {}
        self.currency_signs: dict[str, str] = {}
        self.codes: set[str] = set()
        self.counters = frozenset(units["counters"])
        for row in units["units"]:
            self._add_unit(row, units)
        ambiguous = set(money["ambiguous"])
        for row in money["currencies"]:
            self._add_currency(row, ambiguous)
        for bucket in self.aliases.values():
            bucket.sort(key=lambda a: (-len(a.spelling), a.folded))

    def _put(self, spelling: str, symbol: str, kind: Kind, *, folded: bool) -> None:
        letters = _LETTERS.match(spelling)
        key = (letters[0] if letters else spelling[:2]).lower()
        self.aliases.setdefault(key, []).append(Alias(spelling.lower() if folded else spelling, folded, symbol, kind))

    def _add_unit(self, row: _UnitRow, units: _UnitFile) -> None:
        symbol, kind = row["symbol"], row.get("kind", "quantity")
        names, chinese = row.get("names", []), row.get("zh", [])
        self.pint[symbol] = row.get("pint", "").strip()
        self._put(symbol, symbol, kind, folded=False)
        for spelling in row.get("spellings", []) + chinese:
            self._put(spelling, symbol, kind, folded=False)
        for name in names:
            for form in _plurals(name):
                self._put(form, symbol, kind, folded=True)
        for prefix in row.get("prefixes", ""):
            word, _ = units["prefixes"][prefix]
            combined = prefix + symbol
            self.pint.setdefault(combined, f"{word}{self.pint[symbol]}")
            spellings = [combined, "µ" + symbol, "u" + symbol] if prefix == "μ" else [combined]
            if symbol == "L":
                spellings.append(prefix + "l")
            if len(combined) >= 3:
                self._put(combined, combined, kind, folded=True)
            for spelling in spellings:
                self._put(spelling, combined, kind, folded=False)
            for name in names:
                if " " not in name:
                    for form in _plurals(word + name):
                        self._put(form, combined, kind, folded=True)
        for sign, prefix in units["prefixes_zh"].items():
            if prefix in row.get("prefixes", ""):
                for name in chinese:
                    self._put(sign + name, prefix + symbol, kind, folded=False)

    def _add_currency(self, row: _CurrencyRow, ambiguous: set[str]) -> None:
        code = row["code"]
        is_iso = len(code) == 3 and code.isascii() and code.isupper()
        if is_iso:
            self.codes.add(code)
            self._put(code, code, "money", folded=True)
            for scale, letter in (("M", "M"), ("K", "k")):
                self._put(scale + code, letter + code, "money", folded=False)
        if not is_iso:
            self._put(code, code, "money", folded=False)
        for sign in row.get("symbols", []):
            symbol = sign if sign in ambiguous else code
            self.currency_signs[sign] = symbol
            self._put(sign, symbol, "money", folded=False)
            if sign.isascii() and sign[0].isalpha() and sign[-1] == "$":
                self._put(sign, symbol, "money", folded=True)
                self.currency_signs.setdefault(sign.lower(), symbol)
        for name in row.get("names", []):
            for form in _plurals(name):
                self._put(form, name if name in ambiguous else code, "money", folded=True)
        for name in row.get("zh", []):
            self._put(name, code, "money", folded=False)


def _plurals(name: str) -> list[str]:
    forms = [name, name + "s"]
    if name.endswith(("s", "x", "ch")):
        forms.append(name + "es")
    if name.endswith("y"):
        forms.append(name[:-1] + "ies")
    head, _, tail = name.partition(" ")
    if tail:
        forms.append(f"{head}s {tail}")
    return forms


@cache
def tables() -> Tables:
    """The unit and currency tables, loaded once."""
    return Tables()


@cache
def _registry() -> UnitRegistry[Any]:
    from pint import UnitRegistry

    return UnitRegistry[Any](autoconvert_offset_to_baseunit=True)


_FACTOR = re.compile(r"^(.*?)(?:\^(-?\d))?$")


def _pint_name(symbol: str) -> str | None:
    """A canonical symbol such as "kWh/100 km" or "m/s^2" in pint's own words, or None."""
    known = tables().pint
    parts: list[str] = []
    for i, part in enumerate(symbol.split("/")):
        factors: list[str] = []
        for word in part.split():
            match = _FACTOR.match(word)
            base, power = (match[1], match[2]) if match else (word, None)
            name = base if base.isdigit() else known.get(base)
            if not name:
                return None
            factors.append(f"({name})**{power}" if power else f"({name})")
        if factors:
            parts.append(("/(" if i else "(") + "*".join(factors) + ")")
        elif i == 0:
            parts.append("1")
    return "".join(parts) or None


@lru_cache(maxsize=4096)
def convert(value: Decimal, unit: str, to: str) -> Decimal | None:
    """`value` of `unit` expressed in `to`, or None where the two do not measure the same thing.

    Conversion factors are pint's; currencies are never converted.
    """
    source, target = _pint_name(unit), _pint_name(to)
    if source is None or target is None:
        return None
    from pint.errors import PintError

    try:
        registry = cast("Any", _registry())
        one, other = registry.Quantity(source), registry.Quantity(target)  # 50 g where the unit is 两
        result = registry.convert(float(value) * one.magnitude, one.units, other.units) / other.magnitude
    except (PintError, OverflowError):
        return None
    return Decimal(repr(float(result)))
