"""The invariants of the context, over generated histories and every policy."""

from __future__ import annotations

import copy
import gc
import json
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carryforward.memory import (
    BudgetError,
    Clamp,
    Fold,
    Journal,
    JournalError,
    KeepAll,
    KeepEnds,
    KeepLast,
    MaskObservations,
    Message,
    MessageError,
    Policy,
    Relevance,
    ShortTermMemory,
    Tiered,
    TokenCounter,
    WorkingFacts,
)
from carryforward.memory.carry import block
from carryforward.memory.rules import RULES, Alternation, broken
from carryforward.memory.view import View
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from .messy import Messages, histories

COUNTER = TokenCounter(encoding="cl100k_base")


class Letters:
    """A deterministic embedder: how often each letter occurs."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.array([[text.count(letter) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts])
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


POLICIES: list[Policy] = [
    Tiered(),
    KeepAll(),
    KeepLast(),
    KeepLast(steps=2),
    KeepEnds(),
    Clamp(),
    MaskObservations(),
    Fold(),
    Relevance(embedder=Letters()),
]
policies = st.sampled_from(POLICIES)
budgets = st.sampled_from([200, 300, 500, 1200, 4000])


def contexts(messages: Messages, memory: ShortTermMemory) -> list[Messages]:
    """The context before every assistant turn, and at the end; without those that a `BudgetError` refuses."""
    out: list[Messages] = []
    for m in messages:
        if m["role"] == "assistant" and memory.messages():
            out += attempt(memory)
        memory.add(m)
    return out + attempt(memory)


def attempt(memory: ShortTermMemory) -> list[Messages]:
    try:
        return [copy.deepcopy(memory.context())]
    except BudgetError as error:
        system = [m for _, m in memory.messages() if m.role == "system"]
        assert COUNTER.messages(system) + 120 > memory.limit, error  # only where the system prompt leaves no room
        return []


def start_of(task: str) -> str:
    return COUNTER.truncate(task[:100], 40)


@given(histories(), policies, budgets)
@example([{"role": "user", "content": "depth reading 4.2 " * 2500}], Tiered(), 500)
def test_context_is_valid_and_within_budget_whatever_comes_in(messages: Messages, policy: Policy, budget: int) -> None:
    memory = ShortTermMemory(budget, policy=policy, counter=COUNTER)
    for context in contexts(messages, memory):
        shown = [Message.from_dict(m) for m in context]
        assert broken(shown, RULES) == []
        assert COUNTER.messages(context) <= budget
        assert context[-1]["role"] in ("user", "tool")


@given(histories(), policies, budgets)
def test_system_prompt_and_task_stay(messages: Messages, policy: Policy, budget: int) -> None:
    memory = ShortTermMemory(budget, policy=policy, counter=COUNTER)
    task = next(m["content"] for m in messages if m["role"] == "user")
    for context in contexts(messages, memory):
        if messages[0]["role"] == "system":
            assert context[0] == {"role": "system", "content": messages[0]["content"]}
        first = next(m["content"] for m in context if m["role"] == "user")
        assert first.startswith(task) or (first.startswith(start_of(task)) and "shortened" in first)


@given(histories(), policies, budgets)
def test_what_is_added_is_never_changed(messages: Messages, policy: Policy, budget: int) -> None:
    before = copy.deepcopy(messages)
    contexts(messages, ShortTermMemory(budget, policy=policy, counter=COUNTER))
    assert messages == before


@given(histories(most=20), policies, budgets)
def test_between_compactions_the_context_only_grows_at_its_end(messages: Messages, policy: Policy, budget: int) -> None:
    memory = ShortTermMemory(budget, policy=policy, counter=COUNTER)
    previous: Messages = []
    compactions = 0
    for m in messages:
        memory.add(m)
        for context in attempt(memory):
            made = sum(c.reason != "arrival" for c in memory.compactions)
            if made == compactions:
                asked_to_continue = previous and previous[-1] == {"role": "user", "content": "Continue."}
                kept = previous[:-1] if asked_to_continue else previous
                assert context[: len(kept)] == kept
            compactions, previous = made, context


@given(histories(), budgets)
def test_what_left_the_context_can_be_read_by_its_ref(messages: Messages, budget: int) -> None:
    memory = ShortTermMemory(budget, counter=COUNTER)
    refs = memory.extend(messages)
    attempt(memory)
    for ref, message in zip(refs, messages, strict=True):
        text = Message.from_dict(message).text.strip()
        assert text == read_all(memory, ref, len(text))


def read_all(memory: ShortTermMemory, ref: str, length: int) -> str:
    """The first `length` characters of a message, page by page."""
    read, page = "", 1
    while len(read) < length:
        shown, _, more = memory.lookup(ref, page=page).rpartition("\n[page ")
        read += shown if shown else more
        page += 1
    return read[:length]


@given(histories(), policies, budgets)
def test_same_journal_gives_the_same_context(messages: Messages, policy: Policy, budget: int) -> None:
    journal = Journal()
    memory = ShortTermMemory(budget, policy=policy, counter=COUNTER, journal=journal, run="r")
    before = contexts(messages, memory)
    again = ShortTermMemory(budget, policy=policy, counter=COUNTER, journal=Journal(), run="r")
    again.restore(journal.entries("r"))
    after = attempt(again)
    assert json.dumps(after) == json.dumps(attempt(memory))
    assert before[-1:] == after


@given(histories(), policies)
def test_strict_alternation_when_asked_for(messages: Messages, policy: Policy) -> None:
    memory = ShortTermMemory(600, policy=policy, counter=COUNTER, alternate=True)
    for context in contexts(messages, memory):
        assert broken([Message.from_dict(m) for m in context], (*RULES, Alternation())) == []
        assert COUNTER.messages(context) <= 600


def test_system_prompt_larger_than_the_budget_is_refused_by_name_and_number() -> None:
    memory = ShortTermMemory(200, counter=COUNTER)
    memory.extend([{"role": "system", "content": "rule " * 400}, {"role": "user", "content": "go"}])
    with pytest.raises(BudgetError, match=r"[\d,]+ of [\d,]+ tokens .* [\d,]+ tokens too many"):
        memory.context()


def test_budget_error_leaves_the_memory_as_it_was() -> None:
    memory = ShortTermMemory(300, counter=COUNTER)
    memory.add({"role": "system", "content": "rule " * 400})
    memory.add({"role": "user", "content": "word " * 600})
    for _ in range(2):
        with pytest.raises(BudgetError):
            memory.context()
    assert memory.compactions == []


def test_message_that_can_not_be_written_down_is_not_added(tmp_path: Path) -> None:
    history = [{"role": "user", "content": "go"}, *step(1, "calm"), step(2, "")[0], *step(3, "wave " * 900)]
    usual = ShortTermMemory(1000, counter=COUNTER)
    memory = ShortTermMemory(1000, counter=COUNTER)
    kept, closed = memory.journal, Journal(tmp_path / "full.db")
    closed.close()
    for m in history:
        memory.journal = closed
        with pytest.raises(JournalError):
            memory.add(m)
        memory.journal = kept
        assert memory.add(m) == usual.add(m)
        assert memory.messages() == usual.messages()
        assert memory.context() == usual.context()
    again = ShortTermMemory(1000, counter=COUNTER)
    again.restore(kept.entries(memory.run))
    assert again.context() == memory.context()


def test_compaction_that_can_not_be_written_down_is_not_made(tmp_path: Path) -> None:
    memory = ShortTermMemory(1000, counter=COUNTER)
    memory.extend([{"role": "user", "content": "go"}, *(m for n in range(6) for m in step(n, "wave " * 200))])
    kept, memory.journal = memory.journal, Journal(tmp_path / "full.db")
    memory.journal.close()
    tokens = memory.tokens
    with pytest.raises(JournalError):
        memory.context()
    assert (memory.tokens, memory.compactions) == (tokens, [])
    memory.journal = kept
    assert memory.context() and memory.tokens < tokens


def test_tool_schemas_count() -> None:
    schema: dict[str, Any] = {"name": "f", "description": "word " * 300, "parameters": {"properties": {}}}
    memory = ShortTermMemory(200, counter=COUNTER, tools=[{"type": "function", "function": schema}])
    memory.add({"role": "user", "content": "go"})
    with pytest.raises(BudgetError, match="tool schemas"):
        memory.context()


def step(number: int, result: str) -> Messages:
    function = {"name": "measure", "arguments": json.dumps({"at": number})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def test_facts_of_what_left_are_carried_forward() -> None:
    memory = ShortTermMemory(700, counter=COUNTER)
    memory.add({"role": "user", "content": "What is the depth at the pier?"})
    memory.extend(step(0, "The depth at the pier is 412.75 m, reading QX-7781."))
    for number in range(1, 12):
        memory.extend(step(number, f"nothing to see at place {number}; " + "calm water all around. " * 12))
    context = memory.context()
    assert all("412.75 m, reading" not in str(m["content"]) for m in context[1:])
    assert "412.75" in context[0]["content"]
    assert "QX-7781" in context[0]["content"]


def test_clamped_observation_says_what_was_cut_and_how_to_read_it() -> None:
    memory = ShortTermMemory(1000, counter=COUNTER)
    memory.add({"role": "user", "content": "Summarise the dump."})
    memory.extend(step(0, "row 17 | value 3.5 kPa | ok\n" * 20000))
    last = memory.context()[-1]["content"].splitlines()[-1]
    assert last.startswith("[shortened: about ")
    assert "lookup m3" in last


def test_a_small_room_is_no_reason_to_cut_a_short_result() -> None:
    memory = ShortTermMemory(500, counter=COUNTER)
    memory.add({"role": "user", "content": "Compare the pumps of both piers, the northern and the southern one. " * 22})
    result = "Pump seven of the northern pier was serviced in spring; its seal is worn, its bearings sound. " * 3
    memory.extend(step(1, result))
    assert memory.context()[-1]["content"] == result


def test_calls_without_result_are_closed_before_the_next_turn() -> None:
    memory = ShortTermMemory(4000, counter=COUNTER)
    memory.add({"role": "user", "content": "check both"})
    calls = [{"id": i, "type": "function", "function": {"name": "ping", "arguments": "{}"}} for i in ("c1", "c2")]
    memory.add({"role": "assistant", "content": None, "tool_calls": calls})
    memory.add({"role": "tool", "tool_call_id": "c1", "content": "a: 3 ms"})
    memory.add({"role": "user", "content": "never mind"})
    context = memory.context()
    assert [m["role"] for m in context] == ["user", "assistant", "tool", "tool", "user"]
    assert context[3]["tool_call_id"] == "c2"
    assert "not executed" in context[3]["content"]


def test_repairs_are_in_the_journal() -> None:
    journal = Journal()
    memory = ShortTermMemory(4000, counter=COUNTER, journal=journal, run="r")
    memory.add({"role": "user", "content": "go"})
    memory.add({"role": "tool", "tool_call_id": "ghost", "content": "boo"})
    memory.add({"role": "assistant", "content": ""})
    mended = [entry.body["mended"] for entry in journal.entries("r", "message")]
    assert mended == [[], ["result of call ghost, which is not open"], ["left out of the context"]]
    assert "boo" in memory.context()[1]["content"]


def test_list_that_ends_with_an_assistant_turn_asks_to_continue() -> None:
    memory = ShortTermMemory(4000, counter=COUNTER)
    memory.extend([{"role": "user", "content": "start"}, {"role": "assistant", "content": "working on it"}])
    assert memory.context()[-1] == {"role": "user", "content": "Continue."}
    assert "working on it" in memory.context()[-2]["content"]


def test_usage_of_another_tokenizer_tightens_the_budget() -> None:
    memory = ShortTermMemory(4000, counter=COUNTER)
    memory.add({"role": "user", "content": "word " * 1000})
    memory.context()
    for _ in range(3):
        memory.learn_usage(int(memory.tokens * 1.3))
    assert memory.limit == pytest.approx(4000 / 1.3, rel=0.01)


def test_server_that_cuts_the_prompt_is_found_and_not_learned_from(caplog: pytest.LogCaptureFixture) -> None:
    memory = ShortTermMemory(20_000, counter=COUNTER)
    memory.add({"role": "user", "content": "word " * 9000})
    memory.context()
    memory.learn_usage(2051)
    assert "context_truncated_by_server" in caplog.text
    assert "2051" in caplog.text
    assert memory.limit == 20_000


def test_relevance_keeps_what_the_task_is_about() -> None:
    memory = ShortTermMemory(600, policy=Relevance(low=0.8, embedder=Letters()), counter=COUNTER)
    memory.add({"role": "user", "content": "zoo zebra puzzle"})
    memory.extend(step(0, "zoo zebra puzzle " * 12))
    for number in range(1, 12):
        memory.extend(step(number, "calm water all around " * 12))
    memory.extend(step(12, "puzzle") + step(13, "puzzle"))
    context = memory.context()
    assert any("zoo zebra" in str(m["content"]) for m in context[1:])
    assert len(context) < 20


def test_what_is_dropped_is_freed_at_once() -> None:
    memory = ShortTermMemory(600, counter=COUNTER)
    memory.extend([{"role": "user", "content": "weigh it"}, *step(0, "12 kg " * 400)])
    memory.context()
    known = weakref.ref(memory.facts)
    gc.disable()
    try:
        del memory
        assert known() is None
    finally:
        gc.enable()


def test_a_budget_or_a_message_of_another_type_is_refused_in_words() -> None:
    with pytest.raises(TypeError, match="number of tokens or a Budget, got '8000'"):
        ShortTermMemory("8000", counter=COUNTER)  # type: ignore[arg-type]
    with pytest.raises(MessageError, match="object with role and content, got str"):
        ShortTermMemory(8000, counter=COUNTER).add("hi")  # type: ignore[arg-type]


def test_no_block_where_nothing_left_and_no_value_is_hidden() -> None:
    view = View(COUNTER)
    view.append("m1", Message("user", "calm water all around"))
    view.rewrite("clamp", view.lines["m1"], "calm …")
    assert block(view, WorkingFacts(), 200, "go on") == ""
    view.gone.append("m0")
    assert "m0" in block(view, WorkingFacts(), 200, "go on")
