"""Plots of comparisons. Each takes a table, draws on one Axes, and gives it back.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), which colour-blind people tell apart; markers
and line styles differ too, so that the plots can be read in grey. Of more names than colours, the second lot has filled
markers where the first has hollow ones, and other pairs of colour and marker.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves its keyword arguments untyped)

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .explanation import parts
from .replayed import Replayed
from .tables import distance_labels, pool, records

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", ":")
_INSIDE = 9  # names that a legend inside the axes may have; more stand beside them
_PALE = 0.35
_SHARES = (0, 50, 80, 90, 95, 98, 99, 100)
_PARTS = (
    ("system", "system prompt", "#000000", ""),
    ("task", "task", "#0072B2", "//"),
    ("added", "added by the policy", "#CC79A7", "xx"),
    ("shortened", "shortened", "#E69F00", ".."),
    ("whole", "whole messages", "#56B4E9", ""),
)


def plot_survival(frame: pd.DataFrame, axes: Axes | None = None, *, measure: str = "survival") -> Axes:
    """Survival (or another share: `survival_far`, `reachable`) against the budget, one line a policy."""
    axes = _axes(axes)
    rows = pool(records(frame))
    for policy, style in _styles(rows):
        points = sorted((row["budget"], 100 * row[measure]) for row in rows if row["policy"] == policy)
        style.draw(axes, policy, [x for x, _ in points], [y for _, y in points])
    axes.set(xlabel="budget (tokens)", ylabel=f"{measure.replace('_', ' ')} (% of demands)")
    _log_tokens(axes, sorted({row["budget"] for row in rows}))
    return _finish(axes)


def plot_frontier(frame: pd.DataFrame, axes: Axes | None = None, *, measure: str = "survival") -> Axes:
    """Price against survival, one marker a policy and budget, the larger the budget.

    The line joins what no other policy and budget beats in both. A budget is written beside its best point. A policy
    is pale where a context of its was not valid or larger than the budget: such points are on no line.
    """
    axes = _axes(axes)
    rows = [row for row in pool(records(frame)) if row["price_index"] > 0]
    budgets = sorted({row["budget"] for row in rows})
    for policy, style in _styles(rows):
        for at, row in enumerate(row for row in rows if row["policy"] == policy):
            x, y = _point(row, measure)
            size, alpha = 5 + 3 * budgets.index(row["budget"]), 1 if _keeps_the_rules(row) else _PALE
            style.draw(axes, "" if at else policy, [x], [y], line="none", size=size, hollow=True, alpha=alpha)
    kept = [row for row in rows if _keeps_the_rules(row)]
    labels: dict[tuple[float, float], list[str]] = {}
    for budget in sorted({row["budget"] for row in kept}):
        own = (_point(row, measure) for row in kept if row["budget"] == budget)
        labels.setdefault(max(own, key=lambda point: (point[1], -point[0])), []).append(f"{budget / 1000:g}k")
    for at, (point, names) in enumerate(labels.items()):
        above = 8 + 9 * (at % 2)  # where points lie close together, their labels stand one above the other
        axes.annotate(", ".join(names), point, (-8, above), textcoords="offset points", fontsize=8, ha="right")
    best = frontier([_point(row, measure) for row in kept])
    axes.plot([x for x, _ in best], [y for _, y in best], color="#999999", linewidth=1, zorder=0, label="frontier")
    axes.set(xlabel="price (full history = 1)", ylabel=f"{measure.replace('_', ' ')} (% of demands)")
    _near_all(axes, [100 * row[measure] for row in rows])
    _log_prices(axes, [row["price_index"] for row in rows])
    return _finish(axes)


def _point(row: Mapping[str, Any], measure: str) -> tuple[float, float]:
    return row["price_index"], 100 * row[measure]


def _keeps_the_rules(row: Mapping[str, Any]) -> bool:
    return row["valid"] == row["within_budget"] == 1


def frontier(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The (price, share) points that no other is both cheaper and better than, the cheapest first."""
    best: list[tuple[float, float]] = []
    for price, share in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or share > best[-1][1]:
            best.append((price, share))
    return best


def plot_misses(frame: pd.DataFrame, axes: Axes | None = None) -> Axes:
    """Share of demands missed, by how far back the value was last seen; one line a policy and budget."""
    axes = _axes(axes)
    rows = pool(records(frame))
    several = len({row["budget"] for row in rows}) > 1
    names = [f"{row['policy']} at {row['budget']:,}" if several else row["policy"] for row in rows]
    for (name, style), row in zip(_styled(names), rows, strict=True):
        pairs = zip(row["demands_by_distance"], row["kept_by_distance"], strict=True)
        missed = [100 * (asked - kept) / asked if asked else float("nan") for asked, kept in pairs]
        style.draw(axes, name, range(len(missed)), missed)
    axes.set_xticks(range(len(distance_labels())), distance_labels())
    axes.set(xlabel="distance (tokens since the value was last seen)", ylabel="missed (% of demands)")
    return _finish(axes)


def plot_context(steps: pd.DataFrame, axes: Axes | None = None) -> Axes:
    """Prompt tokens over the calls of a run, with the full history's; takes `Replay.frame()`, or several of one run."""
    axes = _axes(axes)
    rows = records(steps)
    longest: list[dict[str, Any]] = []
    for name, style, own in _by_replay(rows):
        style.draw(axes, name, [row["call"] for row in own], [row["prompt_tokens"] for row in own], marker="")
        longest = max(longest, own, key=len)
    full = [row["full_tokens"] for row in longest]
    axes.plot(range(1, len(full) + 1), full, color="#999999", linestyle=":", label="full history")
    axes.set(xlabel="model call", ylabel="context (tokens)")
    return _finish(axes)


def plot_seconds(steps: pd.DataFrame, axes: Axes | None = None) -> Axes:
    """Time that the policy takes at each call of a run; takes `Replay.frame()`, or several joined."""
    axes = _axes(axes)
    for name, style, own in _by_replay(records(steps)):
        style.draw(axes, name, [row["call"] for row in own], [1000 * row["seconds"] for row in own], marker=".")
    axes.set(xlabel="model call", ylabel="time of the policy (ms)", yscale="log")
    return _finish(axes)


def plot_timeline(replay: Replayed, axes: Axes | None = None) -> Axes:
    """The context by its parts over the calls, with budget, watermarks, compactions and misses."""
    axes = _axes(axes)
    calls = list(range(1, len(replay.records) + 1))
    taken = [parts(replay.reading, record).tokens for record in replay.records]
    heights = [[tokens[key] for tokens in taken] for key, *_ in _PARTS]
    _, labels, colours, hatches = zip(*_PARTS, strict=True)
    axes.stackplot(calls, *heights, labels=labels, colors=colours, hatch=hatches, alpha=0.75)
    axes.axhline(replay.budget, color="black", linewidth=1.2, label="budget")
    for mark, style in zip(replay.marks or (), (":", "--"), strict=False):
        axes.axhline(
            mark, color="black", linewidth=0.8, linestyle=style, label="low mark" if style == ":" else "high mark"
        )
    rewritten = [call for call, record in zip(calls, replay.records, strict=True) if record.rewritten]
    if rewritten:
        axes.vlines(rewritten, 0, replay.budget, color="#D55E00", linewidth=0.8, label="compaction")
    missed = [(call, len(record.missed)) for call, record in zip(calls, replay.records, strict=True) if record.missed]
    if missed:
        axes.scatter(
            [call for call, _ in missed],
            [replay.budget * 1.04] * len(missed),
            [12 * count for _, count in missed],
            color="black",
            marker="v",
            label="missed values",
        )
    axes.set(xlabel="model call", ylabel="context (tokens)", title=f"{replay.policy} on {replay.transcript}")
    _finish(axes).legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return axes


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    from matplotlib.figure import Figure

    return Figure(figsize=(7, 4.5), layout="constrained").subplots()


def _finish(axes: Axes) -> Axes:
    axes.grid(visible=True, linewidth=0.3)
    named = len(axes.get_legend_handles_labels()[0])
    if named > _INSIDE:
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), ncols=math.ceil(named / _INSIDE / 2))
    elif named:
        axes.legend(fontsize=8)
    return axes


def _near_all(axes: Axes, shares: list[float]) -> None:
    """A scale on which 98 and 99 % are as far apart as 50 and 80: what is lost counts."""
    lowest = min((share for share in shares if not math.isnan(share)), default=0)
    low = max(tick for tick in _SHARES if tick <= lowest)
    axes.set_ylim(low, 100.3)
    axes.set_yscale("function", functions=(_spread, _share))
    axes.set_yticks([tick for tick in _SHARES if tick >= low])


def _spread(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return -np.log10(101 - np.minimum(share, 100.9))


def _share(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    return 101 - 10**-spread


def _log_prices(axes: Axes, prices: list[float]) -> None:
    if not prices:
        return
    axes.set_xscale("log")
    low, high = min(prices) * 0.8, max(prices) * 1.25
    ticks = [t for t in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xlim(low, high)
    axes.minorticks_off()


def _log_tokens(axes: Axes, budgets: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()


@dataclass(frozen=True, slots=True)
class _Style:
    colour: str
    marker: str
    line: str
    filled: bool

    def draw(
        self,
        axes: Axes,
        name: str,
        xs: Sequence[float],
        ys: Sequence[float],
        *,
        line: str | None = None,
        marker: str | None = None,
        size: float = 5,
        hollow: bool = False,
        alpha: float = 1,
    ) -> None:
        """One line of a plot, in this style but for what is given; `hollow` lets what lies below be seen."""
        axes.plot(
            xs,
            ys,
            label=name,
            color=self.colour,
            marker=self.marker if marker is None else marker,
            linestyle=line or self.line,
            markersize=size,
            alpha=alpha,
            markerfacecolor="none" if hollow and not self.filled else self.colour,
        )


def _styled(names: Iterable[str]) -> Iterator[tuple[str, _Style]]:
    for i, name in enumerate(names):
        again, at = divmod(i, len(_COLOURS))
        marker, line = _MARKERS[(at + 3 * again) % len(_MARKERS)], _LINES[(at + again) % len(_LINES)]
        yield name, _Style(_COLOURS[at], marker, line, filled=again % 2 == 1)


def _styles(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, _Style]]:
    return _styled(dict.fromkeys(row["policy"] for row in rows))


def _by_replay(rows: Sequence[dict[str, Any]]) -> list[tuple[str, _Style, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(f"{row['policy']} at {row['budget']:,}", []).append(row)
    return [(name, style, groups[name]) for name, style in _styled(groups)]
