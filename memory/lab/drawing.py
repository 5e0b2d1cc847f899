"""What all plots have in common: axes, legends, and a style for each name.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), which colour-blind people tell apart, without the
yellow, which is too pale for marks, and with an indigo; markers and line styles differ too, so that the plots can be
read in grey. Of more names than colours, the second lot has filled markers where the first has hollow ones, and other
pairs of colour and marker.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves its keyword arguments untyped)

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#999999"  # of lines to compare with; no name has it
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#332288", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", ":")
_INSIDE = 9  # names that a legend inside the axes may have; more stand beside them
_SHARES = {
    "survival": "demands",
    "survival_far": "far demands",
    "reachable": "demands",
    "valid": "steps",
    "within_budget": "steps",
    "cached_share": "prompt tokens",
}


def share_label(measure: str) -> str:
    """The label of an axis that shows a share.

    Raises:
        ValueError: the measure is no share.
    """
    if measure not in _SHARES:
        raise ValueError(f"measure {measure!r} is no share: expected one of {', '.join(_SHARES)}")
    return f"{measure.replace('_', ' ')} (% of {_SHARES[measure]})"


def new_axes(axes: Axes | None) -> Axes:
    """The axes given, or those of a new figure."""
    if axes is not None:
        return axes
    from matplotlib.figure import Figure

    return Figure(figsize=(7, 4.5), layout="constrained").subplots()


def finish(axes: Axes) -> Axes:
    """Grid and legend."""
    axes.grid(visible=True, linewidth=0.3)
    named = len(axes.get_legend_handles_labels()[0])
    if named > _INSIDE:
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), ncols=math.ceil(named / _INSIDE / 2))
    elif named:
        axes.legend(fontsize=8)
    return axes


@dataclass(frozen=True, slots=True)
class Style:
    """How one name is drawn."""

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


def styled(names: Iterable[str]) -> Iterator[tuple[str, Style]]:
    """Each name with its style."""
    for i, name in enumerate(names):
        again, at = divmod(i, len(_COLOURS))
        marker, line = _MARKERS[(at + 3 * again) % len(_MARKERS)], _LINES[(at + again) % len(_LINES)]
        yield name, Style(_COLOURS[at], marker, line, filled=again % 2 == 1)


def styles(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Style]]:
    """Each policy with its style."""
    return styled(dict.fromkeys(row["policy"] for row in rows))
