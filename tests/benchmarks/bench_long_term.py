"""How fast long-term memory is, as ratios to what it is built on, measured in one run.

    CARRYFORWARD_DATA=... python tests/benchmarks/bench_long_term.py [--count 20000] [--embedded 500]

The store is filled with `--count` outcomes whose vectors are real: real texts are embedded by MiniLM, and each
outcome joins two sentences of them and has the mean of their vectors, as graphs over random vectors are not those
of a real store. The goals are stated for 100,000; the default is smaller to keep `make bench` short. Without
`CARRYFORWARD_DATA`, the transcripts of `tests/data` give the texts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from carryforward.memory.long_term import LongTermMemory, Outcome, SentenceTransformerEmbedder
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Prepared:
    """MiniLM for what was not embedded before; what was, costs nothing."""

    def __init__(self, model: SentenceTransformerEmbedder) -> None:
        self.model = model
        self.name = model.name
        self.revision = model.revision
        self.dimension = model.dimension
        self.known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        missing = [text for text in texts if text not in self.known]
        fresh = iter(self.model.embed(missing)) if missing else iter(())
        return np.stack([self.known[text] if text in self.known else next(fresh) for text in texts])


def strings(value: object) -> Iterator[str]:
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def sentences(wanted: int) -> list[str]:
    """Distinct real sentences of 40 to 300 characters."""
    data = os.environ.get("CARRYFORWARD_DATA")
    folder = Path(data) / "retrieval" if data else Path(__file__).parents[1] / "data"
    print(f"texts from {'CARRYFORWARD_DATA' if data else 'tests/data'}")
    found: dict[str, None] = {}
    for path in sorted([*folder.rglob("*.jsonl"), *folder.rglob("*.jsonl.gz")]):
        read = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in read.decode().split("\n"):
            for text in strings(json.loads(line or "null")):
                for piece in re.split(r"(?<=[.!?。！？])\s*|\n", text):
                    if 40 <= len(piece.strip()) <= 300:
                        found[piece.strip()] = None
    chosen = list(found)
    random.Random(7).shuffle(chosen)
    return chosen[:wanted]


def median_ms(calls: Sequence[Callable[[], Any]]) -> float:
    calls[0]()
    took: list[float] = []
    for call in calls:
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    return 1000 * statistics.median(took)


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def line(name: str, ours: float, theirs: float, unit: str, goal: str) -> None:
    print(f"{name:44s} {ours:10.2f} {theirs:10.2f} {unit:6s} ratio {ours / theirs:5.2f}  (goal {goal})")


def open_chroma(folder: Path) -> Any:
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))


def bare_chroma(folder: Path, vectors: Vectors) -> Any:
    client = open_chroma(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        collection = client.create_collection(
            "bare", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
    for at in range(0, len(vectors), 5000):
        part = vectors[at : at + 5000]
        collection.add(ids=[str(n) for n in range(at, at + len(part))], embeddings=part)
    return client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="outcomes in the store")
    parser.add_argument("--embedded", type=int, default=500, help="outcomes embedded for the writing rate")
    parser.add_argument("--texts", type=int, default=3_000, help="real sentences to make outcomes of")
    parser.add_argument("--queries", type=int, default=60)
    options = parser.parse_args()

    model = SentenceTransformerEmbedder()
    pieces = sentences(options.texts)
    base = model.embed(pieces)
    chance = random.Random(7)
    pairs = [(chance.randrange(len(pieces)), chance.randrange(len(pieces))) for _ in range(options.count)]
    goals = [f"{pieces[a]} {pieces[b]}" for a, b in pairs]
    joined = np.stack([base[a] + base[b] for a, b in pairs])
    joined /= np.linalg.norm(joined, axis=1, keepdims=True)
    queries = chance.sample(pieces, min(options.queries, len(pieces)))
    embedder = Prepared(model)
    embedder.known = dict(zip(goals, joined, strict=True))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled = LongTermMemory(folder / "ours", embedder=embedder)
        took = seconds(lambda: filled.remember_many(Outcome(goal) for goal in goals))
        filled.close()
        print(f"{options.count} outcomes stored in {took:.1f} s, embedding not counted")
        bare_chroma(folder / "bare", joined).close()

        vectors = [model.embed([query]) for query in queries]

        def first_of_chroma() -> None:
            collection = open_chroma(folder / "bare").get_collection("bare", embedding_function=None)
            collection.query(query_embeddings=vectors[0], n_results=5)

        def first_of_ours() -> None:
            opened.append(LongTermMemory(folder / "ours", embedder=embedder))
            opened[-1].recall(queries[0])

        opened: list[LongTermMemory] = []
        embedder.known |= {query: vector[0] for query, vector in zip(queries, vectors, strict=True)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            theirs, ours = seconds(first_of_chroma), seconds(first_of_ours)
        line("open and first recall / open and first query", ours, theirs, "s", "at most 3")

        embedder.known.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            collection = open_chroma(folder / "bare").get_collection("bare", embedding_function=None)
        asked = median_ms([lambda v=v: collection.query(query_embeddings=v, n_results=5) for v in vectors])
        embedding = median_ms([lambda q=q: model.embed([q]) for q in queries])
        recalled = median_ms([lambda q=q: opened[0].recall(q) for q in queries])
        print(f"bare query {asked:.2f} ms, one embedding {embedding:.2f} ms")
        line("recall / (bare query + one embedding)", recalled, asked + embedding, "ms", "at most 2")
        opened[0].close()

        new = [f"{goal} {n}" for n, goal in enumerate(goals[: options.embedded])]
        bare = len(new) / seconds(lambda: model.embed(new))
        with LongTermMemory(folder / "rate", embedder=model) as memory:
            rate = len(new) / seconds(lambda: memory.remember_many(Outcome(goal) for goal in new))
        line("remember_many / bare embedding", rate, bare, "per s", "at least 0.8")


if __name__ == "__main__":
    main()
