"""The command line. `carryforward --help` lists the commands; each imports what it needs when it runs."""

import typer

from . import demo, doctor, eval, memories, replay, run, runs
from .common import version

app = typer.Typer(
    name="carryforward",
    help="The memory an LLM agent needs for long work, and the agent that proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(version)
app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("approve")(run.approve)
app.command("eval")(eval.evaluate)
app.command("replay")(replay.replay)
app.command("doctor")(doctor.doctor)
app.add_typer(memories.app, name="memories")
app.add_typer(runs.app, name="runs")

__all__ = ["app"]
