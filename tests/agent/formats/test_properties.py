"""What holds for any text in any format."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from carryforward.agent.formats import Action, FinalAnswer, FormatName, FormatProblem, parse_reply, reply_format
from carryforward.agent.formats.lenient_json import JsonError, read_value
from carryforward.tools import Toolbox
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .tools import TOOLS

FORMATS = list(get_args(FormatName))
TEXT_FORMATS = ["react", "bracket", "json"]
LABELS = ["Thought:", "Action:", "Action_Input:", "Observation:", "Final_Answer:"]
CHINESE_LABELS = ["思考：", "行动：", "行动输入：", "最终答案："]
SIGNS = [
    "search",
    "delete_all",
    "Finish",
    *'{}[]()":,“”\\\n',
    "'",
    '"query"',
    "```",
    "```json\n",
    " ",
    "\r\n",
    "//",
    "/*",
]
MARKS = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<function=search>",
    "</function>",
    "null",
    "NaN",
    "1e999",
]
STARTS = ["\ud800", "\\ud800", '{"action": "search"', '{"query": "x"}']
PIECES = st.sampled_from([*LABELS, *CHINESE_LABELS, *SIGNS, *MARKS, *STARTS])
REPLIES = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join))
# What stands in a right reply: words without the signs by which the formats are read
PLAIN = st.text(st.characters(categories=["L", "N"], include_characters=" .-"), min_size=1, max_size=30).map(str.strip)
JSON_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(REPLIES, st.sampled_from(FORMATS), st.sampled_from([None, "stop", "length", "tool_calls"]))
@settings(max_examples=600, deadline=None)
def test_any_reply_is_one_of_four_things_and_can_be_kept(reply: str, name: str, finish_reason: str | None) -> None:
    form = reply_format(name)
    call = {"id": "c", "function": {"name": "search", "arguments": reply}}
    for given_reply in (reply, {"role": "assistant", "content": None, "tool_calls": [call]}):
        found = form.parse(given_reply, TOOLS, finish_reason=finish_reason)
        assert isinstance(found, Action | list | FinalAnswer | FormatProblem)
        kept = form.history_message(given_reply, found)
        json.dumps(kept, allow_nan=False, ensure_ascii=False).encode()
        for kept_call in kept.get("tool_calls", ()):
            assert isinstance(json.loads(kept_call["function"]["arguments"]), dict)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
@settings(max_examples=60, deadline=None)
def test_a_message_of_any_shape_is_read(junk: Any) -> None:
    for message in ({"content": junk}, {"tool_calls": junk}, {"tool_calls": [junk]}, {"function_call": junk}):
        for name in FORMATS:
            parse_reply(message, name, TOOLS)
        function = {"name": junk, "arguments": junk}
        parse_reply({"tool_calls": [{"id": junk, "function": function}]}, "tools", TOOLS)


@given(JSON_TEXTS, JSON_TEXTS, PLAIN, st.sampled_from(TEXT_FORMATS), st.sampled_from(["en", "zh"]))
@settings(max_examples=200, deadline=None)
def test_a_call_in_the_right_form_is_read_as_it_was_meant(
    title: str, body: str, thought: str, name: str, language: Any
) -> None:
    form = reply_format(name, language)
    meant = Action("save_note", {"title": title, "body": body}, thought)
    assert form.parse(form.history_message("", meant), TOOLS) == meant


@given(PLAIN.filter(bool), PLAIN, st.sampled_from(TEXT_FORMATS), st.sampled_from(["en", "zh"]))
@settings(max_examples=200, deadline=None)
def test_an_answer_in_the_right_form_is_read_as_it_was_meant(text: str, thought: str, name: str, language: Any) -> None:
    form = reply_format(name, language)
    meant = FinalAnswer(text, thought)
    assert form.parse(form.history_message("", meant), TOOLS) == meant


@given(st.text(max_size=80).filter(str.strip), st.sampled_from(["bracket", "json"]))
@settings(max_examples=300, deadline=None)
def test_an_answer_of_any_text_stays_whole_where_it_is_quoted(text: str, name: str) -> None:
    assume("think" not in text.lower() and "\ufffd" not in text)
    form = reply_format(name)
    found = form.parse(form.history_message("", FinalAnswer(text.strip())), TOOLS)
    assert found == FinalAnswer(text.strip())


@given(JSON_TEXTS.filter(bool), st.data(), st.sampled_from(TEXT_FORMATS))
@settings(max_examples=200, deadline=None)
def test_a_call_cut_off_anywhere_in_its_input_is_not_run(body: str, data: st.DataObject, name: str) -> None:
    form = reply_format(name)
    whole = form.history_message("", Action("save_note", {"title": "t", "body": body}))["content"]
    start = whole.index('{"title"')
    end = whole.rindex("}") + 1 if name != "json" else whole.rindex("}}") + 1
    cut = data.draw(st.integers(start + 1, end - 1))
    for finish_reason in (None, "length"):
        assert isinstance(form.parse(whole[:cut], TOOLS, finish_reason=finish_reason), FormatProblem)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | JSON_TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(JSON_TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
@settings(max_examples=100, deadline=None)
def test_json_is_read_as_json(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert read_value(text) == (value, len(text))


@given(st.dictionaries(JSON_TEXTS, VALUES, min_size=1, max_size=4), st.data())
@settings(max_examples=100, deadline=None)
def test_no_beginning_of_an_object_is_taken_for_a_whole_one(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    with pytest.raises(JsonError):
        read_value(text[: data.draw(st.integers(0, len(text) - 1))])


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.integers() | st.booleans() | st.none() | PLAIN, max_size=4
    )
)
def test_python_literals_are_read(value: dict[str, Any]) -> None:
    assert read_value(repr(value))[0] == value


def test_the_quotes_of_a_cut_object_are_not_paired_in_another_way() -> None:
    text = json.dumps({"a": "x", "it's": None, "b": [{"c": ""}]})
    for end in range(len(text)):
        with pytest.raises(JsonError) as cut:
            read_value(text[:end])
        assert cut.value.kind == "truncated"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_the_examples_shown_to_the_model_are_right(name: str, language: Any) -> None:
    form = reply_format(name, language)
    for tool in TOOLS:
        shown = form.instructions([tool])
        found = form.parse(shown[shown.index("\n\n") :], [tool])
        assert isinstance(found, Action) and found.name == tool.name
    answer = form.instructions([])
    assert isinstance(form.parse(answer[answer.index("\n\n") :], []), FinalAnswer)
    assert all(tool.name in form.instructions(TOOLS) for tool in TOOLS)


def test_a_toolbox_does_as_tools() -> None:
    found = parse_reply("Action: search\nAction Input: gull", "react", Toolbox(TOOLS))
    assert found == Action("search", {"query": "gull"})


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "{",
        '{"a":',
        "Action: ",
        "<think>",
        '" ',
        "Action: search[",
        "Action: use ",
        "a=1,",
        "`",
        "\n",
        "```\n",
        "**Action",
        "{}",
        "\nFinal Answer:",
        "[TOOL_CALLS]search",
        "<|channel|>analysis<|message|>",
    ],
)
def test_long_junk_is_read_in_good_time(piece: str) -> None:
    for name in FORMATS:
        assert isinstance(parse_reply(piece * (40_000 // len(piece)), name, TOOLS), FinalAnswer | FormatProblem)
