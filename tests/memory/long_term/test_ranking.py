"""Terms, scores and embedding models, each for itself."""

from __future__ import annotations

import json
import math
from datetime import timedelta

import httpx
import numpy as np
import pytest
from carryforward.memory.long_term import (
    EmbedderError,
    HttpEmbedder,
    LongTermMemory,
    Outcome,
    OutcomeError,
    Recall,
    SentenceTransformerEmbedder,
    ServerError,
    ranking,
)
from carryforward.memory.long_term.lexical import QueryTerm
from carryforward.memory.long_term.terms import fingerprint, terms

from .conftest import HashedWords


@pytest.mark.parametrize("text", ["on May 2nd", "2 May 2023", "2023-05-02", "5月2日", "2023年5月2号", "2nd of may"])
def test_a_date_is_one_term_in_every_writing(text: str) -> None:
    assert "#05-02" in terms(text)


@pytest.mark.parametrize("text", ["version 13.45", "May 45", "2023-13-02", "12月40日", "maybe 2"])
def test_what_is_no_date_gives_no_date(text: str) -> None:
    assert not [term for term in terms(text) if term.startswith("#")]


def test_terms_of_words_and_of_cjk() -> None:
    assert terms("Pumps, FILTERS and ladies") == ["pump", "filter", "and", "lady"]
    assert terms("替换油滤 A3 茶") == ["替换", "换油", "油滤", "a3", "茶"]
    assert fingerprint("The Ｉndex  runs.") == fingerprint("the index, runs")


def query(**weights: float) -> list[QueryTerm]:
    return [QueryTerm(text, weight, 1, 1) for text, weight in weights.items()]


def test_coverage_grows_with_what_is_held_and_stays_in_bounds() -> None:
    asked = query(pump=2.0, filter=1.0)
    none = ranking.coverage(asked, {}, 10, 10)
    part = ranking.coverage(asked, {"filter": 1}, 10, 10)
    more = ranking.coverage(asked, {"pump": 1}, 10, 10)
    whole = ranking.coverage(asked, {"pump": 3, "filter": 2}, 10, 10)
    assert none == 0 < part < more < whole <= 1
    assert ranking.coverage([], {}, 0, 0) == 0


@pytest.mark.parametrize("cosine", [1 + 4.77e-07, 1 - 1.79e-07, -1.0000001])
def test_scores_stay_in_bounds(cosine: float) -> None:
    assert 0 <= ranking.score(cosine, 0.0, 1.0) <= ranking.score(cosine, 1.0, 1.0) <= 1


def test_an_embedder_that_cannot_read_the_query_is_not_trusted() -> None:
    model = SentenceTransformerEmbedder()
    assert model.legibility("Replace the oil filter of pump 3") == 1
    assert model.legibility("Замените масляный фильтр насоса") < 0.5
    chinese = ranking.trust(model.legibility("《战国无双3》是由哪两个公司合作开发的？"))
    assert chinese < 0.2
    assert ranking.trust(1.0) == 1
    assert ranking.score(0.9, 0.4, 0.0) == 0.4


def test_minilm_finds_by_meaning_and_gives_unit_vectors(tmp_path) -> None:
    model = SentenceTransformerEmbedder()
    vectors = model.embed(["one", "two words", ""])
    assert vectors.shape == (3, model.dimension) == (3, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    with LongTermMemory(tmp_path, embedder=model) as memory:
        memory.remember(Outcome("Repair the car's brakes", "new pads", id="car"))
        memory.remember(Outcome("Bake a lemon cake", "200 g of sugar", id="cake"))
        memory.remember(Outcome("查找天津大桥的长度", "全长 3.2 公里", id="bridge"))
        assert memory.recall("Fix an automobile's braking system", k=1)[0].outcome.id == "car"
        assert memory.recall("天津大桥有多长", k=1)[0].outcome.id == "bridge"
        assert memory.recall("Find out why the kernel driver panics on boot") == []


@pytest.mark.parametrize("vectors", [[[1.0, 2.0]], [[math.nan] * 64], [[1.0] * 64, [1.0] * 64]])
def test_a_wrong_embedding_is_named_and_nothing_stored(tmp_path, vectors: list) -> None:
    class Wrong(HashedWords):
        def embed(self, texts):
            return np.array(vectors, dtype=np.float32)

    with LongTermMemory(tmp_path, embedder=Wrong("wrong")) as memory:
        with pytest.raises(EmbedderError, match="'wrong'"):
            memory.remember(Outcome("task"))
        assert len(memory) == 0


def http_embedder(answer) -> HttpEmbedder:
    return HttpEmbedder("m", base_url="http://embeddings.test/v1", transport=httpx.MockTransport(answer))


def test_http_embeddings_are_put_in_order_and_scaled() -> None:
    asked: list[dict] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        asked.append(body)
        rows = [{"index": n, "embedding": [len(text), 0]} for n, text in enumerate(body["input"])]
        return httpx.Response(200, json={"data": rows[::-1]})

    model = http_embedder(answer)
    assert model.dimension == 2
    assert model.embed(["a", "", "ccc"]).tolist() == [[1, 0], [1, 0], [1, 0]]
    assert asked[-1]["model"] == "m"
    assert model.embed([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda r: httpx.Response(401, text="bad key"), "401.*bad key"),
        (lambda r: httpx.Response(200, text="<html>"), "no readable embeddings"),
        (lambda r: httpx.Response(200, json={"data": []}), "0 embeddings for 2 texts"),
        (
            lambda r: httpx.Response(
                200, json={"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}
            ),
            "different lengths",
        ),
    ],
)
def test_a_server_of_embeddings_that_fails_is_named(answer, words: str) -> None:
    with pytest.raises(EmbedderError, match=words):
        http_embedder(answer).embed(["a", "b"])


def test_a_model_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(EmbedderError, match="cannot load the embedding model"):
        SentenceTransformerEmbedder(tmp_path / "nothing").embed(["a"])


def test_the_environment_names_the_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARRYFORWARD_EMBEDDER", "/models/other")
    assert SentenceTransformerEmbedder().name == "/models/other"
    assert SentenceTransformerEmbedder("given").name == "given"
    monkeypatch.setenv("CARRYFORWARD_EMBEDDER", "")
    assert SentenceTransformerEmbedder().name.endswith("MiniLM-L6-v2")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "localhost:8000"])
def test_a_chroma_server_that_is_away_is_named(tmp_path, url: str) -> None:
    with pytest.raises(ServerError, match="Chroma server"):
        LongTermMemory(tmp_path, url=url, embedder=HashedWords())


@pytest.mark.parametrize(
    "arguments",
    [
        {"goal": " "},
        {"goal": "x", "status": "done"},
        {"goal": "x", "tags": "one"},
        {"goal": "x", "id": ""},
        {"goal": "x", "id": "\ud800"},
        {"goal": "x", "metadata": {"a": (1, 2)}},
        {"goal": "x", "metadata": {1: 2}},
        {"goal": "x", "metadata": {"a": object()}},
    ],
)
def test_an_outcome_without_sense_is_refused(arguments: dict) -> None:
    with pytest.raises(OutcomeError):
        Outcome(**arguments)


def test_words_tell_in_a_store_of_one_or_two_outcomes(tmp_path) -> None:
    with LongTermMemory(tmp_path) as memory:
        memory.remember(Outcome("first version: pump at 3 bar", id="pump"))
        memory.remember(Outcome("second version: pump at 5 bar", id="pump"))
        assert [recall.outcome.goal for recall in memory.recall("pump pressure")] == ["second version: pump at 5 bar"]
        assert memory.recall("Find out why the kernel driver panics on boot") == []
        memory.remember(Outcome("泵的压力为 5 bar", id="zh"))
        assert memory.recall("泵的压力是多少")[0].outcome.id == "zh"


def test_one_of_two_words_tells_by_itself_in_a_store_of_one_outcome(tmp_path) -> None:
    with LongTermMemory(tmp_path, embedder=HashedWords()) as memory:
        memory.remember(Outcome("tide table", id="a"))
        assert memory.recall("tide times")[0].outcome.id == "a"
        assert memory.recall("kernel panics") == []


def test_a_recall_explains_itself() -> None:
    recall = Recall(Outcome("goal", status="failed"), 0.5, 0.25, 0.75, 0.0, ("pump",), timedelta(days=2), 3, ("a", "b"))
    text = recall.explain()
    for part in ("0.50", "0.25", "trusted 0%", "0.75", "pump", "failed", "2 days old", "helped 3 times", "a, b"):
        assert part in text
