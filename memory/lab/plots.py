"""Plots of comparisons. Each takes a table, draws on one Axes, and gives it back."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves its keyword arguments untyped)

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .drawing import GREY, Style, finish, new_axes, share_label, styled, styles
from .explanation import parts
from .replayed import Replayed
from .tables import compared, distance_labels, pool, stepwise

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_TITLE = 48  # characters of a run's id in a title
_PARTS = (
    ("system", "system prompt", "#000000", ""),
    ("task", "task", "#0072B2", "//"),
    ("added", "added by the policy", "#CC79A7", "xx"),
    ("shortened", "shortened", "#E69F00", ".."),
    ("whole", "whole messages", "#56B4E9", ""),
)


def plot_survival(frame: pd.DataFrame, axes: Axes | None = None, *, measure: str = "survival") -> Axes:
    """Survival (or another share, `measure="reachable"`) against the budget, one line a policy.

    Raises:
        ValueError: the table is no comparison, or the measure no share.
    """
    label = share_label(measure)
    axes = new_axes(axes)
    rows = pool(compared(frame))
    for policy, style in styles(rows):
        points = sorted((row["budget"], 100 * row[measure]) for row in rows if row["policy"] == policy)
        style.draw(axes, policy, [x for x, _ in points], [y for _, y in points])
    axes.set(xlabel="budget (tokens)", ylabel=label)
    _log_tokens(axes, sorted({row["budget"] for row in rows}))
    return finish(axes)


def plot_misses(frame: pd.DataFrame, axes: Axes | None = None) -> Axes:
    """Share of demands missed, by how far back the value was last seen; one line a policy and budget.

    Choose a few rows of the comparison first, such as those of one budget.
    """
    axes = new_axes(axes)
    rows = pool(compared(frame))
    several = len({row["budget"] for row in rows}) > 1
    names = [f"{row['policy']} at {row['budget']:,}" if several else row["policy"] for row in rows]
    for (name, style), row in zip(styled(names), rows, strict=True):
        pairs = zip(row["demands_by_distance"], row["kept_by_distance"], strict=True)
        missed = [100 * (asked - kept) / asked if asked else float("nan") for asked, kept in pairs]
        style.draw(axes, name, range(len(missed)), missed)
    axes.set_xticks(range(len(distance_labels())), distance_labels())
    axes.set(xlabel="distance (tokens since the value was last seen)", ylabel="missed (% of demands)")
    return finish(axes)


def plot_context(steps: pd.DataFrame, axes: Axes | None = None) -> Axes:
    """Prompt tokens over the calls of a run, with the full history's; takes `Replay.frame()`, or several of one run."""
    axes = new_axes(axes)
    rows = stepwise(steps)
    longest: list[dict[str, Any]] = []
    for name, style, own in _by_replay(rows):
        style.draw(axes, name, [row["call"] for row in own], [row["prompt_tokens"] for row in own], marker="")
        longest = max(longest, own, key=len)
    full = [row["full_tokens"] for row in longest]
    axes.plot(range(1, len(full) + 1), full, color=GREY, linestyle=":", label="full history")
    axes.set(xlabel="model call", ylabel="context (tokens)")
    return finish(axes)


def plot_seconds(steps: pd.DataFrame, axes: Axes | None = None) -> Axes:
    """Time that the policy takes at each call of a run; takes `Replay.frame()`, or several joined."""
    axes = new_axes(axes)
    for name, style, own in _by_replay(stepwise(steps)):
        style.draw(axes, name, [row["call"] for row in own], [1000 * row["seconds"] for row in own], marker=".")
    axes.set(xlabel="model call", ylabel="time of the policy (ms)", yscale="log")
    return finish(axes)


def plot_timeline(replay: Replayed, axes: Axes | None = None) -> Axes:
    """The context by its parts over the calls, with budget, watermarks, compactions and misses."""
    axes = new_axes(axes)
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
    axes.set(xlabel="model call", ylabel="context (tokens)", title=f"{replay.policy} on {_short(replay.transcript)}")
    finish(axes).legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return axes


def _short(text: str) -> str:
    half = _TITLE // 2
    return text if len(text) <= _TITLE else f"{text[:half]}…{text[-half:]}"


def _log_tokens(axes: Axes, budgets: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()


def _by_replay(rows: Sequence[dict[str, Any]]) -> list[tuple[str, Style, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(f"{row['policy']} at {row['budget']:,}", []).append(row)
    return [(name, style, groups[name]) for name, style in styled(groups)]
