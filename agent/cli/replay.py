"""`carryforward replay`: recorded runs through truncation policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from .common import console, errors, in_one_line

FILES = "Transcripts (.json, .jsonl, .traj, .log, .txt, also with .gz), journals (.sqlite3, .sqlite, .db), or folders."
POLICIES = (
    "Policy: keep-all, keep-last, keep-ends, clamp, mask, fold or tiered, settings after a colon (keep-last:10); "
    "may be repeated. [default: tiered]"
)
BUDGETS = "Tokens that a context may take; may be repeated. [default: 8000]"


@in_one_line
def replay(
    files: Annotated[list[Path], typer.Argument(help=FILES)],
    policy: Annotated[list[str] | None, typer.Option(help=POLICIES)] = None,
    budget: Annotated[list[str] | None, typer.Option(metavar="TOKENS", help=BUDGETS)] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many transcripts.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the table, one row a transcript, as Parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw price against survival into this picture.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    dask: Annotated[str | None, typer.Option(help="Scheduler of a Dask cluster, tcp://…, instead of --jobs.")] = None,
) -> None:
    """Put recorded runs through policies, without a model; print what would have survived, and at what price."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ...memory.lab import compare, error_lines, format_table, load_transcripts, pool, save_comparison
    from ...memory.lab.tables import compared

    policies, budgets = policy or ["tiered"], [_tokens(text) for text in budget or ["8000"]]
    for name in policies:
        if policies.count(name) > 1:
            raise ValueError(f"--policy {name} is given {policies.count(name)} times: give each policy once")
    _check(out, plot)
    transcripts = load_transcripts(files)
    chosen = transcripts if limit is None else list(islice(transcripts, limit))
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with ExitStack() as stack:
        executor = _executor(stack, jobs, dask)
        shown = Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)
        bar = stack.enter_context(shown)
        line = bar.add_task("contexts", total=None)

        def progress(done: int, total: int) -> None:
            bar.update(line, completed=done, total=total or None)

        frame = compare(chosen, policies, budgets, executor, progress=progress)
    rows = compared(frame)
    for text in (format_table(pool(rows)), *error_lines(rows), *_hint(rows)):
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    if out is not None:
        save_comparison(frame, out)
    if plot is not None:
        _draw(frame, plot)
    if all(isinstance(row["error"], str) for row in rows):
        raise typer.Exit(1)


def _tokens(text: str) -> int:
    number = text.replace(",", "")
    if not number.isdecimal() or int(number) == 0:
        raise ValueError(f"--budget {text}: expected a positive number of tokens, like 8000")
    return int(number)


def _hint(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line that says so where every context was the full history."""
    if any(row["compactions"] or row["price"] != row["full_price"] or isinstance(row["error"], str) for row in rows):
        return []
    return ["every run fits the budget: nothing had to leave; a smaller --budget tells more"]


def _executor(stack: ExitStack, jobs: int, dask: str | None) -> Executor | None:
    if dask is not None:
        try:
            from distributed import Client  # pyright: ignore
        except ImportError as error:
            raise typer.BadParameter("--dask needs Dask: pip install 'carryforward[dask]'") from error
        client: Any = stack.enter_context(Client(dask))  # pyright: ignore[reportUnknownVariableType]
        return client.get_executor()
    return stack.enter_context(ProcessPoolExecutor(jobs)) if jobs > 1 else None


def _check(out: Path | None, plot: Path | None) -> None:
    """Refuse before the work what could not be written after it.

    Raises:
        ValueError: a file's folder does not exist, or its format is not one that is written.
        ImportError: pyarrow or matplotlib is not installed.
    """
    for path in filter(None, (out, plot)):
        if not path.parent.is_dir():
            raise ValueError(f"{path}: there is no folder {path.parent}; make it first")
    if out is not None:
        if out.suffix != ".parquet":
            raise ValueError(f"{out}: the table is saved as Parquet only; name it {out.with_suffix('.parquet').name}")
        import_module("pyarrow")
    if plot is not None:
        figure: Any = import_module("matplotlib.figure").Figure()
        formats = sorted(figure.canvas.get_supported_filetypes())
        if plot.suffix and plot.suffix[1:].lower() not in formats:
            raise ValueError(f"{plot}: no picture is written as {plot.suffix}; expected one of {', '.join(formats)}")


def _draw(frame: Any, path: Path) -> None:
    from ...memory.lab import plot_frontier

    axes: Any = plot_frontier(frame)
    axes.figure.savefig(path, dpi=150, bbox_inches="tight")
