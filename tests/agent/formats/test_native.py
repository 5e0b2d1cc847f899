"""Native calls as servers send them, in the fields of the message or printed into its text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from carryforward.agent.formats import Action, FinalAnswer, FormatProblem, parse_reply, reply_format

from .tools import TOOLS

GULL = {"query": "gull"}


def message(*calls: tuple[str, Any], content: str | None = None, **fields: Any) -> dict[str, Any]:
    made = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": content, "tool_calls": made or None, **fields}


def read(reply: str | dict[str, Any], finish_reason: str | None = None) -> Any:
    found = parse_reply(reply, "tools", TOOLS, finish_reason=finish_reason)
    match found:
        case Action():
            return found.name, found.arguments
        case FinalAnswer():
            return found.text
        case FormatProblem():
            return found.reason
        case _:
            return [(action.name, action.arguments) for action in found]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("search", '{"query":"gull"}', ("search", GULL)),
        ("search", {"query": "gull"}, ("search", GULL)),
        ("search", '"{\\"query\\": \\"gull\\"}"', ("search", GULL)),
        ("search", '{"query":"gull"}}', ("search", GULL)),
        ("search", '```json\n{"query":"gull"}\n```', ("search", GULL)),
        ("search", "gull", ("search", GULL)),
        ("search", "", "invalid_arguments"),
        ("get_time", "", ("get_time", {})),
        ("get_time", None, ("get_time", {})),
        ("get_time", "null", ("get_time", {})),
        ("get_time", "{}", ("get_time", {})),
        ("read_file", '{"path":"a","limit":"185"}', ("read_file", {"path": "a", "limit": 185})),
        ("read_file", '{"path":"a","limit":"many"}', "invalid_arguments"),
        ("read_file", '{"path":"a"}', "invalid_arguments"),
        ("search", '{"query":"a"}{"query":"b"}', "invalid_arguments"),
        ("search", '{}{"query":"gull"}', ("search", GULL)),
        ("search", '{"query":"gull"}{"query":"gull"}', ("search", GULL)),
        ("get_time", "{}{}", ("get_time", {})),
        ("search", "null", "invalid_arguments"),
        ("search", '[{"query":"gull"}]', ("search", GULL)),
        ("search", ["gull"], ("search", GULL)),
        ("search", '\ufeff{"query":"gull"}', ("search", GULL)),
        ("search", '{"name":"search","arguments":{"query":"gull"}}', ("search", GULL)),
        ("search<|channel|>commentary", '{"query":"gull"}', ("search", GULL)),
        ("search", '{"query":"a","query":"b"}', "duplicate_key"),
        ("save_note", '{"title": "plan", "body": "step one, step tw', "truncated_or_empty"),
        ("save_note", '{"title": "plan", "body": "b"', "truncated_or_empty"),
        ("search", '"{\\"query\\": \\"gul', "truncated_or_empty"),
        ("search", '[{"query": "gull"}', "truncated_or_empty"),
        ("serch", '{"query":"gull"}', "unknown_tool"),
        ("", "{}", "unknown_tool"),
    ],
)
def test_arguments_of_all_shapes(name: str, arguments: Any, expected: Any) -> None:
    assert read(message((name, arguments))) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("delete_all", "", "truncated_or_empty"),
        ("search", "gul", "truncated_or_empty"),
        ("search", '{"query": "gu', "truncated_or_empty"),
        ("search", '{"query": "gull"}', ("search", GULL)),
        ("save_note", '{"title": "a", "body": "b"}', "truncated_or_empty"),
        ("delete_all", "{}", "truncated_or_empty"),
    ],
)
def test_what_the_length_limit_cut_off_is_never_run(name: str, arguments: str, expected: Any) -> None:
    assert read(message((name, arguments)), "length") == expected


def test_of_a_cut_reply_no_call_is_run_where_one_of_them_may_change_something() -> None:
    write = ("save_note", {"title": "a", "body": "b"})
    assert read(message(("search", GULL), ("get_time", "{}")), "length") == [("search", GULL), ("get_time", {})]
    assert read(message(("search", GULL), write), "length") == "truncated_or_empty"
    assert read(message(write, ("search", GULL)), "length") == "truncated_or_empty"
    assert read(message(write, ("search", GULL)), "tool_calls") == [write, ("search", GULL)]


def test_parallel_calls_are_kept_in_order_with_their_ids() -> None:
    found = parse_reply(message(("search", GULL), ("get_time", "")), "tools", TOOLS)
    assert isinstance(found, list)
    assert [(action.name, action.id) for action in found] == [("search", "c0"), ("get_time", "c1")]


def test_one_bad_call_stops_the_whole_turn_and_each_call_is_answered() -> None:
    reply = message(("search", GULL), ("serch", '{"query": "a'))
    form = reply_format("tools")
    problem = form.parse(reply, TOOLS)
    assert isinstance(problem, FormatProblem)
    kept = form.history_message(reply, problem)
    assert [json.loads(call["function"]["arguments"]) for call in kept["tool_calls"]] == [GULL, {}]
    answers = form.correction(kept, problem)
    assert [(m["role"], m["tool_call_id"]) for m in answers] == [("tool", "c0"), ("tool", "c1")]
    assert "'search'" in answers[0]["content"]


def test_ids_that_are_missing_or_given_twice_are_made_unique() -> None:
    reply = message(("get_time", ""), ("get_time", ""), ("get_time", ""))
    for call, call_id in zip(reply["tool_calls"], ["a", "a", None], strict=True):
        call["id"] = call_id
    form = reply_format("tools")
    found = form.parse(reply, TOOLS)
    assert isinstance(found, list)
    kept = form.history_message(reply, found)
    ids = [call["id"] for call in kept["tool_calls"]]
    assert ids == [action.id for action in found] and len(set(ids)) == 3 and all(ids)
    assert [m["tool_call_id"] for m in form.observations(found, ["1", "2", "3"])] == ids


PRINTED = {
    "hermes": '<tool_call>\n{"name": "search", "arguments": {"query": "gull"}}\n</tool_call>',
    "after thinking": '<think>a <tool_call></think>Now.\n<tool_call>{"name": "search", "arguments": {"query": "gull"}}',
    "qwen coder": "<tool_call>\n<function=search>\n<parameter=query>\ngull\n</parameter>\n</function>\n</tool_call>",
    "llama function": '<function=search>{"query": "gull"}</function>',
    "llama python tag": '<|python_tag|>{"name": "search", "parameters": {"query": "gull"}}',
    "llama bare": '{"name": "search", "parameters": {"query": "gull"}}',
    "mistral": '[TOOL_CALLS][{"name": "search", "arguments": {"query": "gull"}}]',
    "mistral with a name": '[TOOL_CALLS]search[ARGS]{"query": "gull"}',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n"
    '{"query": "gull"}\n```'
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>"
    '{"query": "gull"}<|tool_call_end|><|tool_calls_section_end|>',
    "gpt-oss": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.search "
    '<|constrain|>json<|message|>{"query": "gull"}<|call|>',
    "glm": "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>gull</arg_value>\n</tool_call>",
    "minimax": '<minimax:tool_call>\n<invoke name="search">\n<parameter name="query">gull</parameter>\n</invoke>',
    "as python": '[search(query="gull")]',
    "llama python tag with a call": '<|python_tag|>search.call(query="gull")',
    "capitals": '<TOOL_CALL>{"name": "search", "arguments": {"query": "gull"}}</TOOL_CALL>',
    "lm studio": '[TOOL_REQUEST]{"name": "search", "arguments": {"query": "gull"}}[END_TOOL_REQUEST]',
    "a list": '[{"name": "search", "arguments": {"query": "gull"}}]',
    "as a message": '{"tool_calls": [{"function": {"name": "search", "arguments": {"query": "gull"}}}]}',
    "fenced": '```json\n{"name": "search", "arguments": {"query": "gull"}}\n```',
}


@pytest.mark.parametrize("name", PRINTED)
def test_calls_printed_into_the_text_are_calls(name: str) -> None:
    form = reply_format("tools")
    reply = {"role": "assistant", "content": PRINTED[name], "tool_calls": []}
    found = form.parse(reply, TOOLS, finish_reason="stop")
    assert isinstance(found, Action) and (found.name, found.arguments) == ("search", GULL)
    kept = form.history_message(reply, found)
    assert kept["tool_calls"][0]["id"] == found.id
    assert "gull" not in (kept["content"] or "")


def test_a_reply_that_is_a_call_as_hints_show_it_is_a_call() -> None:
    said = parse_reply('calculator({"expression": "(2+2)*3"})', "tools", TOOLS)
    assert isinstance(said, Action) and said.arguments == {"expression": "(2+2)*3"}
    for other in ('Use calculator({"expression": "2"})', 'nothing({"expression": "2"})', 'calculator({"a": 1}'):
        assert isinstance(parse_reply(other, "tools", TOOLS), FinalAnswer)
    wrong = parse_reply('calculator({"sum": "2"})', "tools", TOOLS)
    assert isinstance(wrong, FormatProblem) and wrong.reason == "invalid_arguments"


def test_two_printed_calls_are_two() -> None:
    assert read("\n".join([PRINTED["hermes"]] * 2)) == [("search", GULL)] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<tool_call>{"name": "search", "arguments": {"query": "gu', "truncated_or_empty"),
        ("<function=delete_all><parameter=x>1</parameter>", "truncated_or_empty"),
        ("<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>gu", "truncated_or_empty"),
        ('[TOOL_CALLS]search[ARGS]{"query": "gu', "truncated_or_empty"),
        ('search(query="gull") would do', 'search(query="gull") would do'),
        ("calculator(9 - 2)", "calculator(9 - 2)"),
        ('<tool_call>{"name": "serch", "arguments": {}}</tool_call>', "unknown_tool"),
        ("Servers print `<tool_call>{}</tool_call>` then.", "Servers print `<tool_call>{}</tool_call>` then."),
        ('{"name": "Ada", "arguments": {}}', '{"name": "Ada", "arguments": {}}'),
        ('{"height": 9}', '{"height": 9}'),
        ('[{"name": "Ada", "arguments": {}}]', '[{"name": "Ada", "arguments": {}}]'),
        ('["search"]', '["search"]'),
        ("[]", "[]"),
        ("Action: delete_all\nAction Input: {}", "Action: delete_all\nAction Input: {}"),
        ("<think>hm</think>42", "42"),
        ("", "truncated_or_empty"),
        ("<think>hm", "truncated_or_empty"),
    ],
)
def test_text_without_a_whole_call(text: str, expected: str) -> None:
    assert read(text) == expected


def test_a_cut_answer_is_no_answer() -> None:
    assert read("The height is", "length") == "truncated_or_empty"


def test_the_single_function_call_of_older_servers_is_read() -> None:
    reply = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "search", "arguments": '{"query": "gull"}'},
    }
    assert read(reply) == ("search", GULL)


def test_content_in_parts_and_refusals_are_text() -> None:
    assert read({"role": "assistant", "content": [{"type": "text", "text": "42"}]}) == "42"
    assert read({"role": "assistant", "content": None, "refusal": "I cannot."}) == "I cannot."


def test_reasoning_stays_with_a_turn_of_calls_only() -> None:
    form = reply_format("tools")
    calling = message(("get_time", ""), reasoning_content="need the clock")
    assert form.history_message(calling, form.parse(calling, TOOLS))["reasoning_content"] == "need the clock"
    saying = message(content="42", reasoning_content="easy")
    assert "reasoning_content" not in form.history_message(saying, form.parse(saying, TOOLS))


def test_content_of_a_turn_of_calls_is_null_and_there() -> None:
    form = reply_format("tools")
    reply = message(("get_time", ""), content="")
    assert form.history_message(reply, form.parse(reply, TOOLS))["content"] is None
