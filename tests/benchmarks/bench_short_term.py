"""How fast short-term memory is, what it keeps of real runs, and where it and its peers break.

    python tests/benchmarks/bench_short_term.py imports | steps | add | trim | replay | stress [--cases N] [--runs N]

Ratios are measured in one run on one machine. Transcripts come from the folder in CARRYFORWARD_DATA
(`transcripts/*.jsonl.gz`), else from the sample in tests/data. Peers take part where they are installed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from carryforward.memory import Journal, ShortTermMemory, TokenCounter, extract_facts
from carryforward.memory.lab import compare, format_table, load_transcripts, pool

from tests.benchmarks import peers
from tests.memory.stress import cases, run_case

SAMPLE = Path(__file__).parents[1] / "data"
SETS = {"mini-swe-agent": (4000, 8000, 16000), "tau-bench-airline": (2000,), "tau2-retail": (4000,)}


def imports(_: argparse.Namespace) -> None:
    """What importing costs, against the libraries that are not loaded with it."""
    cost = {
        name: median(_import_seconds(name) for _ in range(3))
        for name in ("carryforward.memory", "carryforward.agent.cli", "chromadb", "torch")
    }
    for name, seconds in cost.items():
        print(f"import {name:<22} {seconds / cost['carryforward.memory']:6.1f} times carryforward.memory")


def _import_seconds(module: str) -> float:
    code = f"import time; start = time.process_time(); import {module}; print(time.process_time() - start)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def steps(given: argparse.Namespace) -> None:
    """Time of a step (`add` and `context`) at message 100 and at message 10,000, without the tokenizer."""
    counter = TokenCounter(encoding="cl100k_base")
    memory = ShortTermMemory(8000, counter=counter)
    messages = list(_long_run(10_000))
    for m in messages:  # every text is counted before the clock runs
        counter.message(m)
    early = late = 0.0
    for at, m in enumerate(messages):
        start = time.process_time()
        memory.add(m)
        if m["role"] == "tool" or at == 0:
            memory.context()
        spent = time.process_time() - start
        early += spent if 100 <= at < 1100 else 0
        late += spent if at >= len(messages) - 1000 else 0
    print(f"messages 100 to 1,100: {early:.2f} ms each; the last 1,000 of 10,000: {late:.2f} ms")
    print(f"ratio {late / early:.2f}")


def _long_run(count: int) -> Any:
    """A run of searches with results of about 140 tokens a message in the mean, all different."""
    yield {"role": "user", "content": "Compare the output of all stations and name the best."}
    for n in range(count // 2):
        call = {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "search", "arguments": f'{{"q": "station {n}"}}'},
        }
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        rows = "\n".join(f"station {n}-{i}: {n * 7 + i} MW, id ST-{n:05d}-{i}, built {1900 + i}" for i in range(10))
        yield {"role": "tool", "tool_call_id": f"c{n}", "content": rows}


def add(given: argparse.Namespace) -> None:
    """Time of `add` and of reading the facts, against the tokenizer's own time on the same texts."""
    import tiktoken

    runs = _transcripts("mini-swe-agent", given.runs or 20)
    texts = [text for run in runs for m in run.messages for text in (m.text, *(c.arguments for c in m.tool_calls))]
    histories = [[m.to_dict() for m in run.messages] for run in runs]
    counted = TokenCounter(encoding="cl100k_base")
    encoding = tiktoken.get_encoding(counted.encoding)
    folder = tempfile.TemporaryDirectory()

    def fill(counter: TokenCounter | None = None, path: str = ":memory:", *, facts: bool = False) -> None:
        with Journal(path) as journal:
            for history in histories:
                counts = counter or TokenCounter(encoding="cl100k_base")
                memory = ShortTermMemory(10_000_000, counter=counts, journal=journal)
                memory.extend(history)
                if facts:
                    len(memory.facts)

    jobs: dict[str, Callable[[], object]] = {
        "tokenizer": lambda: [encoding.encode_ordinary(text) for text in texts],
        "add": fill,
        "add, journal in a file": lambda: fill(path=f"{folder.name}/{time.perf_counter_ns()}.db"),
        "add, all counted before": lambda: fill(counted),
        "add, and every fact read": lambda: fill(facts=True),
        "facts alone": lambda: [extract_facts(m.text) for run in runs for m in run.messages if m.role != "assistant"],
    }
    fill(counted)
    spent = {name: min(_seconds(job) for _ in range(3)) for name, job in jobs.items()}
    for name, seconds in spent.items():
        print(f"{name:<26} {seconds / spent['tokenizer']:.2f} times the tokenizer")
    folder.cleanup()


def _seconds(job: Callable[[], object]) -> float:
    """Processor time of a job."""
    start = time.process_time()
    job()
    return time.process_time() - start


def trim(_: argparse.Namespace) -> None:
    """A step (a call, its result, the context) at the end of 4,000 messages, against LangChain's `trim_messages`.

    Every text of the run is counted before the clock runs; compactions are part of the steps here. LangChain counts as
    its documentation has it, each message whenever it asks; and, in its favour, with counts that are remembered.
    """
    messages = list(_long_run(4000))
    counter = TokenCounter(encoding="cl100k_base")
    print(f"{len(messages)} messages, {counter.messages(messages)} tokens")
    own = _step_seconds(ShortTermMemory(8000, counter=counter), messages, 500)
    print(f"carryforward: {own * 1000:.2f} ms a step, the mean of 500")
    for name, make in peers.installed().items():
        if "trim_messages" in name:
            for how, counts in {
                "exact counter": Forgetful(encoding="cl100k_base"),
                "counts remembered": counter,
            }.items():
                peer = make(8000)
                peer.counter = counts
                seconds = _step_seconds(peer, messages, 3)
                print(f"{name}, {how}: {seconds * 1000:.0f} ms a step, {seconds / own:.0f} times carryforward")


class Forgetful(TokenCounter):
    """Counts a text anew whenever it is asked, as a counter that is handed to a library does."""

    def count(self, text: str) -> int:
        return self._tokenizer.count(text)


def _step_seconds(memory: Any, messages: list[Any], steps: int) -> float:
    """Processor time of a step, the mean of the last ones."""
    for m in messages[: -2 * steps]:
        memory.add(m)
        if m["role"] == "tool" and isinstance(memory, ShortTermMemory):
            memory.context()
    start = time.process_time()
    for m in messages[-2 * steps :]:
        memory.add(m)
        if m["role"] == "tool":
            memory.context()
    return (time.process_time() - start) / steps


def replay(given: argparse.Namespace) -> None:
    """What `Tiered()` as it comes keeps of the development transcripts, and at what price."""
    for name, budgets in SETS.items():
        runs = _transcripts(name, given.runs)
        print(format_table(pool(compare(runs, ["tiered"], budgets).to_dict("records"))))


def stress(given: argparse.Namespace) -> None:
    """Hard histories: in how many of them any context is at fault, and how."""
    contestants: dict[str, Any] = {
        "carryforward": lambda budget: ShortTermMemory(budget, counter=TokenCounter(encoding="cl100k_base")),
        **peers.installed(),
    }
    hard = list(cases(7, given.cases))
    for name, make in contestants.items():
        found: Counter[str] = Counter()
        for case in hard:
            try:
                faults = run_case(case, make)
            except Exception as error:  # noqa: BLE001 - a peer that raises is what is measured
                faults = {f"raises {type(error).__name__}"}
            found.update({"any fault": 1} if faults else {})
            found.update(faults)
        print(f"{name:<34} " + (", ".join(f"{what} {n}" for what, n in found.most_common()) or "no fault"))


def _transcripts(name: str, runs: int | None) -> list[Any]:
    folder = Path(os.environ.get("CARRYFORWARD_DATA", SAMPLE))
    print(f"{name}: from {'the sample in tests/data' if folder == SAMPLE else 'CARRYFORWARD_DATA'}")
    return list(islice(load_transcripts(folder / "transcripts" / f"{name}.jsonl.gz"), runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = {job.__name__: job for job in (imports, steps, add, trim, replay, stress)}
    parser.add_argument("job", choices=jobs)
    parser.add_argument("--runs", type=int, help="only the first runs of each file")
    parser.add_argument("--cases", type=int, default=1000)
    given = parser.parse_args()
    jobs[given.job](given)


if __name__ == "__main__":
    main()
