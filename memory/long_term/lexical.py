"""The lexical index: which record holds which term how often, kept in the records' SQLite file.

Only the rarest terms of a query choose candidates, so that a frequent word never makes a query read the whole
index; every term counts when the candidates are scored.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .database import select_in
from .terms import FUNCTION_WORDS, is_date

# Postings read for one query at most: 8,000 rows take about 4 ms, whatever the size of the store.
READ_LIMIT = 8_000
# A power above 1 lets rare terms tell more, which parts tasks of one kind: names are rare, what is done is not.
RARITY = 1.25
# Records with other words that a store is taken to hold besides its own: with one or two records every word that is
# stored is in all of them, and would weigh nearly nothing. In stores of hundreds it makes no difference.
OTHER_RECORDS = 5
# On the development sets 0 to 0.2 and 1.5 to 3 do equally well: grammar says little about a task, and a date that a
# task names picks one record out of many that are alike.
FUNCTION_WORD_WEIGHT = 0.1
DATE_WEIGHT = 2.0
# Query terms at most; the rarest are kept. A goal of 100,000 words costs no more than one of 200.
QUERY_TERMS = 200


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One distinct term of a query: its weight, and its id and frequency in the index (None, 0 if unknown)."""

    text: str
    weight: float
    id: int | None
    records: int


def add_terms(db: sqlite3.Connection, namespace: int, documents: Mapping[int, Counter[str]]) -> None:
    """Index new records (row -> counted terms) inside the caller's transaction."""
    frequency = Counter(term for counts in documents.values() for term in counts)
    db.executemany(
        "INSERT INTO terms (namespace, term, records) VALUES (?, ?, ?) "
        "ON CONFLICT (namespace, term) DO UPDATE SET records = records + excluded.records",
        ((namespace, term, count) for term, count in sorted(frequency.items())),
    )
    ids = term_ids(db, namespace, frequency)
    db.executemany(
        "INSERT INTO postings (term, row, count) VALUES (?, ?, ?)",
        sorted((ids[term][0], row, count) for row, counts in documents.items() for term, count in counts.items()),
    )


def remove_terms(db: sqlite3.Connection, namespace: int, row: int, counts: Iterable[str]) -> None:
    """Take one record out of the index; `counts` are its distinct terms."""
    ids = [found for found, _ in term_ids(db, namespace, counts).values()]
    db.executemany("DELETE FROM postings WHERE term = ? AND row = ?", ((term, row) for term in ids))
    db.executemany("UPDATE terms SET records = records - 1 WHERE id = ?", ((term,) for term in ids))
    db.executemany("DELETE FROM terms WHERE id = ? AND records <= 0", ((term,) for term in ids))


def term_ids(db: sqlite3.Connection, namespace: int, wanted: Iterable[str]) -> dict[str, tuple[int, int]]:
    """(id, number of records) of every known term."""
    found: dict[str, tuple[int, int]] = {}
    statement = "SELECT term, id, records FROM terms WHERE namespace = ? AND term IN (*)"
    for term, number, records in select_in(db, statement, wanted, namespace):
        found[term] = (number, records)
    return found


def weigh(db: sqlite3.Connection, namespace: int, total: int, query: Sequence[str]) -> list[QueryTerm]:
    """The query's distinct terms, the rarest first, weighed by how rare each is among `total` records (a power of
    Lucene's inverse document frequency, never negative) and how often the query says it."""
    counted = Counter(query)
    known = term_ids(db, namespace, counted)
    weighed: list[QueryTerm] = []
    for term, count in counted.items():
        number, records = known.get(term, (None, 0))
        # Another writer may have added records since `total` was read.
        others = OTHER_RECORDS + max(0, total - records)
        rarity = math.log1p((others + 0.5) / (records + 0.5)) ** RARITY
        weighed.append(QueryTerm(term, rarity * count * _importance(term), number, records))
    weighed.sort(key=lambda term: (term.text in FUNCTION_WORDS, term.records))
    return weighed[:QUERY_TERMS]


def _importance(term: str) -> float:
    if term in FUNCTION_WORDS:
        return FUNCTION_WORD_WEIGHT
    return DATE_WEIGHT if is_date(term) else 1.0


def candidates(db: sqlite3.Connection, query: Sequence[QueryTerm], limit: int) -> list[int]:
    """Rows that hold the most weight of the query's rarest terms, best first."""
    chosen: list[QueryTerm] = []
    read = 0
    for term in query:
        if term.id is None:
            continue
        if chosen and read + term.records > READ_LIMIT:
            break
        chosen.append(term)
        read += term.records
    if not chosen:
        return []
    values = ",".join("(?, ?)" for _ in chosen)
    parameters = [value for term in chosen for value in (term.id, term.weight)]
    return [
        row
        for row, _ in db.execute(
            f"WITH query (term, weight) AS (VALUES {values}) "
            "SELECT row, SUM(weight * count / (count + 1.0)) AS score FROM query JOIN postings USING (term) "
            "GROUP BY row ORDER BY score DESC, row DESC LIMIT ?",
            (*parameters, limit),
        )
    ]


def term_counts(db: sqlite3.Connection, query: Sequence[QueryTerm], rows: Sequence[int]) -> dict[int, dict[str, int]]:
    """How often each of `rows` holds each of the query's terms."""
    names = {term.id: term.text for term in query if term.id is not None}
    found: dict[int, dict[str, int]] = {row: {} for row in rows}
    for number, name in names.items():
        for row, count in select_in(db, "SELECT row, count FROM postings WHERE term = ? AND row IN (*)", rows, number):
            found[row][name] = count
    return found
