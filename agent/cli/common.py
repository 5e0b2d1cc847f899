"""What the commands share: where things are kept, options of a model server, and errors in one line."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

import typer
from platformdirs import user_data_path
from rich.console import Console

from ...memory.journal import JournalError
from ...memory.long_term.errors import LongTermMemoryError
from ...tools import ToolError
from ..errors import ModelError

P = ParamSpec("P")
R = TypeVar("R")

console = Console()
errors = Console(stderr=True)

BaseUrl = Annotated[
    str | None, typer.Option(help="Model server, e.g. http://localhost:11434/v1 [env: OPENAI_BASE_URL]")
]
ModelName = Annotated[str | None, typer.Option("--model", help="Model on that server [env: OPENAI_MODEL]")]
ApiKey = Annotated[str | None, typer.Option(help="Key of the server [env: OPENAI_API_KEY]")]


def version(
    show: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
) -> None:
    if show:
        typer.echo(metadata.version("carryforward"))
        raise typer.Exit


def in_one_line(command: Callable[P, R]) -> Callable[P, R]:
    """Errors that the user can do something about end the command in one line and exit code 1."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (ModelError, JournalError, LongTermMemoryError, ToolError, OSError, ValueError, ImportError) as error:
            text = f"carryforward: {' '.join(str(error).split())}"
            errors.print(text, style="red", markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(1) from error

    return wrapped


def data_folder() -> Path:
    """Where journals, notes and outcomes are kept: `CARRYFORWARD_HOME`, or the user's data folder."""
    named = os.environ.get("CARRYFORWARD_HOME")
    folder = Path(named) if named else user_data_path("carryforward", appauthor=False)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def journal_path() -> Path:
    """The journal that `run` writes and `runs`, `approve` and `replay` read."""
    return data_folder() / "journal.sqlite3"
