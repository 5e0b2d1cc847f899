"""`carryforward demo`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from .common import ApiKey, BaseUrl, ModelName, console, in_one_line


@in_one_line
def demo(
    example: Annotated[
        Literal["weather", "everest", "manual"] | None, typer.Option(help="A walk-through instead of the two tasks.")
    ] = None,
    language: Annotated[Literal["en", "zh"], typer.Option(help="Language of task and prompts.")] = "en",
    budget: Annotated[int, typer.Option(help="Tokens of one context.")] = 3000,
    base_url: BaseUrl = None,
    model: ModelName = None,
    api_key: ApiKey = None,
) -> None:
    """Run the main job: a long research task within a small budget, then a related one that recalls it.

    Everything is real but the model: without --base-url and --model a stand-in answers over HTTP on this machine. It
    knows only what the messages sent to it show.
    """
    from ..demo.run import run_demo

    code = run_demo(
        base_url=base_url,
        model=model,
        api_key=api_key,
        language=language,
        example=example,
        budget=budget,
        console=console,
    )
    raise typer.Exit(code)
