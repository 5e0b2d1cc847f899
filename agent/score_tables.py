"""Tables of scores: rows of text, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .evaluation import Trial
from .scores import Change, Estimate, Scores, by_format, by_task, score


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """A table: its column heads, and its rows with as many cells."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table in Markdown; all columns but the first are set right."""
        marks = ["---", *("---:" for _ in self.heads[1:])]
        lines = [self.heads, marks, *([cell.replace("|", "\\|") for cell in row] for row in self.rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def score_table(trials: Sequence[Trial]) -> ScoreTable:
    """One column a format, one row a measure, each with its 95 % confidence interval."""
    scores = {format: score(group) for format, group in by_format(trials).items()}
    rows = [
        ("runs", [str(one.trials) for one in scores.values()]),
        ("success", [_percent(one.success) for one in scores.values()]),
        ("right tool", [_percent(one.right_tools) for one in scores.values()]),
        ("right arguments", [_percent(one.right_arguments) for one in scores.values()]),
        ("steps", [_number(one.steps, 1) for one in scores.values()]),
        ("unusable replies", [_percent(one.format_errors) for one in scores.values()]),
        ("tokens", [_number(one.tokens, 0) for one in scores.values()]),
        ("US dollars", [_dollars(one) for one in scores.values()]),
        ("ended as", [_endings(group) for group in by_format(trials).values()]),
    ]
    return ScoreTable(["mean of a run", *scores], [[name, *cells] for name, cells in rows])


def task_table(trials: Sequence[Trial], compared: Iterable[Change] = ()) -> ScoreTable:
    """One row a task: how many of its runs were right in each format and, where compared, how many were before."""
    formats = list(by_format(trials))
    before = {(change.task, change.format): change for change in compared}
    rows: list[list[str]] = []
    for task, group in by_task(trials).items():
        cells = [task]
        for format in formats:
            runs = [trial.success for trial in group if trial.format == format]
            change = before.get((task, format))
            cells.append(f"{sum(runs)} of {len(runs)}" + (f" ({_compared(change)})" if change else ""))
        rows.append(cells)
    return ScoreTable(["task", *formats], rows)


def _compared(change: Change) -> str:
    said = f"was {change.before:.0%}"
    if change.now < change.before:
        said += f", p = {change.p:.2g}"
    return said + (", DROP" if change.drop else "")


def _percent(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{100 * estimate.value:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def _number(estimate: Estimate, digits: int) -> str:
    return f"{estimate.value:,.{digits}f} [{estimate.low:,.{digits}f}, {estimate.high:,.{digits}f}]"


def _dollars(scores: Scores) -> str:
    return "unknown" if scores.cost is None else _number(scores.cost, 5)


def _endings(trials: Sequence[Trial]) -> str:
    """`done 88, loop_detected 2`: how the runs ended, the most frequent first."""
    counts: dict[str, int] = {}
    for trial in trials:
        counts[trial.status] = counts.get(trial.status, 0) + 1
    return ", ".join(f"{status} {count}" for status, count in sorted(counts.items(), key=lambda one: -one[1]))
