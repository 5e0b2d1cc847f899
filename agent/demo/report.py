"""What a finished run is judged by: its figures, and its tokens against those of the full history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from ...memory.memory import Memory
from ..result import RunResult
from .check import Expected

_GOAL = 90  # characters


@dataclass(frozen=True, slots=True)
class History:
    """The full history: tokens of the last call had nothing been left out, and the sum over all calls."""

    last: int
    total: int


def full_history(memory: Memory, run_id: str) -> History:
    """What the model calls of a run would have sent without any shortening, from its journal."""
    opening = memory.journal.entries(run_id, "run")[0].body
    tokens = memory.counter.messages([]) + memory.counter.tools(opening["tools"])
    last = total = 0
    for entry in memory.journal.entries(run_id, "message"):
        if entry.body["message"]["role"] == "assistant":
            last = tokens
            total += tokens
        tokens += memory.counter.message(entry.body["message"])
    return History(last, total)


def missing_figures(answer: str, expected: Sequence[Expected]) -> list[str]:
    """What the answer should say and does not, in one text for each subject."""
    found = [(one.about, one.missing(answer)) for one in expected]
    return [f"{about}: {', '.join(figures)}" for about, figures in found if figures]


def print_report(console: Console, memory: Memory, result: RunResult, expected: Sequence[Expected]) -> None:
    """Print the answer, the support of its figures, and what the run cost."""

    def line(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    colour = "bold" if result.status == "done" else "bold red"
    line(f"\n[{colour}]Answer[/] ({result.status}, {result.steps} steps)\n{escape(result.answer)}\n")
    if result.status == "error":
        return
    unsupported = ", ".join(figure.text for figure in result.unsupported)
    line(
        f"[red]figures without a source: {escape(unsupported)}[/]"
        if unsupported
        else "[green]every figure of the answer has a source in the run[/]"
    )
    count, missing = sum(len(one.figures) for one in expected), missing_figures(result.answer, expected)
    line(
        f"[red]wrong or missing, by the documents: {escape('; '.join(missing))}[/]"
        if missing
        else f"[green]all {count} figures are right, by the documents themselves[/]"
    )
    history, sent = full_history(memory, result.run_id), result.usage.prompt_tokens
    cached = result.usage.cached_tokens
    line(
        f"tokens sent: {sent:,}, of which {cached / max(sent, 1):.0%} from the cache; the full history would be "
        f"{history.total:,} in all ({sent / max(history.total, 1):.0%} of it sent), {history.last:,} in the last"
    )


def print_remembered(console: Console, memory: Memory) -> None:
    """Print the outcomes that long-term memory holds, newest first."""
    if memory.long_term is None:
        return
    for outcome in memory.long_term.outcomes(newest_first=True):
        goal = " ".join(outcome.goal.split())[:_GOAL]
        console.print(
            f"[magenta]remembered[/] {escape(goal)}… ({outcome.status}, {outcome.steps} steps, "
            f"{len(outcome.facts)} facts)",
            highlight=False,
            soft_wrap=True,
        )
