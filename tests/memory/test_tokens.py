"""Counting, cutting and estimating tokens."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from carryforward.memory import Budget, BudgetError, TokenCounter, tokenizers
from carryforward.memory.tokenizers import Estimate
from hypothesis import given
from hypothesis import strategies as st

COUNTER = TokenCounter(encoding="cl100k_base")


def test_framing_and_names_count_as_in_the_cookbook() -> None:
    messages = [
        {"role": "system", "content": "You answer in one short line."},
        {"role": "user", "name": "guest_one", "content": "How many planets orbit the sun?"},
        {"role": "assistant", "name": "helper", "content": "Eight planets."},
        {"role": "user", "content": "And dwarf planets?"},
    ]
    assert COUNTER.messages(messages) == 45


def test_text_of_a_special_token_is_plain_text() -> None:
    assert COUNTER.count("Explain the marker <|endoftext|> in web corpora.") == 15


@pytest.mark.parametrize(
    "model", ["deepseek-chat", "qwen2.5:14b", "openai/gpt-4o", "GPT-4O", "my-deployment", "", None]
)
def test_any_model_name_counts(model: str | None) -> None:
    assert TokenCounter(model).count("hello world") == 2


def test_unknown_model_is_not_exact_and_known_encoding_is() -> None:
    assert not TokenCounter("qwen2.5:14b").exact
    assert COUNTER.exact


def test_unknown_encoding_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="unknown encoding 'nope'"):
        TokenCounter(encoding="nope")


@given(st.text(), st.integers(0, 30))
def test_truncated_text_counts_within_and_breaks_no_character(text: str, most: int) -> None:
    for cut, whole in (
        (COUNTER.truncate(text, most), text.startswith),
        (COUNTER.truncate_left(text, most), text.endswith),
    ):
        assert COUNTER.count(cut) <= most
        assert whole(cut)


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_any_text_can_be_counted(text: str) -> None:
    assert COUNTER.count(text) >= 0


@given(st.text("ab1 \n\r\t/.,-'sé三\u3000\u00a0\x1c\x85<|{😀\ud83d", max_size=40))
def test_lines_counted_apart_give_the_count_of_the_whole(text: str) -> None:
    counter = TokenCounter(encoding="cl100k_base")
    assert counter.count_by_line(text) == counter.count(text)


def test_long_runs_of_one_character_are_counted() -> None:
    assert COUNTER.count("a" * 100_000) == 12_500
    assert COUNTER.count("中" * 100_000) == 100_000
    assert COUNTER.count("^" * 1_000_000) >= 1000


def test_images_cost_by_their_tiles() -> None:
    def cost(url: str, detail: str = "auto") -> int:
        part = {"type": "image_url", "image_url": {"url": url, "detail": detail}}
        return COUNTER.message({"role": "user", "content": [part]}) - 4

    png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAgAAAAIACAYAAAD0eNT6"  # the head of a 512 x 512 picture
    assert cost(png) == 85 + 170
    assert cost(png, "low") == 85
    assert cost("https://example.org/a.png") == 85 + 4 * 170
    assert cost("data:image/png;base64," + "QUJD" * 50_000) == 85 + 4 * 170


def test_tool_schemas_count_names_texts_and_choices() -> None:
    schema = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a place.",
            "parameters": {"type": "object", "properties": {"unit": {"type": "string", "enum": ["C", "F"]}}},
        },
    }
    assert 25 <= COUNTER.tools([schema]) <= 60
    assert COUNTER.tools([schema, schema]) > COUNTER.tools([schema])
    assert COUNTER.tools(None) == 0


@pytest.mark.filterwarnings("ignore:no tokenizer table")
@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("中文字符的词元数" * 10, 60, 200),
        ("7\n" * 20_000, 36_000, 80_000),
        ("hello world, this is plain English text", 7, 25),
    ],
)
def test_estimate_errs_on_the_high_side(text: str, low: int, high: int) -> None:
    assert low <= Estimate().count(text) <= high


@pytest.mark.filterwarnings("ignore:no tokenizer table")
@given(st.text(), st.integers(0, 30))
def test_estimate_cuts_within_its_own_count(text: str, most: int) -> None:
    assert Estimate().count(Estimate().head(text, most)) <= most


def test_budget_keeps_the_output_free() -> None:
    assert Budget(8000, output=1000).limit == 7000
    assert Budget(32768).max_output(135, 1_000_000) == 32633
    with pytest.raises(BudgetError, match="window"):
        Budget(0)


@pytest.mark.parametrize(
    "schema", ["search", {"function": None}, {"name": "f", "parameters": [1]}, {"parameters": {"properties": [1]}},
               {"parameters": {"properties": {"x": {"enum": 3}}}}]
)  # fmt: skip
def test_a_schema_that_is_none_is_counted_all_the_same(schema: Any) -> None:
    assert COUNTER.tools([schema]) > 0


def test_a_table_that_never_comes_is_waited_for_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and says nothing
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/{{name}}"
        monkeypatch.setattr(tokenizers, "_TABLE_URL", url)
        monkeypatch.setattr(tokenizers, "_PATIENCE", 0.3)
        monkeypatch.setattr(tokenizers, "_unreachable", [])
        for name in ("o200k_base", "p50k_base"):
            assert tokenizers._table.__wrapped__(name) is None
        assert tokenizers._unreachable == [url.format(name="o200k_base")]
