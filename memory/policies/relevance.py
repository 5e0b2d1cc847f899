"""Relevance: the steps that have least to do with the task and the latest steps leave first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..summaries import messages_text
from ..view import Line, View
from .base import Desk, Watermarks

READ = 2000  # characters of a step that are embedded; models read little more


class Embeds(Protocol):
    """Turns texts into vectors of length 1, an array of shape (n, d); the embedders of long-term memory do."""

    def embed(self, texts: Sequence[str], /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Relevance(Watermarks):
    """Leaves out the steps whose embedding is farthest from the task and the last `keep` steps; those stay.

    With an `HttpEmbedder` a compaction asks its server; with `SentenceTransformerEmbedder` nothing leaves the machine.
    """

    embedder: Embeds = field(kw_only=True)
    keep: int = 2

    def compact(self, view: View, goal: int, desk: Desk) -> None:
        """Leave out the least relevant steps."""
        steps = view.steps()
        old, last = steps[: len(steps) - self.keep], steps[len(steps) - self.keep :]
        if not old:
            return
        vectors = np.asarray(self.embedder.embed([desk.about[:READ], *(_text(step) for step in [*last, *old])]))
        wanted, found = vectors[: 1 + len(last)], vectors[1 + len(last) :]
        nearness = (found @ wanted.T).max(axis=1)
        for at in np.argsort(nearness, kind="stable"):
            if view.tokens <= goal:
                return
            view.remove("drop", old[int(at)])


def _text(step: Sequence[Line]) -> str:
    return messages_text([line.message for line in step])[:READ]
