"""Summaries: extractive ones, and those that a model writes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from carryforward.memory import Journal, Message, ModelSummarizer, ShortTermMemory, TokenCounter, ToolCall
from carryforward.memory.summaries import ExtractiveSummarizer, Step
from hypothesis import given
from hypothesis import strategies as st

COUNTER = TokenCounter(encoding="cl100k_base")


def searched(number: int, result: str) -> Step:
    call = ToolCall(f"c{number}", "search", '{"query": "潮汐 %d"}'.replace("%d", str(number)))
    return [
        (f"m{2 * number}", Message("assistant", None, (call,))),
        (f"m{2 * number + 1}", Message("tool", result, tool_call_id=call.id)),
    ]


@given(st.lists(st.text(max_size=200), max_size=30), st.integers(0, 200), st.text(max_size=300))
def test_summary_is_bounded_whatever_leaves(results: list[str], most: int, previous: str) -> None:
    steps = [searched(n, result) for n, result in enumerate(results)]
    assert COUNTER.count(ExtractiveSummarizer(COUNTER).summarize(previous, steps, most)) <= most


def test_summary_has_a_line_a_step_with_call_and_outcome() -> None:
    text = ExtractiveSummarizer(COUNTER).summarize("", [searched(1, "Found it.\nDepth 12.5 m.")], 200)
    assert text == "m2 search 潮汐 1 → Depth 12.5 m."


def test_summary_is_updated_and_thins_its_oldest_lines() -> None:
    summarizer, text = ExtractiveSummarizer(COUNTER), ""
    for number in range(60):
        text = summarizer.summarize(text, [searched(number, f"depth {number} m")], 200)
    lines = text.split("\n")
    assert lines[-1] == "m118 search 潮汐 59 → depth 59 m"
    assert any(int(line.split()[0][1:]) < 60 for line in lines)  # the early part of the run is still in sight


def folded(answer: Any, **options: Any) -> tuple[ShortTermMemory, list[dict[str, Any]]]:
    """A run long enough to be folded, with a model that answers so; and the requests it was sent."""
    requests: list[list[dict[str, Any]]] = []

    def complete(messages: list[dict[str, Any]]) -> Any:
        requests.append(messages)
        return answer(messages) if callable(answer) else answer

    summarizer = ModelSummarizer(complete, counter=COUNTER, window=2000, **options)
    memory = ShortTermMemory(1500, counter=COUNTER, summarizer=summarizer, journal=Journal(), run="r")
    memory.add({"role": "user", "content": "Measure all piers."})
    for number in range(40):
        for _, message in searched(number, f"the depth at pier {number} is {number}.25 m; " + "calm water. " * 30):
            memory.add(message)
        asyncio.run(memory.compact())
        context = memory.context()
        assert COUNTER.messages(context) <= 1500
    return memory, requests


def test_summary_of_a_model_is_shown() -> None:
    memory, requests = folded("Goal: measure.\nDone: half of the piers.")
    assert "half of the piers" in memory.context()[0]["content"]
    assert all(COUNTER.messages(messages) <= 2000 for messages in requests)


def test_figures_without_a_source_are_struck_out() -> None:
    memory, _ = folded("Done: pier 3 is 3.25 m deep, pier 4 is 987.5 m deep.")
    shown = memory.context()[0]["content"]
    assert "987.5" not in shown
    assert "[figure without a source]" in shown


def raises(_: Any) -> str:
    raise RuntimeError("out of memory")


async def hangs(_: Any) -> str:
    await asyncio.sleep(3600)
    return "too late"


def blocks(_: Any) -> str:
    threading.Event().wait()
    return "never"


@pytest.mark.parametrize("answer", ["", "   ", raises, hangs, blocks, lambda _: "word " * 50_000])
def test_failing_summariser_ends_no_run(answer: Any) -> None:
    memory, requests = folded(answer, timeout=0.01)
    assert requests
    text = memory.context()[0]["content"]
    if answer in ("", "   ", raises, hangs, blocks):
        assert memory.journal.entries("r", "summary_failed")
        assert "search" in text  # the extractive summary stands in
    assert "3.25" in "".join(memory.lookup(ref) for ref, _ in memory.messages())


class Broken:
    def summarize(self, previous: str, steps: Sequence[Step], max_tokens: int) -> str:
        raise RuntimeError("out of paper")


def test_a_summarizer_of_ones_own_that_raises_ends_no_run() -> None:
    memory = ShortTermMemory(1500, counter=COUNTER, summarizer=Broken(), run="r")
    memory.add({"role": "user", "content": "Measure all piers."})
    for number in range(40):
        memory.extend(message for _, message in searched(number, f"{number}.25 m; " + "calm water. " * 30))
        memory.context()
    assert "search" in memory.context()[0]["content"]
    assert "out of paper" in memory.journal.entries("r", "summary_failed")[0].body["why"]


def test_no_model_is_asked_where_there_is_no_room_for_a_summary() -> None:
    asked: list[Any] = []
    summarizer = ModelSummarizer(lambda messages: asked.append(messages) or "done", counter=COUNTER)
    memory = ShortTermMemory(400, counter=COUNTER, summarizer=summarizer)
    memory.add({"role": "user", "content": "measure"})
    for n in range(12):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "search", "arguments": "{}"}}
        memory.add({"role": "assistant", "content": None, "tool_calls": [call]})
        memory.add({"role": "tool", "tool_call_id": f"c{n}", "content": "calm water " * 20})
        asyncio.run(memory.compact())
        memory.context()
    assert any(edit.action == "fold" for compaction in memory.compactions for edit in compaction.edits)
    assert asked == []


def test_summary_that_repeats_itself_does_not_grow() -> None:
    memory, _ = folded(lambda messages: messages[0]["content"] + "new bullet " * 80)
    assert all(COUNTER.count(compaction.summary) <= 1500 * 0.25 for compaction in memory.compactions)


def test_summary_of_a_large_room_still_fits_the_window_of_a_small_model() -> None:
    requests: list[Any] = []

    def write(messages: list[dict[str, Any]]) -> str:
        requests.append(messages)
        return "word " * 5000

    summarizer = ModelSummarizer(write, window=2000, counter=COUNTER)
    log = [("m3", Message("tool", "calm water " * 5000))]
    written = asyncio.run(summarizer.write("old " * 5000, log, 7000))
    assert all(COUNTER.messages(messages) <= 2000 for messages in requests)
    assert len(requests) < 20
    assert 0 < COUNTER.count(written.text) <= 500
