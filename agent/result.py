"""How a run ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .approval import PendingAction
from .guards import Spent

Status = Literal["done", "out_of_steps", "loop_detected", "format_failed", "over_budget", "refused", "waiting", "error"]
"""`waiting`: paused until a pending action is answered. `refused`: the model or its server declined the task."""


REMEMBERED_AS: dict[Status, Literal["succeeded", "failed", "abandoned"]] = {
    "done": "succeeded",
    "out_of_steps": "failed",
    "loop_detected": "failed",
    "format_failed": "failed",
    "over_budget": "abandoned",
    "refused": "abandoned",
    "error": "failed",
}
"""The status of the outcome that a finished run leaves to long-term memory."""


class Stop(Exception):  # noqa: N818 - it ends the run as it should end
    """The run ends without an answer of the model's own. `ask`: it may be asked for a last one."""

    def __init__(self, status: Status, reason: str, *, ask: bool = True) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason, self.ask = reason, ask


@dataclass(frozen=True, slots=True)
class RunResult:
    """The answer of a run and how it came about.

    `answer` is never empty: where the model gave none, it is put together from the facts and the last observations.
    `reason` says in one line why a run ended without an answer of its own (empty when `done`). `recalled` are the
    outcomes of earlier tasks that were shown (`Recall`), `unsupported` the figures of the model's answer that no source
    accounts for (`Figure`), `pending` the actions that wait for an answer. `usage` counts over all model calls, those
    before a resume included.
    """

    answer: str
    status: Status
    steps: int
    usage: Spent
    run_id: str
    recalled: tuple[Any, ...] = ()
    unsupported: tuple[Any, ...] = ()
    reason: str = ""
    pending: tuple[PendingAction, ...] = ()

    def to_entry(self) -> dict[str, Any]:
        """What the journal keeps of it, as JSON values: answer, status, reason and usage."""
        return {"answer": self.answer, "status": self.status, "reason": self.reason, "usage": asdict(self.usage)}

    @classmethod
    def from_entry(cls, run_id: str, entry: Mapping[str, Any]) -> RunResult:
        """A result as the journal keeps it; what was recalled and the unsupported figures are not part of that."""
        usage = Spent(**entry["usage"])
        return cls(entry["answer"], entry["status"], usage.steps, usage, run_id, reason=entry["reason"])
