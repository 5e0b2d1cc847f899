"""Price against survival, and the frontier: what no other policy and budget beats in both."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves its keyword arguments untyped)

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .drawing import GREY, finish, new_axes, share_label, styles
from .tables import compared, pool

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_PALE = 0.35
_SHARES = (0, 50, 80, 90, 95, 98, 99, 99.5, 100)
_PRICES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20)
_TICKS = 3  # that an axis has at least
_HEADROOM = 0.12  # of the share axis, above 100 %: for labels of budgets
_MARGIN = 0.1  # of the price axis, on either side


def plot_frontier(frame: pd.DataFrame, axes: Axes | None = None, *, measure: str = "survival") -> Axes:
    """Price against survival (or another share), one marker a policy and budget, the larger the budget.

    The line joins what no other policy and budget beats in both. A budget is written above its best point. A marker is
    pale where a context was not valid or larger than the budget: such points are on no line. Where a policy raised on a
    transcript, its point at that budget is not drawn, and the legend says "(raised)".

    Raises:
        ValueError: the table is no comparison, or the measure no share.
    """
    label = share_label(measure)
    axes = new_axes(axes)
    rows = pool(compared(frame))
    drawn = [row for row in rows if row["price_index"] > 0 and not row["errors"]]
    kept = [row for row in drawn if _keeps_the_rules(row)]
    budgets = sorted({row["budget"] for row in rows})
    for policy, style in styles(rows):
        own = [row for row in drawn if row["policy"] == policy]
        for row in own:
            size, alpha = 5 + 3 * budgets.index(row["budget"]), 1 if row in kept else _PALE
            x, y = _point(row, measure)
            style.draw(axes, "", [x], [y], line="none", size=size, hollow=True, alpha=alpha)
        raised = any(row["errors"] for row in rows if row["policy"] == policy)
        alpha = _PALE if own and not any(row in kept for row in own) else 1
        style.draw(axes, f"{policy} (raised)" if raised else policy, [], [], line="none", hollow=True, alpha=alpha)
    best = frontier([_point(row, measure) for row in kept])
    axes.plot([x for x, _ in best], [y for _, y in best], color=GREY, linewidth=1, zorder=0, label="frontier")
    _name_budgets(axes, kept, measure)
    axes.set(xlabel="price (full history = 1)", ylabel=label)
    _spread_shares(axes, [100 * row[measure] for row in drawn])
    _spread_prices(axes, [row["price_index"] for row in drawn])
    return finish(axes)


def frontier(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The (price, share) points that no other is both cheaper and better than, the cheapest first."""
    best: list[tuple[float, float]] = []
    for price, share in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or share > best[-1][1]:
            best.append((price, share))
    return best


def _point(row: Mapping[str, Any], measure: str) -> tuple[float, float]:
    return row["price_index"], 100 * row[measure]


def _keeps_the_rules(row: Mapping[str, Any]) -> bool:
    return row["valid"] == row["within_budget"] == 1


def _name_budgets(axes: Axes, rows: Sequence[Mapping[str, Any]], measure: str) -> None:
    """Each budget above the best of its points."""
    labels: dict[tuple[float, float], list[str]] = {}
    for budget in sorted({row["budget"] for row in rows}):
        own = (_point(row, measure) for row in rows if row["budget"] == budget)
        labels.setdefault(max(own, key=lambda point: (point[1], -point[0])), []).append(f"{budget / 1000:g}k")
    for at, (point, names) in enumerate(sorted(labels.items())):
        above = 9 + 9 * (at % 2)  # where points lie close together, their labels stand one above the other
        axes.annotate(", ".join(names), point, (0, above), textcoords="offset points", fontsize=8, ha="center")


def _spread_shares(axes: Axes, shares: Sequence[float]) -> None:
    """A scale on which 99 and 100 % are as far apart as 95 and 98: what is lost counts."""
    lowest = min((share for share in shares if not math.isnan(share)), default=0)
    low = max(tick for tick in _SHARES[: 1 - _TICKS] if tick <= lowest)
    axes.set_yscale("function", functions=(_spread, _share))
    axes.set_ylim(low, float(_share(-_HEADROOM * _spread(np.array(low)))))
    ticks = [tick for tick in _SHARES if tick >= low]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])


def _spread(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return -np.log10(101 - np.minimum(share, 100.9))


def _share(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    return 101 - 10**-spread


def _spread_prices(axes: Axes, prices: Sequence[float]) -> None:
    """A logarithmic scale around the prices, finely divided where they lie close together."""
    from matplotlib.ticker import MaxNLocator

    if not prices:
        return
    margin = max(1.02, (max(prices) / min(prices)) ** _MARGIN)
    low, high = min(prices) / margin, max(prices) * margin
    ticks = [tick for tick in _PRICES if low <= tick <= high]
    if len(ticks) < _TICKS:
        ticks = [tick for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(low, high)
    axes.minorticks_off()
