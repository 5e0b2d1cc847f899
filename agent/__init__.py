"""The agent: a model, tools and a memory, put to work; and what reads and answers a model's replies.

Names are loaded when they are first used, so that importing this package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent import Agent
    from .approval import Allow, ApprovalError, Change, Deny, PendingAction, answer, pending_actions
    from .errors import ModelError
    from .events import (
        ApprovalNeeded,
        Compacted,
        Event,
        Finished,
        ModelReplied,
        Observed,
        Recalled,
        RunStarted,
        StepStarted,
        ToolCalled,
        Warned,
    )
    from .formats import Action, FinalAnswer, FormatProblem, parse_reply
    from .guards import Limits, Spent
    from .model import ChatModel, Timeouts
    from .prices import Price, price_of
    from .reply import Reply, Usage
    from .result import RunResult

_WHERE = {
    "agent": ("Agent",),
    "approval": ("Allow", "ApprovalError", "Change", "Deny", "PendingAction", "answer", "pending_actions"),
    "errors": ("ModelError",),
    "events": (
        "ApprovalNeeded",
        "Compacted",
        "Event",
        "Finished",
        "ModelReplied",
        "Observed",
        "Recalled",
        "RunStarted",
        "StepStarted",
        "ToolCalled",
        "Warned",
    ),
    "formats": ("Action", "FinalAnswer", "FormatProblem", "parse_reply"),
    "guards": ("Limits", "Spent"),
    "model": ("ChatModel", "Timeouts"),
    "prices": ("Price", "price_of"),
    "reply": ("Reply", "Usage"),
    "result": ("RunResult",),
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "Action",
    "Agent",
    "Allow",
    "ApprovalError",
    "ApprovalNeeded",
    "Change",
    "ChatModel",
    "Compacted",
    "Deny",
    "Event",
    "FinalAnswer",
    "Finished",
    "FormatProblem",
    "Limits",
    "ModelError",
    "ModelReplied",
    "Observed",
    "PendingAction",
    "Price",
    "Recalled",
    "Reply",
    "RunResult",
    "RunStarted",
    "Spent",
    "StepStarted",
    "Timeouts",
    "ToolCalled",
    "Usage",
    "Warned",
    "answer",
    "parse_reply",
    "pending_actions",
    "price_of",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return list(__all__)
