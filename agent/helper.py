"""The helper: a second, cheaper model for what needs no great one, summaries and reflections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ..memory.model_summary import strike_unsupported
from .asking import Asker, Model
from .errors import ModelError
from .prompts import Prompts

_SHOWN = 1500  # characters of each call and of each observation
_SAID = 400  # characters of a reflection
_SECONDS = 60.0


class Helper:
    """A model for cheap work. What it uses counts for the run that it works for.

    Nothing depends on it: where it fails, says nothing, or takes too long, a rule takes its place.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._asker: Asker | None = None

    def works_for(self, asker: Asker) -> None:
        """From now on its usage counts there."""
        self._asker = asker

    async def complete(self, messages: list[dict[str, Any]]) -> str:
        """The text of a reply.

        Raises:
            ModelError: the server gave none.
            TimeoutError: the run has no time left.
        """
        async with asyncio.timeout(self._asker.seconds_left() if self._asker else None):
            reply = await self.model.complete(messages)
        if self._asker is not None:
            self._asker.count_help(reply)
        return reply.text.strip()

    async def reflect(
        self, task: str, seen: Sequence[tuple[str, str]], texts: Prompts, warn: Callable[[str], None]
    ) -> str:
        """A few words on why these calls, each with what it gave, did not work; empty where there are none to have.

        Figures that stand neither in the task nor in what was seen are struck out.
        """
        shown = "\n\n".join(f"{call[:_SHOWN]}\n{observation[:_SHOWN]}" for call, observation in seen)
        try:
            async with asyncio.timeout(_SECONDS):
                said = await self.complete([{"role": "user", "content": texts.reflect.format(task[:_SHOWN], shown)}])
        except (ModelError, TimeoutError) as error:
            warn(f"no reflection: {error or 'it took too long'}")
            return ""
        return strike_unsupported(" ".join(said.split())[:_SAID], f"{task}\n{shown}")
