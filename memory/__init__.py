"""The memory of an LLM agent: short-term memory within a token budget, working facts, long-term memory of outcomes.

Names are loaded when they are first used, so that importing this package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .facts import Fact, Figure, WorkingFacts, extract_facts, unsupported_figures
    from .journal import Entry, Journal, JournalError
    from .long_term import (
        HttpEmbedder,
        LongTermMemory,
        Outcome,
        Recall,
        SentenceTransformerEmbedder,
    )
    from .memory import Memory
    from .messages import Message, MessageError, ToolCall
    from .model_summary import ModelSummarizer
    from .policies import Clamp, Fold, KeepAll, KeepEnds, KeepLast, MaskObservations, Policy, Relevance, Tiered
    from .short_term import ShortTermMemory
    from .summaries import ExtractiveSummarizer
    from .tokens import Budget, BudgetError, TokenCounter
    from .view import Compaction

_WHERE = {
    "facts": ("Fact", "Figure", "WorkingFacts", "extract_facts", "unsupported_figures"),
    "journal": ("Entry", "Journal", "JournalError"),
    "long_term": ("HttpEmbedder", "LongTermMemory", "Outcome", "Recall", "SentenceTransformerEmbedder"),
    "memory": ("Memory",),
    "messages": ("Message", "MessageError", "ToolCall"),
    "model_summary": ("ModelSummarizer",),
    "policies": (
        "Clamp",
        "Fold",
        "KeepAll",
        "KeepEnds",
        "KeepLast",
        "MaskObservations",
        "Policy",
        "Relevance",
        "Tiered",
    ),
    "short_term": ("ShortTermMemory",),
    "summaries": ("ExtractiveSummarizer",),
    "tokens": ("Budget", "BudgetError", "TokenCounter"),
    "view": ("Compaction",),
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "Budget",
    "BudgetError",
    "Clamp",
    "Compaction",
    "Entry",
    "ExtractiveSummarizer",
    "Fact",
    "Figure",
    "Fold",
    "HttpEmbedder",
    "Journal",
    "JournalError",
    "KeepAll",
    "KeepEnds",
    "KeepLast",
    "LongTermMemory",
    "MaskObservations",
    "Memory",
    "Message",
    "MessageError",
    "ModelSummarizer",
    "Outcome",
    "Policy",
    "Recall",
    "Relevance",
    "SentenceTransformerEmbedder",
    "ShortTermMemory",
    "Tiered",
    "TokenCounter",
    "ToolCall",
    "WorkingFacts",
    "extract_facts",
    "unsupported_figures",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{module}", __name__), name)
