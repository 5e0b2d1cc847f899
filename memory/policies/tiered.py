"""Tiered: the cheap ways first, measured again after each. The default policy."""

from __future__ import annotations

from dataclasses import dataclass

from ..view import Line, View
from .base import Desk, Watermarks
from .clamp import clamp_line
from .fold import fold_oldest
from .mask import mask_oldest


@dataclass(frozen=True, slots=True)
class Tiered(Watermarks):
    """Clamps large observations as they arrive; at a compaction masks old observations, then folds old steps.

    Args:
        low: at the default the last step alone stays whole, and the values of all others are carried forward; higher
            keeps more steps, at a higher price.
        share: the part of the room that one observation may take.
        keep: steps at the end whose observations are not masked.
    """

    low: float = 0.5
    share: float = 0.3
    keep: int = 2

    def arrive(self, view: View, line: Line, desk: Desk) -> None:
        """Clamp the observation if it is larger than its share."""
        clamp_line(view, line, desk, int(desk.room * self.share))

    def compact(self, view: View, goal: int, desk: Desk) -> None:
        """Mask, then fold."""
        mask_oldest(view, goal, desk, keep=self.keep)
        if view.tokens > goal:
            fold_oldest(view, goal, desk, keep=1)
