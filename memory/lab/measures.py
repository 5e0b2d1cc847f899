"""The measures of a replay, as docs/lab.md defines them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .cost import price
from .reading import Demand, Reading, Seen

# Tokens; demands are counted apart by how far back their value was last seen: below 1,000, below 2,000, …, beyond.
DISTANCES = (1000, 2000, 4000, 8000, 16000, 32000)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What a replay found at one model call.

    Attributes:
        step: index of the assistant message that the context was made for.
        shown: the context.
        seconds: time that the policy took since the step before: `add` of each message, and `context`.
        faults: why the context is not valid.
        missed: demands whose value the context does not show; `reachable` are those that one look-up brings back.
        rewritten: whether the context does not begin with the whole of the previous one.
        decided: what the policy recorded of its own compactions since the step before (`Compaction` of ours).
    """

    step: int
    shown: tuple[Seen, ...]
    prompt_tokens: int
    cached_tokens: int
    seconds: float
    within_budget: bool
    faults: tuple[str, ...]
    missed: tuple[Demand, ...]
    reachable: tuple[Demand, ...]
    rewritten: bool
    decided: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Measures:
    """One row of a comparison. Shares are between 0 and 1, and nan where there is nothing to take a share of.

    Attributes:
        steps: model calls of the transcript.
        demands, demands_far: values the agent used, and those last seen at least 4,000 tokens back.
        survival, survival_far: shares of these that the contexts show.
        reachable: `survival`, counting also what one look-up brings back.
        prompt_tokens: sum over all contexts.
        cached_share: share of them that a prefix cache serves.
        uncached_tokens: the rest.
        price: uncached + 0.1 x cached tokens.
        full_price: the same for the full history over the same steps.
        price_index: `price` over `full_price`.
        valid, within_budget: shares of steps whose context is valid, and fits.
        compactions: contexts that do not begin with the whole of the previous one.
        summary_calls: model calls that the policy made for summaries, by its own count.
        seconds: time of the policy's `add` and `context`.
        demands_by_distance, kept_by_distance: demands, and those shown, by the bins of `DISTANCES`.
        error: what the policy raised, and when; from then on steps count as not valid and their demands as lost.
    """

    steps: int
    demands: int
    demands_far: int
    survival: float
    survival_far: float
    reachable: float
    prompt_tokens: int
    cached_share: float
    uncached_tokens: int
    price: float
    full_price: float
    price_index: float
    valid: float
    within_budget: float
    compactions: int
    summary_calls: int
    seconds: float
    demands_by_distance: tuple[int, ...]
    kept_by_distance: tuple[int, ...]
    error: str | None


def measured(
    reading: Reading, records: Sequence[StepRecord], *, summary_calls: int = 0, error: str | None = None
) -> Measures:
    """The measures over all steps of a transcript, of which `records` are those that the policy came to."""
    asked = [demand for demands in reading.demands.values() for demand in demands]
    met = [demand for record in records for demand in reading.demands.get(record.step, ())]
    missed = [demand for record in records for demand in record.missed]
    far, met_far, missed_far = _far(asked), _far(met), _far(missed)
    kept = len(met) - len(missed)
    steps = len(reading.transcript.steps)
    prompt = sum(record.prompt_tokens for record in records)
    cached = sum(record.cached_tokens for record in records)
    full_price = reading.full_price(record.step for record in records)
    met_bins, missed_bins = _binned(met), _binned(missed)
    return Measures(
        steps=steps,
        demands=len(asked),
        demands_far=far,
        survival=_share(kept, len(asked)),
        survival_far=_share(met_far - missed_far, far),
        reachable=_share(kept + sum(len(record.reachable) for record in records), len(asked)),
        prompt_tokens=prompt,
        cached_share=_share(cached, prompt),
        uncached_tokens=prompt - cached,
        price=price(prompt, cached),
        full_price=full_price,
        price_index=_share(price(prompt, cached), full_price),
        valid=_share(sum(not record.faults for record in records), steps),
        within_budget=_share(sum(record.within_budget for record in records), steps),
        compactions=sum(record.rewritten for record in records),
        summary_calls=summary_calls,
        seconds=sum(record.seconds for record in records),
        demands_by_distance=_binned(asked),
        kept_by_distance=tuple(a - b for a, b in zip(met_bins, missed_bins, strict=True)),
        error=error,
    )


def _far(demands: Sequence[Demand]) -> int:
    return sum(demand.far for demand in demands)


def _binned(demands: Sequence[Demand]) -> tuple[int, ...]:
    bins = [0] * (len(DISTANCES) + 1)
    for demand in demands:
        bins[bisect_right(DISTANCES, demand.distance)] += 1
    return tuple(bins)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
