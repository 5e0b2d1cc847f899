"""What a replay found: the measures, and a record of each step."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from .cost import PROVIDERS, Pricing
from .measures import Measures, StepRecord
from .reading import Reading

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Replayed(Measures):
    """What a policy made of a transcript at a budget: the measures, and a record of each step.

    Attributes:
        transcript: the run's id.
        policy: what the policy is called.
        budget: tokens that a context may take.
        records: one for each step that the policy came to.
        reading: the transcript as the replay read it.
        marks: the policy's low and high watermark in tokens, where it has such.
    """

    transcript: str
    policy: str
    budget: int
    records: tuple[StepRecord, ...] = field(repr=False)
    reading: Reading = field(repr=False)
    marks: tuple[int, int] | None = None

    def row(self) -> dict[str, Any]:
        """The replay as one row of a comparison."""
        source = self.reading.transcript.source
        head = {"transcript": self.transcript, "source": source, "policy": self.policy, "budget": self.budget}
        return head | {one.name: getattr(self, one.name) for one in fields(Measures)}

    def dollars(self, pricing: Pricing) -> float:
        """The bill for the calls that were made and their replies, by a provider's cache and prices.

        Tokens are the lab's, and the common prefixes are known in blocks of 64 of them.

        Raises:
            ValueError: what is given is no `Pricing`.
        """
        if not isinstance(pricing, Pricing):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"{pricing!r} is no Pricing: give PROVIDERS[name], of {', '.join(PROVIDERS)}, or your own")
        return sum(
            pricing.dollars(
                record.prompt_tokens,
                pricing.cached_tokens(record.cached_tokens),
                self.reading.originals[record.step].tokens,
            )
            for record in self.records
        )

    def frame(self) -> pd.DataFrame:
        """One row a step, for the plots of context and time."""
        import pandas as pd

        rows = [
            {
                "transcript": self.transcript,
                "policy": self.policy,
                "budget": self.budget,
                "call": call,
                "step": record.step,
                "prompt_tokens": record.prompt_tokens,
                "cached_tokens": record.cached_tokens,
                "full_tokens": self.reading.full_tokens(record.step),
                "missed": len(record.missed),
                "rewritten": record.rewritten,
                "seconds": record.seconds,
            }
            for call, record in enumerate(self.records, 1)
        ]
        return pd.DataFrame(rows)
