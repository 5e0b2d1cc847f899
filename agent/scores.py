"""Scores: what the trials of an evaluation say, how sure that is, and whether it has become worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import fmean
from typing import Any, cast

from .evaluation import Trial

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share or a mean with the bounds of its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Scores:
    """What some trials say. `calls_right` is None where the tasks name no calls; tokens and dollars are for one run."""

    trials: int
    success: Estimate
    calls_right: Estimate | None
    format_errors: Estimate
    steps: Estimate
    tokens: Estimate
    cost: Estimate


@dataclass(frozen=True, slots=True)
class Drop:
    """A success rate that has fallen by more than chance explains; `task` is None for all tasks together."""

    task: str | None
    before: float
    now: float
    p: float


def score(trials: Sequence[Trial]) -> Scores:
    """The scores of some trials: Wilson's interval for the success rate, Student's t for means.

    Raises:
        ValueError: there are no trials.
    """
    if not trials:
        raise ValueError("there are no trials to score")
    calls = [trial.calls_right for trial in trials if trial.calls_right is not None]
    return Scores(
        trials=len(trials),
        success=_share(sum(trial.success for trial in trials), len(trials)),
        calls_right=_mean(calls) if calls else None,
        format_errors=_mean([trial.format_errors for trial in trials]),
        steps=_mean([trial.steps for trial in trials]),
        tokens=_mean([trial.tokens for trial in trials]),
        cost=_mean([trial.cost for trial in trials]),
    )


def by_task(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """The trials of each task, tasks in the order of their first trial."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.task, []).append(trial)
    return groups


def drops(now: Iterable[Trial], before: Iterable[Trial], *, level: float = 0.05) -> list[Drop]:
    """Where the success rate is significantly lower than before, over the tasks that both have.

    Fisher's exact test, one-sided, for all trials together and for each task, the tasks corrected for their number
    by Holm's method (https://www.jstor.org/stable/4615733).
    """
    after, earlier = by_task(now), by_task(before)
    common = [task for task in after if task in earlier]
    every = ([t for task in common for t in after[task]], [t for task in common for t in earlier[task]])
    found = [drop for drop in (_compared(None, *every),) if drop.p < level] if common else []
    ranked = sorted((_compared(task, after[task], earlier[task]) for task in common), key=lambda drop: drop.p)
    for rank, drop in enumerate(ranked):
        if drop.p * (len(ranked) - rank) >= level:
            break
        found.append(drop)
    return found


def _compared(task: str | None, now: Sequence[Trial], before: Sequence[Trial]) -> Drop:
    won, won_before = (sum(trial.success for trial in trials) for trials in (now, before))
    table = [[won, len(now) - won], [won_before, len(before) - won_before]]
    p = float(_scipy_stats().fisher_exact(table, alternative="less").pvalue)
    return Drop(task, won_before / len(before), won / len(now), p)


def _share(count: int, of: int) -> Estimate:
    interval = _scipy_stats().binomtest(count, of).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(count / of, float(interval.low), float(interval.high))


def _mean(values: Sequence[float]) -> Estimate:
    mean = fmean(values)
    if len(set(values)) < 2:
        return Estimate(mean, mean, mean)
    interval = _scipy_stats().ttest_1samp(values, mean).confidence_interval(CONFIDENCE)
    return Estimate(mean, float(interval.low), float(interval.high))


def _scipy_stats() -> Any:
    return cast(Any, import_module("scipy.stats"))
