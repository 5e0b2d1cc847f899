"""`carryforward runs`: what the journal holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ...memory.journal import Journal, JournalError
from .common import console, in_one_line, journal_path

app = typer.Typer(help="Runs in the journal: list, show, export.", no_args_is_help=True)
RunId = Annotated[str, typer.Argument(metavar="RUN")]
_LINE = 160  # characters of one entry


@app.command("list")
@in_one_line
def list_runs() -> None:
    """All runs, the newest last."""
    table = Table("run", "began", "entries", "status", "task")
    with Journal(journal_path()) as journal:
        for info in journal.runs():
            opening = journal.entries(info.run, "run")
            outcome = journal.entries(info.run, "outcome")
            status = outcome[-1].body["status"] if outcome else "open"
            task = opening[0].body["task"] if opening else ""
            table.add_row(info.run, info.started_at[:16], str(info.entries), status, task[:60])
    console.print(table)


@app.command("show")
@in_one_line
def show_run(run: RunId) -> None:
    """One run, an entry a line."""
    with Journal(journal_path()) as journal:
        entries = journal.entries(run)
    if not entries:
        raise JournalError(f"there is no run {run}; `carryforward runs list` shows all")
    for entry in entries:
        text = " ".join(json.dumps(entry.body, ensure_ascii=False).split())
        line = f"{entry.seq:>4} {entry.at[11:19]} {entry.kind:<13} {text}"
        console.print(line if len(line) <= _LINE else line[: _LINE - 1] + "…", markup=False, highlight=False)


@app.command("export")
@in_one_line
def export_run(run: RunId, out: Annotated[Path, typer.Argument(help="The file to write.")]) -> None:
    """Write one run as JSON lines, an entry a line; `carryforward replay` reads it."""
    with Journal(journal_path()) as journal:
        entries = journal.entries(run)
    if not entries:
        raise JournalError(f"there is no run {run}; `carryforward runs list` shows all")
    lines = [
        json.dumps({"run": e.run, "seq": e.seq, "kind": e.kind, "at": e.at, "body": e.body}, ensure_ascii=False)
        for e in entries
    ]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    console.print(f"{len(entries)} entries in {out}", markup=False, highlight=False)
