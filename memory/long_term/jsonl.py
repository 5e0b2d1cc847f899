"""Outcomes in a file, one line of JSON each."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .errors import NamespaceError, OutcomeError
from .outcome import Outcome


def write_outcomes(path: str | Path, outcomes: Iterable[Outcome]) -> int:
    """Write outcomes, and say how many; the file is there whole or, after an error, as it was before."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: there is no folder {target.parent}")
    partial = target.with_name(f"{target.name}.{uuid.uuid4().hex}.part")
    written = 0
    try:
        with partial.open("w", encoding="utf-8") as file:
            for outcome in outcomes:
                file.write(outcome.to_json() + "\n")
                written += 1
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return written


def read_outcomes(path: str | Path, accept: Callable[[Outcome], Outcome]) -> Iterator[Outcome]:
    """What `accept` makes of each outcome of a file; blank lines are skipped.

    Raises:
        OutcomeError: a line is no outcome.
        NamespaceError: `accept` refused it. Either error names the line.
    """
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                outcome = accept(Outcome.from_json(line))
            except (OutcomeError, NamespaceError) as error:
                raise type(error)(f"{path}, line {number}: {error}") from error
            yield outcome
