"""`carryforward memories`: the outcomes in long-term memory."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.filesize import decimal
from rich.text import Text

from .common import console, data_folder, in_one_line

if TYPE_CHECKING:
    from ...memory import LongTermMemory, Outcome

app = typer.Typer(help="Outcomes in long-term memory.", no_args_is_help=True)

Store = Annotated[Path | None, typer.Option("--path", help="Folder of the memory; the user's by default.")]
Url = Annotated[str | None, typer.Option(help="Chroma server instead of a folder.")]
Namespace = Annotated[str, typer.Option(help="Namespace.")]
Status = Annotated[Literal["succeeded", "failed", "abandoned"] | None, typer.Option(help="Only these.")]


def _open(path: Path | None, url: str | None, namespace: str) -> LongTermMemory:
    from ...memory import LongTermMemory

    return LongTermMemory(None if url else path or data_folder() / "long-term", url=url, namespace=namespace)


@app.command("list")
@in_one_line
def list_outcomes(path: Store = None, url: Url = None, namespace: Namespace = "default", status: Status = None) -> None:
    """All outcomes, the newest first."""
    with _open(path, url, namespace) as memory:
        shown = 0
        for outcome in memory.outcomes(status=status, newest_first=True):
            _print_outcome(outcome)
            shown += 1
    if not shown:
        console.print("no outcomes", style="dim")


def _print_outcome(outcome: Outcome) -> None:
    """The id (whole, to be copied), day and status; below as much of the goal and of the result as fits in a line."""
    head = f"{outcome.id}  {outcome.finished_at:%Y-%m-%d}  {outcome.status}"
    console.print(head, markup=False, highlight=False, soft_wrap=True)
    for mark, text in (("   ", outcome.goal), (" ->", outcome.result)):
        if text.strip():
            console.print(Text(f"{mark} {' '.join(text.split())}", style="dim"), no_wrap=True, overflow="ellipsis")


def _outcomes(count: int) -> str:
    return f"{count} outcome{'' if count == 1 else 's'}"


@app.command()
@in_one_line
def search(
    goal: Annotated[str, typer.Argument(help="The task that is to be done.")],
    k: Annotated[int, typer.Option("-k", help="Outcomes at most.")] = 5,
    path: Store = None,
    url: Url = None,
    namespace: Namespace = "default",
    status: Status = None,
) -> None:
    """What would be recalled for a task, and why. Nothing, where nothing fits."""
    with _open(path, url, namespace) as memory:
        recalls = memory.recall(goal, k=k, status=status)
    for recall in recalls:
        _print_outcome(recall.outcome)
        console.print(f"    {recall.explain()}", style="dim", markup=False, highlight=False, soft_wrap=True)
    if not recalls:
        console.print("nothing that fits", style="dim")


@app.command()
@in_one_line
def show(
    id: Annotated[str, typer.Argument(metavar="ID")],
    path: Store = None,
    url: Url = None,
    namespace: Namespace = "default",
) -> None:
    """One outcome, whole, as JSON."""
    with _open(path, url, namespace) as memory:
        outcome = memory.get(id)
    if outcome is None:
        raise ValueError(f"no outcome {id!r} in the namespace {namespace!r}; `carryforward memories list` shows all")
    console.print_json(outcome.to_json())


@app.command()
@in_one_line
def forget(
    id: Annotated[str | None, typer.Argument(metavar="ID")] = None,
    older_than_days: Annotated[float | None, typer.Option(help="All that are older.")] = None,
    tag: Annotated[str | None, typer.Option(help="All with this tag.")] = None,
    path: Store = None,
    url: Url = None,
    namespace: Namespace = "default",
) -> None:
    """Delete one outcome, or all that are older or have a tag; see `retain` for limits with exceptions."""
    if id is None and older_than_days is None and tag is None:
        raise ValueError("say what to forget: an ID, --older-than-days or --tag")
    age = None if older_than_days is None else timedelta(days=older_than_days)
    with _open(path, url, namespace) as memory:
        count = memory.forget(id, older_than=age, tag=tag)
    if id is not None and not count:
        raise ValueError(f"no outcome {id!r} in the namespace {namespace!r}; `carryforward memories list` shows all")
    console.print(f"{count} forgotten", highlight=False)


@app.command()
@in_one_line
def retain(
    newest: Annotated[int | None, typer.Option(help="So many stay at most, the newest.")] = None,
    within_days: Annotated[float | None, typer.Option(help="What is older goes.")] = None,
    per_goal: Annotated[int | None, typer.Option(help="So many of the same goal stay at most, the newest.")] = None,
    keep_status: Annotated[
        list[str] | None, typer.Option(help="What has this status stays, and is not counted; may be repeated.")
    ] = None,
    keep_tag: Annotated[
        list[str] | None, typer.Option(help="What has this tag stays, and is not counted; may be repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten.")] = False,
    path: Store = None,
    url: Url = None,
    namespace: Namespace = "default",
) -> None:
    """Delete all that goes beyond any of the limits: a number, an age, a number for each goal."""
    if (newest, within_days, per_goal) == (None, None, None):
        raise ValueError("say what may stay: --newest, --within-days or --per-goal")
    with _open(path, url, namespace) as memory:
        gone = memory.retain(
            newest=newest,
            within=None if within_days is None else timedelta(days=within_days),
            per_goal=per_goal,
            keep_status=keep_status or [],
            keep_tags=keep_tag or [],
            dry_run=dry_run,
        )
        if dry_run:
            for outcome in map(memory.get, gone):
                if outcome is not None:
                    _print_outcome(outcome)
    console.print(f"{len(gone)} {'would be ' if dry_run else ''}forgotten", highlight=False)


@app.command("export")
@in_one_line
def export_outcomes(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    path: Store = None,
    url: Url = None,
    namespace: Namespace = "default",
) -> None:
    """Write all outcomes of the namespace as JSON lines."""
    with _open(path, url, namespace) as memory:
        console.print(f"{_outcomes(memory.export_jsonl(out))} in {out}", markup=False, highlight=False)


@app.command("import")
@in_one_line
def import_outcomes(
    file: Annotated[Path, typer.Argument(help="What `export` wrote.")],
    path: Store = None,
    url: Url = None,
    namespace: Namespace = "default",
) -> None:
    """Store the outcomes of an export, in place of those with the same ids."""
    with _open(path, url, namespace) as memory:
        console.print(f"{_outcomes(memory.import_jsonl(file))} stored", highlight=False)


@app.command()
@in_one_line
def reindex(
    model: Annotated[str, typer.Argument(help="Name or path of a sentence-transformers model.")],
    drop_old: Annotated[bool, typer.Option(help="Delete the vectors of other models at the end.")] = False,
    path: Store = None,
    url: Url = None,
    namespace: Namespace = "default",
) -> None:
    """Embed all outcomes with another model; the old index serves until the new one is whole."""
    from rich.progress import Progress

    from ...memory import SentenceTransformerEmbedder

    with _open(path, url, namespace) as memory, Progress(console=console) as bar:
        count = len(memory)
        line = bar.add_task("embedding", total=count)
        memory.reindex(
            SentenceTransformerEmbedder(model),
            progress=lambda done, total: bar.update(line, completed=done, total=total),
            drop_old=drop_old,
        )
        bar.update(line, completed=count, total=count)
    console.print(
        f"{_outcomes(count)} embedded with {model}; set CARRYFORWARD_EMBEDDER={model} to use it from now on",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


@app.command()
@in_one_line
def stats(path: Store = None, url: Url = None, namespace: Namespace = "default") -> None:
    """Counts, places and the embedding model."""
    with _open(path, url, namespace) as memory:
        found = memory.stats()
    found["size"] = decimal(found.pop("bytes"))
    found["other_models"] = ", ".join(found["other_models"]) or "none"
    for name, value in found.items():
        console.print(f"{name.replace('_', ' '):<14} {value}", markup=False, highlight=False, soft_wrap=True)
