"""An outcome found for a new task, with the reasons for its rank, and how it is shown to a model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from .outcome import Outcome


@dataclass(frozen=True, slots=True)
class Recall:
    """One outcome that fits a new task.

    `score` is the similarity in [0, 1] that the relevance floor is compared with, higher is better. `cosine`
    (None where this embedding model never read the outcome) and `lexical` (share of the query's weight found in
    the outcome) are its parts, `matched` the query's terms found. `history` holds the ids of earlier outcomes
    with the same text or the same goal, the newest first; they are represented by this one.
    """

    outcome: Outcome
    score: float
    cosine: float | None
    lexical: float
    matched: tuple[str, ...]
    age: timedelta
    helped: int = 0
    history: tuple[str, ...] = ()

    @property
    def is_warning(self) -> bool:
        """True for a task that did not succeed: what it tells is what to avoid."""
        return self.outcome.status != "succeeded"

    def explain(self) -> str:
        """Why this outcome was recalled, in one paragraph for people."""
        cosine = "not embedded by this model" if self.cosine is None else f"{self.cosine:.2f}"
        words = ", ".join(self.matched) if self.matched else "none"
        lines = [
            f"score {self.score:.2f} (meaning {cosine}, words {self.lexical:.2f}; matched: {words})",
            f"status {self.outcome.status}, {describe_age(self.age)}, helped {self.helped} times",
        ]
        if self.history:
            lines.append(f"newest of {len(self.history) + 1}; earlier: {', '.join(self.history)}")
        return "; ".join(lines)


def describe_age(age: timedelta) -> str:
    seconds = max(0, int(age.total_seconds()))
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {name}{'s' if count > 1 else ''} old"
    return "just now"
