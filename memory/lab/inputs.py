"""What `replay` and `compare` are given, looked at before any work is done."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from ..tokens import Budget, BudgetError
from .reading import Reading
from .transcripts import Transcript


def read(transcript: object) -> Reading:
    """The run of a replay, read.

    Raises:
        ValueError: it is no run.
    """
    if isinstance(transcript, Reading):
        return transcript
    if isinstance(transcript, Iterable) and not isinstance(transcript, str):
        raise ValueError(
            f"replay takes one run, not a {type(cast(object, transcript)).__name__}: give one of them, as runs[0]; "
            "compare takes many, and Transcript.from_messages makes a run of chat messages"
        )
    return Reading(_run(transcript))


def as_runs(transcripts: object) -> Iterator[Transcript]:
    """The runs of a comparison, each looked at as it comes.

    Raises:
        ValueError: something is no run, or there is none.
    """
    if isinstance(transcripts, Transcript):
        raise ValueError("compare takes a list of runs, not a Transcript: give [run]")
    if isinstance(transcripts, str) or not isinstance(transcripts, Iterable):
        transcripts = [transcripts]
    empty = True
    for transcript in cast(Iterable[object], transcripts):
        empty = False
        yield _run(transcript)
    if empty:
        raise ValueError("there are no runs to compare: the transcripts given are empty")


def _run(given: object) -> Transcript:
    if isinstance(given, Transcript):
        return given
    if isinstance(given, (str, Path)):
        raise ValueError(f"{str(given)!r} is no run: load_transcripts({str(given)!r}) reads the runs of a file")
    raise ValueError(
        f"a {type(given).__name__} is no run: load_transcripts reads files, "
        "and Transcript.from_messages makes a run of a list of chat messages"
    )


def as_limit(budget: int | Budget) -> int:
    """The tokens that a context may take.

    Raises:
        ValueError: the budget is no whole number, or not positive.
    """
    if isinstance(budget, Budget):
        return budget.limit
    try:
        tokens = operator.index(budget)
    except TypeError as error:
        raise ValueError(f"budget {budget!r} is no whole number of tokens: give one like 8000") from error
    if tokens <= 0:
        raise BudgetError(f"budget {tokens}: a context must be allowed some tokens; give a number like 8000")
    return tokens


def as_limits(budgets: int | Budget | Iterable[int | Budget]) -> list[int]:
    """The budgets of a comparison in tokens, each once.

    Raises:
        ValueError: one is no whole number, or not positive, or there is none.
    """
    several = not isinstance(budgets, (str, Budget)) and isinstance(budgets, Iterable)
    given = cast(Iterable[int | Budget], budgets if several else [budgets])
    limits = list(dict.fromkeys(as_limit(budget) for budget in given))
    if not limits:
        raise ValueError("no budgets are given: give a list of tokens, like [4000, 8000]")
    return limits
