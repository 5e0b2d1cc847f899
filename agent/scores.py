"""Scores: what the trials of an evaluation say, how sure that is, and whether it has become worse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import fmean
from typing import Any, TypeVar, cast

from .evaluation import Trial

CONFIDENCE = 0.95
LEVEL = 0.05
"""The chance of being called a drop where there is none: 5 %."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share or a mean with the bounds of its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Scores:
    """What some trials say; tokens and dollars are for one run.

    `right_tools` and `right_arguments` are None where the tasks name no calls, `cost` where a price is not known.
    """

    trials: int
    success: Estimate
    right_tools: Estimate | None
    right_arguments: Estimate | None
    steps: Estimate
    format_errors: Estimate
    tokens: Estimate
    cost: Estimate | None


@dataclass(frozen=True, slots=True)
class Change:
    """The success rate of one task, or of all together (`task` and `format` None), before and now.

    `p` is the chance of a success rate as low as now, or lower, if nothing has changed; `drop` whether that is too
    small for chance.
    """

    task: str | None
    format: str | None
    before: float
    now: float
    p: float
    drop: bool


def score(trials: Sequence[Trial]) -> Scores:
    """The scores of some trials: Wilson's interval for the success rate, Student's t for means over the trials.

    Raises:
        ValueError: there are no trials.
    """
    if not trials:
        raise ValueError("there are no trials to score")
    tools = [trial.right_tools for trial in trials if trial.right_tools is not None]
    arguments = [trial.right_arguments for trial in trials if trial.right_arguments is not None]
    costs = [trial.cost for trial in trials if trial.cost is not None]
    return Scores(
        trials=len(trials),
        success=_share(sum(trial.success for trial in trials), len(trials)),
        right_tools=_mean(tools, most=1.0) if tools else None,
        right_arguments=_mean(arguments, most=1.0) if arguments else None,
        steps=_mean([trial.steps for trial in trials]),
        format_errors=_mean([trial.format_errors for trial in trials], most=1.0),
        tokens=_mean([trial.tokens for trial in trials]),
        cost=_mean(costs) if len(costs) == len(trials) else None,
    )


def by_task(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """The trials of each task, tasks in the order of their first trial."""
    return _grouped(trials, lambda trial: trial.task)


def by_format(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """The trials of each reply format, formats in the order of their first trial."""
    return _grouped(trials, lambda trial: trial.format)


def changes(now: Iterable[Trial], before: Iterable[Trial], *, level: float = LEVEL) -> list[Change]:
    """What has changed, over the tasks and formats that both have: all together first, then each; empty if none.

    For one task this is Fisher's exact test, one-sided. For all together it is the same test stratified by task: given
    how many of a task's runs were right before and now together, how many of them fall on now is hypergeometric, and
    the sum of these is what is compared (with one run each, that is McNemar's exact test;
    https://www.jstor.org/stable/2984064). The tasks are corrected for their number by Holm's method
    (https://www.jstor.org/stable/4615733).
    """
    after, earlier = _grouped(now, _place), _grouped(before, _place)
    common = [place for place in after if place in earlier]
    if not common:
        return []
    pairs = {place: (after[place], earlier[place]) for place in common}
    single = {place: _chance([pair]) for place, pair in pairs.items()}
    dropped = _holm(single, level)
    whole = _chance(list(pairs.values()))
    every = ([t for pair in pairs.values() for t in pair[0]], [t for pair in pairs.values() for t in pair[1]])
    return [
        Change(None, None, _rate(every[1]), _rate(every[0]), whole, whole < level),
        *(
            Change(*place, _rate(pair[1]), _rate(pair[0]), single[place], place in dropped)
            for place, pair in pairs.items()
        ),
    ]


def _place(trial: Trial) -> tuple[str, str]:
    return trial.task, trial.format


def _rate(trials: Sequence[Trial]) -> float:
    return fmean(trial.success for trial in trials)


def _chance(strata: Sequence[tuple[Sequence[Trial], Sequence[Trial]]]) -> float:
    """The chance of as few successes now, or fewer, given each stratum's successes now and before together."""
    import numpy as np

    chances, observed = np.ones(1), 0
    for now, before in strata:
        won = sum(trial.success for trial in now)
        together = won + sum(trial.success for trial in before)
        pmf = _scipy_stats().hypergeom(len(now) + len(before), together, len(now)).pmf(np.arange(len(now) + 1))
        chances, observed = np.convolve(chances, pmf), observed + won
    return min(1.0, float(chances[: observed + 1].sum()))


def _holm(chances: Mapping[K, float], level: float) -> set[K]:
    """Those that are significant at a level for all of them together."""
    found: set[K] = set()
    for rank, (key, p) in enumerate(sorted(chances.items(), key=lambda one: one[1])):
        if p * (len(chances) - rank) >= level:
            break
        found.add(key)
    return found


def _grouped(trials: Iterable[Trial], key: Callable[[Trial], K]) -> dict[K, list[Trial]]:
    groups: dict[K, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(key(trial), []).append(trial)
    return groups


def _share(count: int, of: int) -> Estimate:
    interval = _scipy_stats().binomtest(count, of).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(count / of, float(interval.low), float(interval.high))


def _mean(values: Sequence[float], *, most: float = float("inf")) -> Estimate:
    mean = fmean(values)
    if len(set(values)) < 2:
        return Estimate(mean, mean, mean)
    interval = _scipy_stats().ttest_1samp(values, mean).confidence_interval(CONFIDENCE)
    return Estimate(mean, max(0.0, float(interval.low)), min(most, float(interval.high)))


def _scipy_stats() -> Any:
    return cast(Any, import_module("scipy.stats"))
