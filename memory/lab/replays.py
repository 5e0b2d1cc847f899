"""Replay: a recorded run put through a policy, step by step, without a model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from ..short_term import ShortTermMemory
from ..tokens import REPLY_PRIMING, Budget
from .contestants import Contestant, Factory, Keeper, label, make
from .cost import INDEX
from .explanation import explain
from .inputs import as_limit, read
from .measures import Measures, StepRecord, measured
from .plots import plot_timeline
from .reading import Demand, Reading, Seen
from .refs import shows_ref
from .replayed import Replayed
from .transcripts import Transcript
from .validity import Validity
from .values import Searchable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Replay(Replayed):
    """A replay that explains itself."""

    def explain(self, step: int) -> str:
        """In words: what the context of a step showed, what had left it, and which values were missed and why.

        Args:
            step: index of the assistant message in the transcript; `records` has them.

        Raises:
            ValueError: there is no record of this step.
        """
        return explain(self, step)

    def timeline(self, axes: Axes | None = None) -> Axes:
        """The context by its parts over the steps, with budget, watermarks, compactions and misses."""
        return plot_timeline(self, axes)


def replay(
    transcript: Transcript | Reading, policy: Contestant, budget: int | Budget, *, name: str | None = None
) -> Replay:
    """Put a recorded run through a policy: before each assistant message the policy's context is taken and measured.

    Args:
        transcript: the run; a `Reading` of it, when several policies are replayed, so that the shared work is
            done once.
        policy: a name (`"tiered"`, `"keep-last:10"`), one of our policies, or any factory that makes, from the
            budget in tokens, an object with `add(message)` and `context()`.
        budget: tokens that a context may take.
        name: what the policy is called in the result.

    Raises:
        ValueError: the transcript is no run, the policy is none or its name unknown, or the budget is no positive
            number. What the policy itself raises ends the replay and is its `error`.
    """
    reading, limit = read(transcript), as_limit(budget)
    run = _Run(reading, make(policy, reading.counter, reading.facts), limit)
    run.play()
    measures = measured(reading, run.records, summary_calls=run.summary_calls, error=run.error)
    return Replay(
        transcript=reading.transcript.id,
        policy=name or label(policy),
        budget=limit,
        records=tuple(run.records),
        reading=reading,
        marks=run.marks,
        **{field.name: getattr(measures, field.name) for field in fields(Measures)},
    )


class Attempt:
    """Runs a policy's code, times it, and keeps what it raised.

    A policy is anybody's code: whatever it raises is a finding about the policy, and must end its replay only.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.error: str | None = None

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        self.seconds += time.perf_counter() - self._start
        if isinstance(error, Exception):
            self.error = f"{type(error).__name__}: {error}"
            return True
        return False


class _Run:
    """A replay under way."""

    def __init__(self, reading: Reading, factory: Factory, limit: int) -> None:
        self.reading, self.limit = reading, limit
        self.records: list[StepRecord] = []
        self.error: str | None = None
        self._factory = factory
        self._keeper: Keeper | None = None
        self._refs: list[str] = []  # of each message added, where the keeper gives refs
        self._validity = Validity(reading)
        self._previous: list[Seen] = []
        self._tokens = 0  # of the previous context
        self._decided = 0
        self._looking_up = Attempt()

    def play(self) -> None:
        """Go through the transcript until it ends or the policy raises."""
        attempt = Attempt()
        with attempt:
            self._keeper = self._factory(self.limit)
        if self._keeper is None:
            self.error = f"when it was made: {attempt.error}"
            return
        steps = set(self.reading.transcript.steps)
        for index, message in enumerate(self.reading.transcript.messages):
            if index in steps:
                context: Any = None
                with attempt:
                    context = self._keeper.context()
                if attempt.error is None:
                    self._measure(self._keeper, index, context, attempt.seconds)
                    attempt = Attempt()
                    attempt.error = self._looking_up.error
            raw, ref = message.to_dict(), None
            if attempt.error is None:
                with attempt:
                    ref = self._keeper.add(raw)
            if attempt.error is not None:
                self.error = f"at message {index}, call {len(self.records) + 1}: {attempt.error}"
                return
            self._refs.append(ref if isinstance(ref, str) else "")

    @property
    def summary_calls(self) -> int:
        with Attempt():
            return int(getattr(self._keeper, "summary_calls", 0))
        return 0

    @property
    def marks(self) -> tuple[int, int] | None:
        """Low and high watermark in tokens, where the keeper is ours."""
        if not isinstance(self._keeper, ShortTermMemory):
            return None
        policy, fixed = self._keeper.policy, self.reading.head_tokens + REPLY_PRIMING
        room = max(0, self.limit - fixed)
        return fixed + int(room * policy.low), fixed + int(room * policy.high)

    def _measure(self, made: Keeper, step: int, context: Any, seconds: float) -> None:
        listed = cast(list[Any], context) if isinstance(context, list) else []
        shown = self.reading.see_all(listed, self._previous)
        previous, self._previous = self._previous, shown
        grown = shown[: len(previous)] == previous
        common = self._tokens if grown else self.reading.common_tokens(previous, shown)
        self._tokens = (common if grown else 0) + sum(seen.tokens for seen in shown[len(previous) if grown else 0 :])
        prompt = REPLY_PRIMING + self._tokens
        cached = INDEX.cached_tokens(common)
        missed = tuple(
            demand
            for demand in self.reading.demands.get(step, ())
            if not any(seen.holds(demand.value) for seen in reversed(shown))
        )
        self.records.append(
            StepRecord(
                step=step,
                shown=tuple(shown),
                prompt_tokens=prompt,
                cached_tokens=cached,
                seconds=seconds,
                within_budget=prompt <= self.limit,
                faults=self._validity.faults(shown, grown=grown),
                missed=missed,
                reachable=self._reachable(made, missed, shown),
                rewritten=not grown,
                decided=self._news(made),
            )
        )

    def _reachable(self, made: Keeper, missed: Sequence[Demand], shown: Sequence[Seen]) -> tuple[Demand, ...]:
        """Missed demands whose value stands on the first page that `lookup` gives for a ref in the context."""
        lookup = getattr(made, "lookup", None)
        if not missed or lookup is None:
            return ()
        texts = [seen.message.text for seen in shown]

        def brings_back(message: int, value: str) -> bool:
            ref = self._refs[message]
            page = ""
            if shows_ref(texts, ref):
                with self._looking_up:
                    page = str(lookup(ref))
            return Searchable(page).holds(value)

        return tuple(d for d in missed if any(brings_back(at, d.value) for at in {d.source, d.last_seen}))

    def _news(self, made: Keeper) -> tuple[Any, ...]:
        """What the policy recorded of its compactions since the last step, where it keeps a list of them."""
        kept = getattr(made, "compactions", None)
        if not isinstance(kept, list):
            return ()
        new, self._decided = cast(list[Any], kept)[self._decided :], len(cast(list[Any], kept))
        return tuple(new)
