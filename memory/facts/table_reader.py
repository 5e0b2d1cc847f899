"""Reads the cells of a table with what its headings and caption say: units, scale, names, dates."""

from __future__ import annotations

import re

from .fact import Fact
from .keys import Column, column
from .origin import CellOrigin
from .scan import Scanner
from .tables import Cell, Table

_UNSCALED = re.compile(r"\bper\b|%|percent|ratio|margin|每股|率", re.IGNORECASE)
_SCALED_CAPTION = re.compile(r"\b(?:thousand|million|billion)s\b|单位", re.IGNORECASE)
MAX_NAME = 40
_NOTHING = Column()


def read_table(scanner: Scanner, table: Table) -> None:
    """Adds the facts of all cells to the scanner's list."""
    head = table.head
    columns = [column(h) for h in head]
    caption = column(table.caption) if _SCALED_CAPTION.search(table.caption) else _NOTHING
    text = scanner.text
    for number, row in enumerate(table.rows):
        name = _row_name(text, row)
        for i, cell in enumerate(row):
            if cell[0] >= cell[1]:
                continue
            heading, meaning = (head[i], columns[i]) if i < len(head) else ("", _NOTHING)
            first = len(scanner.facts)
            scanner.origin = CellOrigin(text, table, name, heading, number)
            scanner.cell(*cell)
            if meaning != _NOTHING or caption.factor != 1:
                _apply(scanner, first, cell, meaning, caption, name + " " + heading)


def _row_name(text: str, row: list[Cell]) -> str:
    for start, end in row[:3]:
        word = text[start:end].strip("\"'*` ")
        if word and any(c.isalpha() for c in word):
            return word[:MAX_NAME]
    return text[row[0][0] : row[0][1]][:MAX_NAME] if row else ""


def _apply(scanner: Scanner, first: int, cell: Cell, meaning: Column, caption: Column, name: str) -> None:
    """Changes the facts of one cell by what the heading says."""
    for i in range(first, len(scanner.facts)):
        fact = scanner.facts[i]
        if not fact.is_figure:
            continue
        whole = fact.span[1] - fact.span[0] >= (cell[1] - cell[0]) * 0.6
        if meaning.role in ("identifier", "date", "moment") and whole and fact.unit is None:
            if meaning.role == "moment" and fact.value is not None and fact.value < 10**8:
                continue
            kind = "date" if meaning.role != "identifier" else "identifier"
            scanner.facts[i] = Fact(kind, fact.text, fact.span, source=fact.source, origin=scanner.origin)
            continue
        if fact.unit is None and meaning.unit is not None:
            fact.unit, fact.kind = meaning.unit, meaning.kind
        factor = meaning.factor
        if factor == 1 and caption.factor != 1 and not _UNSCALED.search(name):
            factor = caption.factor
            if fact.unit is None and caption.unit is not None:
                fact.unit, fact.kind = caption.unit, caption.kind
        if factor != 1 and fact.kind not in ("percent", "duration"):
            fact.value = None if fact.value is None else fact.value * factor
            fact.low = None if fact.low is None else fact.low * factor
            fact.high = None if fact.high is None else fact.high * factor
