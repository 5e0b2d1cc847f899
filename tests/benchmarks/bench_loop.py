"""What the loop itself costs a step, without model and tools, early and late in a long run.

    python tests/benchmarks/bench_loop.py [--steps N]

Processor time of one process, with a journal on disk and a budget of 8,000 tokens, so that compactions take part.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

from carryforward.agent import Agent, Reply, StepStarted, Usage
from carryforward.memory import Memory
from carryforward.tools import Tool

WINDOW = 100  # steps of which a figure is taken
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


class Searcher:
    """A model that searches for something else each time, and in the end is done."""

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.seconds = 0.0

    async def complete(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **options: Any
    ) -> Reply:
        start = time.process_time()
        self._left -= 1
        function = {"name": "search", "arguments": json.dumps({"query": f"tower {self._left}"})}
        call = {"id": f"call_{self._left}", "type": "function", "function": function}
        said = {"content": "done"} if self._left < 0 else {"content": None, "tool_calls": [call]}
        self.seconds += time.process_time() - start
        return Reply({"role": "assistant", **said}, "stop", Usage(1, 1, estimated=True), "searcher")


async def measure(steps: int, folder: str) -> list[float]:
    """Milliseconds of each step, the model's own time taken off."""

    async def search(query: str) -> str:
        return (
            f"The {query} is {100 + len(query)}.{query[-1]} m high and was built in 1987. "
            + "It stands by a river. " * 12
        )

    model, marks = Searcher(steps), list[float]()
    memory = Memory(8000, journal=Path(folder) / "journal.db")
    tools = [Tool("search", "Finds texts.", QUERY, run=search)]
    async for event in Agent(model, tools, memory=memory, max_steps=None).stream("How high are the towers?"):
        if isinstance(event, StepStarted):
            marks.append(time.process_time() - model.seconds)
    memory.close()
    return [1000 * (after - before) for before, after in pairwise(marks)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        took = asyncio.run(measure(steps, folder))
    early = median(took[10 : 10 + WINDOW])
    for start in range(0, steps, WINDOW):
        part = took[start : start + WINDOW]
        print(
            f"steps {start:4d}-{start + WINDOW:4d}: median {median(part):5.2f} ms "
            f"({median(part) / early:4.2f} times step 10), mean {mean(part):5.2f} ms"
        )


if __name__ == "__main__":
    main()
