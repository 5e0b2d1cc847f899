"""Long-term memory: the outcome of every task, found when it matters.

Names are loaded when first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedders import Embedder, HttpEmbedder, SentenceTransformerEmbedder
    from .errors import (
        EmbedderError,
        LongTermMemoryError,
        NamespaceError,
        OutcomeError,
        OutcomeNotFoundError,
        ServerError,
        StoreError,
    )
    from .memory import LongTermMemory
    from .outcome import Outcome
    from .recall import Recall, format_recalls, without_notes

_HOMES = {
    "embedders": ("Embedder", "HttpEmbedder", "SentenceTransformerEmbedder"),
    "errors": (
        "EmbedderError",
        "LongTermMemoryError",
        "NamespaceError",
        "OutcomeError",
        "OutcomeNotFoundError",
        "ServerError",
        "StoreError",
    ),
    "memory": ("LongTermMemory",),
    "outcome": ("Outcome",),
    "recall": ("Recall", "format_recalls", "without_notes"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Embedder",
    "EmbedderError",
    "HttpEmbedder",
    "LongTermMemory",
    "LongTermMemoryError",
    "NamespaceError",
    "Outcome",
    "OutcomeError",
    "OutcomeNotFoundError",
    "Recall",
    "SentenceTransformerEmbedder",
    "ServerError",
    "StoreError",
    "format_recalls",
    "without_notes",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
