"""Fold: old steps become a summary that is carried forward."""

from __future__ import annotations

from dataclasses import dataclass

from ..summaries import Step
from ..view import View
from .base import Desk, Watermarks


@dataclass(frozen=True, slots=True)
class Fold(Watermarks):
    """Folds the oldest steps into the summary until the context is at the low mark; the last step stays."""

    def compact(self, view: View, goal: int, desk: Desk) -> None:
        """Fold the oldest steps."""
        fold_oldest(view, goal, desk, keep=1)


def fold_oldest(view: View, goal: int, desk: Desk, *, keep: int) -> None:
    """Fold the oldest steps into the summary until the view is at `goal`, sparing the last `keep`."""
    steps = view.steps()
    folded: list[Step] = []
    for step in steps[: max(0, len(steps) - keep)]:
        if view.tokens <= goal:
            break
        view.remove("fold", step)
        folded.append([(line.ref, line.message) for line in step])
    if folded:
        view.summary = desk.summarizer.summarize(view.summary, folded, desk.summary_room)
