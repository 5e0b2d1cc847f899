"""Learning from a server's own token counts."""

from __future__ import annotations

from collections import deque
from statistics import median

_SAMPLES = 9  # calls that are remembered; the median of them is taken
_TRUNCATED = 0.6  # reported / counted under which a server must have cut the prompt
_SHORTEST = 200  # tokens; shorter contexts say little about the ratio
_HIGHEST = 3.0


class Calibration:
    """How many tokens a server counts for each one counted here; never less than 1.

    Tokenizers that tiktoken does not have, and tool schemas that a server renders at length, make it count more:
    13 % and 29 % in the median were seen on real runs. The budget is kept true by that ratio.
    """

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=_SAMPLES)

    @property
    def ratio(self) -> float:
        return max(1.0, median(self._ratios)) if self._ratios else 1.0

    def learn(self, counted: int, reported: int) -> str | None:
        """Take in one call's counts; returns a warning where the server has silently cut the prompt."""
        if reported <= 0 or counted < _SHORTEST:
            return None
        if reported < counted * _TRUNCATED:
            return (
                f"context_truncated_by_server: about {counted} tokens were sent, the server reports {reported}; "
                "raise its context size (Ollama: num_ctx) or give the memory a smaller budget"
            )
        self._ratios.append(min(reported / counted, _HIGHEST))
        return None
