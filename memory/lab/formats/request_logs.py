"""Logs in which every request to a model stands with all messages so far: a run is the longest of its requests.

The same holds for the states of a LangGraph thread, which come oldest or newest first.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..transcripts import TranscriptError
from .common import Found


def longest(found: Iterator[Found]) -> Iterator[Found]:
    """The runs of a file without those that are the beginning of the run before or after them.

    One run is held back. Equal runs are all given, as trials may end alike, but for repeats of a request in a log.
    """
    held, log = None, False
    try:
        for run in found:
            if held and _continues(run, held, equal=log):
                held, log = run, True
            elif held and _continues(held, run, equal=log):
                log = True
            else:
                if held:
                    yield held
                held, log = run, False
    except (TranscriptError, RecursionError):
        if held:  # a fault further down does not take the runs before it away
            yield held
        raise
    if held:
        yield held


def _continues(run: Found, start: Found, equal: bool) -> bool:
    messages, before = run.draft.messages, start.draft.messages
    longer = len(messages) > len(before) or (equal and len(messages) == len(before))
    return longer and bool(before) and messages[: len(before)] == before
