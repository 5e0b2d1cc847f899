"""What servers and tools really send: images, ids that are missing or doubled, halves of emoji, odd moments."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from carryforward.memory import Clamp, MaskObservations, Message, MessageError, ShortTermMemory, Tiered, TokenCounter
from carryforward.memory.rules import broken

COUNTER = TokenCounter(encoding="cl100k_base")
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/pier.png"}}
TASK = {"role": "user", "content": "check the pier"}


def calls(ids: Sequence[str], arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "look", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids],
    }


def result(call: str | None, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": content}


def valid(memory: ShortTermMemory) -> list[dict[str, Any]]:
    context = memory.context()
    assert broken([Message.from_dict(m) for m in context]) == []
    json.dumps(context, ensure_ascii=False).encode("utf-8")
    return context


@pytest.mark.parametrize("policy", [Tiered(), Tiered(share=0), Clamp(share=0)])
def test_image_that_does_not_fit_leaves_its_mark(policy: Tiered | Clamp) -> None:
    memory = ShortTermMemory(1000, policy=policy, counter=COUNTER)
    memory.extend([TASK, calls(["c"]), result("c", [IMAGE, {"type": "text", "text": "taken at noon"}])])
    assert valid(memory)[-1]["content"] == "[image_url]\ntaken at noon"


def test_task_of_images_alone_is_cut_with_a_mark() -> None:
    memory = ShortTermMemory(400, counter=COUNTER)
    memory.add({"role": "user", "content": [IMAGE, IMAGE]})
    assert valid(memory)[0]["content"].startswith("[image_url]\n[image_url]\n[task shortened")


@pytest.mark.parametrize("ids", [("a", "a"), ("", ""), ("a", "")])
def test_results_of_calls_with_doubled_or_empty_ids_are_taken_in_order(ids: tuple[str, str]) -> None:
    memory = ShortTermMemory(2000, counter=COUNTER)
    memory.extend([TASK, calls(ids), result(ids[0], "first"), result(ids[1], "second")])
    assert [m["content"] for m in valid(memory)[2:]] == ["first", "second"]


def test_half_an_emoji_is_never_sent() -> None:
    half = json.dumps([{"note": "\ud83d half", "text": "x" * 300}] * 100)
    memory = ShortTermMemory(1000, counter=COUNTER)
    memory.add(Message("user", "read \ud83d this", extra={"tag": "\ud83d"}))
    memory.extend([calls(["c"], json.dumps({"q": "\ud83d" * 900})), result("c", half)])
    assert "half" in valid(memory)[-1]["content"]


def test_message_that_is_no_json_is_refused_and_nothing_is_added() -> None:
    memory = ShortTermMemory(1000, counter=COUNTER)
    for odd in ({**TASK, "tag": object()}, Message("robot", "hello")):
        with pytest.raises(MessageError):
            memory.add(odd)
    assert memory.messages() == []


def test_stray_result_before_the_task_is_not_taken_for_it() -> None:
    memory = ShortTermMemory(300, counter=COUNTER)
    memory.extend([result("ghost", "boo"), TASK])
    for n in range(20):
        memory.extend([calls([f"c{n}"]), result(f"c{n}", "calm water " * 20)])
        assert any(m["role"] == "user" and m["content"].startswith("check the pier") for m in valid(memory))


def test_no_compaction_comes_between_a_call_and_its_result() -> None:
    memory = ShortTermMemory(120, counter=COUNTER)
    memory.extend([TASK, calls([f"c{n}" for n in range(30)]), *(result(f"c{n}", "calm") for n in range(29))])
    asyncio.run(memory.compact())
    memory.add(result("c29", "late"))
    valid(memory)


def test_task_larger_than_the_budget_does_not_make_every_step_a_compaction() -> None:
    memory = ShortTermMemory(2000, counter=COUNTER)
    memory.add({"role": "user", "content": "the depth of the harbour, in metres. " * 2000})
    for n in range(40):
        memory.extend([calls([f"c{n}"]), result(f"c{n}", "calm water " * 10)])
        valid(memory)
    assert len(memory.compactions) < 10


def test_turns_that_never_joined_do_not_fill_the_block() -> None:
    memory = ShortTermMemory(1500, counter=COUNTER)
    memory.add(TASK)
    for n in range(200):
        memory.extend(
            [calls([f"c{n}"]), result(f"c{n}", f"pier {n}: calm " * 10), {"role": "assistant", "content": ""}]
        )
        block = valid(memory)[0]["content"]
    assert "Left the context: m2-m" in block
    assert "," not in block.partition("Left the context: ")[2].partition(".")[0]


def test_observations_of_the_last_steps_are_not_masked() -> None:
    memory = ShortTermMemory(2000, policy=MaskObservations(keep=3), counter=COUNTER)
    memory.extend([TASK, calls(["a"]), result("a", "first " * 900), calls(["b"]), result("b", "second " * 1200)])
    memory.context()
    assert all(edit.action != "mask" for compaction in memory.compactions for edit in compaction.edits)


def test_shrinking_never_raises_the_budget_and_takes_the_share_of_what_the_server_counted() -> None:
    memory = ShortTermMemory(2000, counter=COUNTER)
    memory.add({"role": "user", "content": "word " * 1000})
    memory.context()
    memory.learn_usage(int(memory.tokens * 1.4))
    memory.shrink(0.8)
    assert memory.limit == pytest.approx(memory.tokens * 0.8, rel=0.01)
    memory.extend([calls(["c"]), result("c", "calm " * 5000)])
    before = memory.limit
    memory.shrink(0.9)
    assert memory.limit <= before


def test_lookup_of_odd_refs_and_pages_says_what_there_is() -> None:
    memory = ShortTermMemory(2000, counter=COUNTER)
    memory.extend([TASK, calls(["c"]), result("c", [IMAGE])])
    assert memory.lookup("m1", page=0) == memory.lookup("m1", page=-3) == "check the pier"
    assert memory.lookup("m3") == "[image_url]"
    assert len(memory.lookup("z" * 100_000)) < 400


@pytest.mark.parametrize("said", [{"refusal": "I can't help with that."}, {"audio": {"id": "audio_1"}}])
def test_assistant_that_refuses_or_speaks_is_kept(said: dict[str, Any]) -> None:
    memory = ShortTermMemory(1000, counter=COUNTER)
    memory.extend([TASK, {"role": "assistant", "content": None, **said}, {"role": "user", "content": "why?"}])
    assert valid(memory)[1] == {"role": "assistant", "content": None, **said}
    assert memory.tokens > COUNTER.messages([TASK, {"role": "user", "content": "why?"}]) + 4


def test_empty_text_parts_beside_calls_become_null() -> None:
    memory = ShortTermMemory(1000, counter=COUNTER)
    memory.extend([TASK, {**calls(["c"]), "content": [{"type": "text", "text": ""}]}, result("c", "calm")])
    assert valid(memory)[1]["content"] is None


def test_value_that_holds_itself_or_is_nested_too_deeply_is_refused() -> None:
    memory = ShortTermMemory(1000, counter=COUNTER)
    deep: Any = "calm"
    for _ in range(101):
        deep = [deep]
    endless: dict[str, Any] = {}
    endless["self"] = endless
    for odd in (deep, endless):
        with pytest.raises(MessageError, match="100 levels"):
            memory.add({**TASK, "tag": odd})
    memory.add({**TASK, "tag": deep[0]})
    assert valid(memory)[0]["tag"] == deep[0]


def test_text_of_signs_that_stand_for_unreadable_ones_is_read_page_by_page() -> None:
    memory = ShortTermMemory(1000, counter=COUNTER)
    memory.extend([TASK, calls(["c"]), result("c", "\ufffd" * 3000)])
    read = ""
    for page in range(1, 200):
        shown, more, _ = memory.lookup("m3", page=page).partition("\n[page ")
        read += shown
        if not more:
            break
    assert read == "\ufffd" * 3000


@pytest.mark.parametrize("odd", [{"role": "assistant", "content": ""}, {"role": "assistant", "content": "hm"}])
def test_list_without_a_user_turn_asks_to_continue(odd: dict[str, Any]) -> None:
    memory = ShortTermMemory(300, counter=COUNTER)
    memory.add(odd)
    assert valid(memory)[-1] == {"role": "user", "content": "Continue."}


def test_strays_without_a_task_keep_the_turns_alternating() -> None:
    memory = ShortTermMemory(300, counter=COUNTER, alternate=True)
    memory.extend([result("ghost", "boo"), result("ghost", "boo again")])
    assert len(valid(memory)) == 1
