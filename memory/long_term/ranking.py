"""How well a record fits a query: one absolute score of meaning and words, comparable between queries.

Ranks and scores scaled to the best candidate cannot tell a good match from the best of bad ones, so both sides
are kept on a scale of their own: cosine, and the share of the query's weight that the record holds.
The values were chosen on the development sets; `docs/long-term.md` has the ablations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .lexical import QueryTerm
from .terms import is_cjk, is_date

# Share of meaning in the score, where the embedder can read the query.
MEANING = 0.35
# Unrelated texts have cosines up to about this; only what is above tells something.
UNRELATED = 0.2
# Saturation and length normalisation of BM25 (Robertson and Zaragoza, 2009). Term counts saturate early (1.2 is
# usual): outcomes are short, and a term that is repeated does not fit twice as well.
K1, B = 0.6, 0.75
# About every second pair of CJK characters of a question straddles two words, and is rarely met again.
CJK_UNMATCHED = 0.5
# Below this score nothing is recalled unless the caller says otherwise.
FLOOR = 0.21


def trust(legibility: float) -> float:
    """How far the cosine is trusted, in [0, 1]: not at all when half of the query's words are unknown."""
    return max(0.0, 2.0 * legibility - 1.0)


def coverage(query: Sequence[QueryTerm], held: Mapping[str, int], length: int, mean_length: float) -> float:
    """Share of the query's weight found in a record that holds the terms `held`, in [0, 1]."""
    slowness = K1 * (1 - B + B * length / max(mean_length, 1.0))
    matched = missed = 0.0
    for term in query:
        count = held.get(term.text, 0)
        part = 0.0 if not count else 1.0 if is_date(term.text) else count / (count + slowness)
        matched += term.weight * part
        missed += term.weight * (1 - part) * (CJK_UNMATCHED if is_cjk(term.text) else 1.0)
    return matched / (matched + missed) if matched else 0.0


def score(cosine: float | None, lexical: float, trusted: float) -> float:
    """The fused score, in [0, 1]; without a cosine (None) the words decide alone."""
    if cosine is None:
        return lexical
    meaning = min(1.0, max(0.0, (cosine - UNRELATED) / (1 - UNRELATED)))
    weight = MEANING * trusted
    return weight * meaning + (1 - weight) * lexical
