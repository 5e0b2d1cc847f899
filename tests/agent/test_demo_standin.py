"""The stand-in model as a server: protocol, usage, and that it says nothing that it was not shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from carryforward.agent.demo import stations
from carryforward.agent.demo.reading import Quantity, find, find_after, written
from carryforward.agent.demo.research import Comparison, station_names
from carryforward.agent.demo.scene import read_scene
from carryforward.agent.demo.standin import CACHE_BLOCK, MODEL, StandIn
from carryforward.agent.demo.walkthroughs import walkthrough
from carryforward.agent.formats import reply_format
from carryforward.agent.formats.base import Action
from carryforward.memory.tokens import TokenCounter
from carryforward.tools import Tool

CORPUS = Path(__file__).parents[2] / "tools" / "corpus"
TASK = "Compare these hydropower stations: Itaipu; Hoover Dam. Find the figures. A year has 8,760 hours."
TOOLS = [{"type": "function", "function": {"name": "search", "description": "", "parameters": {"type": "object"}}}]


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn([Comparison()]) as server:
        yield server


def ask(server: StandIn, messages: list[dict[str, Any]], /, **body: Any) -> httpx.Response:
    with httpx.Client(trust_env=False) as client:
        asked = {"model": MODEL, "messages": messages, "tools": TOOLS} | body
        return client.post(f"{server.base_url}/chat/completions", json=asked)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def after_fetch(document: str) -> list[dict[str, Any]]:
    """The context after the second of two documents was read."""
    call = {"id": "a", "type": "function", "function": {"name": "fetch", "arguments": '{"document": "hoover-dam.md"}'}}
    said = {"role": "assistant", "content": "[collect 2/2] Read hoover-dam.md.", "tool_calls": [call]}
    return [user(TASK), said, {"role": "tool", "tool_call_id": "a", "content": document}]


def test_first_turn_is_a_native_call_that_the_protocol_allows(standin: StandIn) -> None:
    choice = ask(standin, [user(TASK)]).json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    (call,) = choice["message"]["tool_calls"]
    assert call["type"] == "function"
    assert call["function"]["name"] == "search"
    assert "Itaipu" in json.loads(call["function"]["arguments"])["query"]


def test_streamed_reply_is_the_whole_reply_in_pieces(standin: StandIn) -> None:
    whole = ask(standin, [user(TASK)]).json()
    streamed = ask(standin, [user(TASK)], stream=True, stream_options={"include_usage": True})
    lines = [line.removeprefix("data: ") for line in streamed.text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    chunks = [json.loads(line) for line in lines]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    message = whole["choices"][0]["message"]
    assert "".join(delta.get("content") or "" for delta in deltas) == message["content"]
    pieces = [call["function"]["arguments"] for delta in deltas for call in delta.get("tool_calls", [])]
    assert "".join(pieces) == message["tool_calls"][0]["function"]["arguments"]
    assert chunks[-1]["usage"]["prompt_tokens"] == whole["usage"]["prompt_tokens"]


def test_usage_is_the_exact_count_and_repeats_are_cached_in_blocks(standin: StandIn) -> None:
    messages = [user(TASK + " Take your time." * 200)]
    first, second = (ask(standin, messages).json()["usage"] for _ in range(2))
    counter = TokenCounter()
    assert first["prompt_tokens"] == counter.messages(messages) + counter.tools(TOOLS)
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    cached = second["prompt_tokens_details"]["cached_tokens"]
    assert cached % CACHE_BLOCK == 0
    assert second["prompt_tokens"] - CACHE_BLOCK < cached <= second["prompt_tokens"]
    assert [received.prompt_tokens for received in standin.requests] == [first["prompt_tokens"]] * 2


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"model": "gpt-4o"}, 404, "does not exist"),
        ({"messages": []}, 400, "at least one message"),
        ({"messages": [user("Write a poem.")]}, 400, "--base-url"),
    ],
)
def test_what_it_cannot_answer_is_refused_with_a_reason(
    standin: StandIn, body: dict[str, Any], status: int, says: str
) -> None:
    response = ask(standin, [user(TASK)], **body)
    assert response.status_code == status
    assert says in response.json()["error"]["message"]


@pytest.mark.parametrize("name", ["react", "bracket", "json"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_text_formats_are_written_as_the_prompt_asks_and_read_back(standin: StandIn, name: str, language: Any) -> None:
    task = TASK if language == "en" else "比较下列水电站：伊泰普；三峡。\n请查找资料。"
    search = Tool("search", "Finds documents.", {"type": "object", "properties": {"query": {"type": "string"}}}, str)
    form = reply_format(name, language)
    messages = [{"role": "system", "content": form.instructions([search])}, user(task)]
    reply = ask(standin, messages, tools=None).json()["choices"][0]["message"]
    action = form.parse(reply, [search])
    assert isinstance(action, Action)
    assert action.name == "search"
    turn = read_scene([*messages, form.history_message(reply, action)], []).past[0].turn
    assert turn.calls == (("search", action.arguments),)
    assert turn.thought == action.thought


def test_figures_come_from_the_messages_and_change_with_them(standin: StandIn) -> None:
    document = (CORPUS / "hoover-dam.md").read_text()
    itaipu = (CORPUS / "itaipu.md").read_text()
    before = ask(standin, after_fetch(itaipu + document)).json()["choices"][0]["message"]
    altered = itaipu.replace("of Itaipu is 14,000 MW", "of Itaipu is 15,321 MW")
    after = ask(standin, after_fetch(altered + document)).json()["choices"][0]["message"]
    assert "14000" in before["tool_calls"][0]["function"]["arguments"]
    assert "15321" in after["tool_calls"][0]["function"]["arguments"]


def test_a_figure_that_is_not_shown_is_looked_up_never_known(standin: StandIn) -> None:
    document = (CORPUS / "hoover-dam.md").read_text()
    message = ask(standin, after_fetch(document)).json()["choices"][0]["message"]
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "lookup"
    assert "Itaipu" in call["function"]["arguments"]


@pytest.mark.parametrize(
    ("name", "tool", "result", "expression"),
    [
        ("manual", "read_manual", "The recommended concurrency is 96 for each node.", "96 * 2.5"),
        ("manual", "read_manual", "每个节点的推荐并发数为48。", None),
        ("everest", "lookup", "The latest survey gives 9,000.5 m; used in 2010 were 8,999 m.", "9000.5 - 8999"),
    ],
)
def test_walk_throughs_take_their_figures_from_the_observation(
    name: str, tool: str, result: str, expression: str | None
) -> None:
    plan = walkthrough(name)
    form = reply_format("react", "en")
    said = form.history_message("", Action(tool, {}, "Read it."))
    opening = {"role": "system", "content": form.instructions([])}
    messages = [opening, user(plan.tasks["en"]), said, user(f"Observation: {result}")]
    turn = plan.next_turn(read_scene(messages, []))
    assert turn.calls == (() if expression is None else (("calculator", {"expression": expression}),))


def test_asked_without_tools_it_says_what_it_would_do_next(standin: StandIn) -> None:
    message = ask(standin, [user(TASK)], tools=None).json()["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "[collect 1/2] Find the document on Itaipu."}


def test_stations_are_read_from_the_task_in_both_languages() -> None:
    assert station_names(TASK) == ["Itaipu", "Hoover Dam"]
    assert station_names("比较下列水电站：三峡；白鹤滩。\n请查找资料。") == ["三峡", "白鹤滩"]


@pytest.mark.parametrize("name", [*stations.EN, *stations.ZH])
def test_one_document_of_the_corpus_gives_a_stations_figures_and_no_other_contradicts_it(name: str) -> None:
    found = {path.name: stations.figures(name, path.read_text()) for path in CORPUS.glob("*.md")}
    assert len([figures for figures in found.values() if None not in figures]) == 1
    assert len([figures for figures in found.values() if figures != (None, None)]) == 1


def test_known_capacity_factors() -> None:
    factors = {
        name: stations.computed(name, (CORPUS / file).read_text()).factor
        for name, file in [("Itaipu", "itaipu.md"), ("Hoover Dam", "hoover-dam.md"), ("三峡", "three-gorges.md")]
    }
    assert factors == {"Itaipu": Decimal("74.9"), "Hoover Dam": Decimal("23.1"), "三峡": Decimal("44.7")}


POWER = Quantity("capacity", {"MW": Decimal(1), "GW": Decimal(1000)})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The capacity of Alpha is 1,250 MW.", "1250"),
        ("Alpha: capacity 1.25 GW", "1250"),
        ("The capacity of Beta is 9 MW. Alpha has none.", None),
        ("The capacity of Alpha is 7 MWh.", None),
        ("The capacity of Alpha is 1 MW.\nNow the capacity of Alpha is 2 MW.", "2"),
    ],
)
def test_reading_takes_the_figure_of_the_subject_only(text: str, value: str | None) -> None:
    assert find(POWER, "Alpha", text) == (None if value is None else Decimal(value))


def test_reading_behind_a_phrase_stays_in_the_sentence() -> None:
    assert find_after("used in 2010", "m", "It was used in 2010: the height of 8,844.43 m.") == Decimal("8844.43")
    assert find_after("used in 2010", "m", "It was used in 2010. The other is 5 m.") is None
    assert written(Decimal("14000")) == "14,000"
