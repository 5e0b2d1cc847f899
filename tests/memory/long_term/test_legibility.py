"""What an embedding model behind a server can read, learnt from its vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from carryforward.memory.long_term import HttpEmbedder, LongTermMemory, Outcome, SentenceTransformerEmbedder, ranking
from carryforward.memory.long_term.legibility import AT_ONCE, JUDGED, Legibility
from numpy.typing import NDArray

from .embeddings_server import EmbeddingsServer, serving

ENGLISH = "Replace the oil filter of pump 3 in hall B"
CHINESE = "《战国无双3》是由哪两个公司合作开发的？"


@pytest.fixture(scope="module")
def served() -> Iterator[EmbeddingsServer]:
    with serving(SentenceTransformerEmbedder().embed) as server:
        yield server


@pytest.fixture
def minilm(served: EmbeddingsServer) -> HttpEmbedder:
    served.requests.clear()
    return HttpEmbedder("minilm", base_url=served.url)


@pytest.mark.parametrize(
    "text",
    [ENGLISH, "TypeError in utils/io.py:42, exit code 137", "Zdeněk Bakala, Wojewódzki, O'Reilly", "42 / 7 = 6", ""],
)
def test_what_minilm_reads_is_trusted_whole(minilm: HttpEmbedder, text: str) -> None:
    assert minilm.legibility(text) == 1.0


@pytest.mark.parametrize("text", [CHINESE, "茶", "替换油滤", "柠檬蛋糕怎么做", "สะพานสูงเท่าไร"])
def test_what_minilm_has_no_words_for_is_not_trusted(minilm: HttpEmbedder, text: str) -> None:
    assert ranking.trust(minilm.legibility(text)) == 0.0


def test_each_script_of_a_text_counts_for_its_words(minilm: HttpEmbedder) -> None:
    alone = minilm.legibility("替换油滤")
    assert minilm.legibility("pump 替换油滤 filter valve") == pytest.approx((4 * alone + 3) / 7)


def test_the_server_and_the_tokenizer_agree_on_what_is_unknown(minilm: HttpEmbedder) -> None:
    tokenizer = SentenceTransformerEmbedder()
    for text in (ENGLISH, CHINESE):
        assert minilm.legibility(text) == pytest.approx(tokenizer.legibility(text), abs=0.15)


def test_the_server_is_asked_about_so_many_words_of_a_script_and_no_more(
    served: EmbeddingsServer, minilm: HttpEmbedder
) -> None:
    characters = [chr(0x4E00 + n) for n in range(2 * JUDGED)]
    for at in range(0, len(characters), 8):
        minilm.legibility("".join(characters[at : at + 8]))
    asked = [set(texts) & set(characters) for texts in served.requests]
    assert sum(map(len, asked)) == JUDGED
    assert max(map(len, asked)) <= AT_ONCE
    before = len(served.requests)
    assert minilm.legibility(CHINESE) < 0.5
    assert len(served.requests) == before
    minilm.legibility("a word of another script")
    assert len(served.requests) == before + 1


def test_a_recall_through_a_server_goes_by_words_where_its_model_cannot_read(
    tmp_path: Path, minilm: HttpEmbedder
) -> None:
    with LongTermMemory(tmp_path, embedder=minilm) as memory:
        memory.remember(Outcome("查找天津大桥的长度", "全长 3.2 公里", id="bridge"))
        memory.remember(Outcome("Repair the car's brakes", "new pads", id="car"))
        chinese = memory.recall("天津大桥有多长", k=1)[0]
        english = memory.recall("Fix an automobile's braking system", k=1)[0]
    assert (chinese.outcome.id, chinese.trust, chinese.score) == ("bridge", 0.0, chinese.lexical)
    assert (english.outcome.id, english.trust) == ("car", 1.0)


def test_a_model_that_tells_all_letters_apart_reads_every_script() -> None:
    def letters(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), 0x11000), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[[ord(letter) for letter in text]] = 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    reader = Legibility(letters)
    assert reader.share(CHINESE) == reader.share(ENGLISH) == reader.share("Замените фильтр насоса") == 1.0
