"""What a policy is: it decides what leaves a context that is too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..facts import WorkingFacts
from ..summaries import Summarizer
from ..tokens import TokenCounter
from ..view import Line, View


@dataclass(frozen=True, slots=True)
class Desk:
    """What a policy works with beside the view.

    Attributes:
        room: tokens of the budget that system prompt, tool schemas and task leave free.
        about: the task's text.
        summary_room: tokens that a summary may take.
    """

    counter: TokenCounter
    facts: WorkingFacts
    summarizer: Summarizer
    room: int
    about: str
    summary_room: int


class Policy(Protocol):
    """Decides what leaves.

    `compact` is called when the context has passed the high mark, and edits the view until it is at or under
    `goal` tokens, or until it has nothing more to give: what then still is too long, the guarantee shortens.

    Attributes:
        high, low: the watermarks, shares of the room beside system prompt and task. Above `high` the context is
            compacted, down to `low`.
    """

    @property
    def high(self) -> float: ...
    @property
    def low(self) -> float: ...

    def arrive(self, view: View, line: Line, desk: Desk) -> None:
        """An observation has just come in; it may be shortened at once."""
        ...

    def compact(self, view: View, goal: int, desk: Desk) -> None:
        """Edit the view down to `goal` tokens."""
        ...


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Base of the policies: the marks, and nothing done to what arrives.

    Of the room under `low`, half of all room is kept for what is carried forward; the steps that stay have the rest.
    """

    high: float = 1.0
    low: float = 0.75

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise ValueError(f"watermarks must be 0 <= low < high <= 1, got low={self.low}, high={self.high}")

    def arrive(self, view: View, line: Line, desk: Desk) -> None:
        """Observations come in as they are."""
