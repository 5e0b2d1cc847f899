"""Comparing policies over many transcripts and budgets, on one machine or on many."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..tokens import Budget, TokenCounter
from .contestants import Contestant, described, labelled
from .inputs import as_limits, as_runs
from .reading import Reading
from .replays import replay
from .transcripts import Transcript

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger("carryforward.lab")

Progress = Callable[[int, int], None]
Row = dict[str, Any]

_IN_FLIGHT = 64  # shares handed out at a time, so that a stream of transcripts is never held as a whole; of these,
# the largest go first, or one that comes last would keep one worker busy when the others have done
_TRIES = 3
_NOT_SENT = (pickle.PicklingError, AttributeError, TypeError)  # what pickling raises; to try again would not help


@dataclass(frozen=True, slots=True)
class Share:
    """One transcript with everything that is done to it: the piece that a worker gets."""

    transcript: Transcript
    policies: Mapping[str, Contestant]
    budgets: Sequence[int]
    encoding: str

    def rows(self, tick: Callable[[int], object] | None = None) -> list[Row]:
        """One row for each policy and budget; `tick` is told the calls of each replay that is done."""
        reading = Reading(self.transcript, TokenCounter(encoding=self.encoding))
        rows: list[Row] = []
        for name, policy in self.policies.items():
            for budget in self.budgets:
                rows.append(replay(reading, policy, budget, name=name).row())
                reading.forget()
                if tick is not None:
                    tick(len(self.transcript.steps))
        return rows

    @property
    def calls(self) -> int:
        """Contexts that the share makes."""
        return len(self.transcript.steps) * len(self.policies) * len(self.budgets)

    @property
    def size(self) -> int:
        """What the share's work grows with: its calls, and the characters of the run."""
        return self.calls * sum(len(message.text) for message in self.transcript.messages)


def compare(
    transcripts: Iterable[Transcript],
    policies: Sequence[Contestant] | Mapping[str, Contestant],
    budgets: int | Budget | Iterable[int | Budget],
    executor: Executor | None = None,
    *,
    encoding: str = "cl100k_base",
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Replay every transcript with every policy at every budget.

    Args:
        transcripts: the runs; a stream is read as it is needed.
        policies: as `replay` takes them; a dict gives them names of one's own.
        budgets: tokens of a context, one number or several; one given twice counts once.
        executor: does the work, one transcript at a time: a `ProcessPoolExecutor`, or Dask's
            `Client.get_executor()`; this process by default. What is sent must be picklable. A share that a lost
            worker took with it is done again, in this process where the executor is broken for good.
        encoding: the encoding that tokens are counted in.
        progress: called with the contexts done and those in all (0 where the transcripts are a stream that can be
            read only once).

    Returns:
        One row for each transcript, policy and budget, in the order given, with the columns of `Measures`. The same
        inputs give the same table, `seconds` left out. `error` is text, missing (`pandas.NA`) where nothing was raised.
        `attrs["settings"]` says what made it.

    Raises:
        ValueError: something is no run, a policy is none or its name unknown, two are called the same, a budget is no
            positive number, or there is no run, policy or budget at all.
        PicklingError: a policy can't be sent to a worker.
    """
    import pandas as pd

    named = labelled(policies)
    limits = as_limits(budgets)
    total = 0
    if progress is not None and not isinstance(transcripts, Iterator):
        total = sum(len(run.steps) for run in as_runs(transcripts)) * len(named) * len(limits)
    shares = (Share(run, named, limits, encoding) for run in as_runs(transcripts))
    done = 0

    def tick(calls: int) -> None:
        nonlocal done
        done += calls
        if progress is not None:
            progress(done, total)

    by_number = dict(_finished(shares, executor, tick))
    frame = pd.DataFrame([row for number in sorted(by_number) for row in by_number[number]])
    frame = frame.astype({"error": "string"})  # one type, whether anything failed or not
    frame.attrs["settings"] = {
        "policies": {name: described(policy) for name, policy in named.items()},
        "budgets": limits,
        "encoding": encoding,
        "transcripts": len(by_number),
    }
    return frame


def _finished(
    shares: Iterator[Share], executor: Executor | None, tick: Callable[[int], object]
) -> Iterator[tuple[int, list[Row]]]:
    """The rows of each share, as they are ready."""
    numbered = enumerate(shares)
    if executor is None:
        for number, share in numbered:
            yield number, share.rows(tick)
        return
    tries: dict[int, int] = {}
    running: dict[Future[list[Row]], tuple[int, Share]] = {}
    lost: list[tuple[int, Share]] = []
    while True:
        read = islice(numbered, max(0, _IN_FLIGHT - len(running) - len(lost)))
        batch = sorted((*lost, *read), key=lambda one: -one[1].size)
        if not batch and not running:
            return
        for number, share in batch:
            tries[number] = tries.get(number, 0) + 1
            submitted = _submitted(executor, share)
            if submitted is None:
                yield number, share.rows(tick)
            else:
                running[submitted] = number, share
        lost.clear()
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            number, share = running.pop(future)
            error = future.exception()
            if error is None:
                del tries[number]
                tick(share.calls)
                yield number, future.result()
            elif isinstance(error, _NOT_SENT):
                raise _not_sent(share, error) from error
            elif tries[number] == _TRIES:
                raise error
            else:
                log.warning("transcript %s: its worker was lost (%r); it is done again", share.transcript.id, error)
                lost.append((number, share))


def _submitted(executor: Executor, share: Share) -> Future[list[Row]] | None:
    """The share on its way; None where the executor takes no more work."""
    try:
        return executor.submit(Share.rows, share)
    except BrokenExecutor as error:
        log.warning("transcript %s is done in this process: %s", share.transcript.id, error)
        return None


def _not_sent(share: Share, error: BaseException) -> BaseException:
    """The same error, with the policies that it is about where these can't be pickled."""
    names = [name for name, policy in share.policies.items() if not _can_be_sent(policy)]
    if not names:
        return error
    return pickle.PicklingError(
        f"policy {', '.join(names)} can't be sent to a worker ({error}): "
        "give a name, a policy of ours, or a class or function of a module"
    )


def _can_be_sent(policy: Contestant) -> bool:
    try:
        pickle.dumps(policy)
    except _NOT_SENT:
        return False
    return True
