"""What a server is told so that it holds replies to their form: whatever it then lets through can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from carryforward.agent import Agent
from carryforward.agent.formats import Action, FinalAnswer, FormatProblem, parse_reply, reply_format
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from .tools import TOOLS, make

MORE = [
    *TOOLS,
    make("pick", optional=("size",), colour={"type": "string", "enum": ["red", 'it\'s "blue"']}, size="number"),
    make("only_optional", optional=("a", "b", "c"), a="integer", b="boolean", c="array"),
    make("say it", text="string", how={"anyOf": [{"type": "object"}, {"type": "null"}]}),
]
FORMATS = ("react", "bracket", "json")

_TOKEN = re.compile(
    r'\s*(?:(?P<literal>"(?:[^"\\]|\\.)*")|(?P<set>\[\^?(?:[^\]\\]|\\.)*\])|(?P<name>[a-z][\w-]*)'
    r"|(?P<mark>[()|]|[?*+]|\{\d+(?:,\d+)?\}))"
)
_SAFE = "ab7 ,;.é汉：:-=(){}"  # letters for the open places: of all that is allowed there, what a text is made of


class Gbnf:
    """Draws sentences of a grammar; knows as much of GBNF as the packaged ones use."""

    def __init__(self, text: str) -> None:
        rules = (line.partition(" ::= ") for line in text.splitlines() if line)
        self._rules = {name: [m for m in _TOKEN.finditer(body) if m.group().strip()] for name, _, body in rules}

    def sentence(self, draw: Callable[[st.SearchStrategy[Any]], Any], rule: str = "root", depth: int = 0) -> str:
        tokens, at = self._rules[rule], 0

        def alternatives() -> Callable[[], str]:
            nonlocal at
            options = [sequence()]
            while at < len(tokens) and tokens[at].group("mark") == "|":
                at += 1
                options.append(sequence())
            # deep inside a value, the last alternative: the one that does not recur
            return lambda: options[-1 if depth > 4 else draw(st.integers(0, len(options) - 1))]()

        def sequence() -> Callable[[], str]:
            nonlocal at
            parts: list[Callable[[], str]] = []
            while at < len(tokens) and tokens[at].group("mark") not in ("|", ")"):
                parts.append(repeated(item()))
            return lambda: "".join(part() for part in parts)

        def item() -> Callable[[], str]:
            nonlocal at
            token = tokens[at]
            at += 1
            if token.group("mark") == "(":
                inner = alternatives()
                at += 1
                return inner
            if (literal := token.group("literal")) is not None:
                return lambda: json.loads(literal)
            if (letters := token.group("set")) is not None:
                fitting = [sign for sign in _SAFE if re.fullmatch(letters, sign)] or ["b"]
                return lambda: draw(st.sampled_from(fitting))
            return lambda: self.sentence(draw, token.group("name"), depth + 1)

        def repeated(one: Callable[[], str]) -> Callable[[], str]:
            nonlocal at
            mark = tokens[at].group("mark") if at < len(tokens) else None
            if mark is None or mark in "()|":
                return one
            at += 1
            least = {"?": 0, "*": 0, "+": 1}.get(mark, int(re.findall(r"\d+", mark)[0]) if mark[0] == "{" else 0)
            most = 1 if mark == "?" else int(re.findall(r"\d+", mark)[-1]) if mark[0] == "{" else 4
            return lambda: "".join(one() for _ in range(draw(st.integers(least, min(most, max(least, 4))))))

        return alternatives()()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("format", FORMATS)
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_what_a_grammar_allows_is_a_call_or_an_answer(format: Any, language: Any, data: st.DataObject) -> None:
    grammar = Gbnf(reply_format(format, language).constraint(MORE, "grammar")["grammar"])
    reply = grammar.sentence(data.draw)
    said = parse_reply(reply, format, MORE)
    # a schema may ask for more than a grammar tells (an object with the same key twice, nested parameters)
    if isinstance(said, FormatProblem):
        assert said.reason in ("duplicate_key", "invalid_arguments"), reply
    else:
        assert isinstance(said, Action | FinalAnswer), reply


@pytest.mark.parametrize("format", FORMATS)
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_without_tools_a_grammar_allows_only_an_answer(format: Any, data: st.DataObject) -> None:
    reply = Gbnf(reply_format(format).constraint((), "grammar")["grammar"]).sentence(data.draw)
    assert isinstance(parse_reply(reply, format, MORE), FinalAnswer)


CALLS = [
    Action("search", {"query": 'the "best" gull\n汉'}, "look"),
    Action("read_file", {"path": "a", "limit": 3}, "look"),
    Action("get_time", {}, "look"),
]


def test_the_schema_of_a_json_reply_allows_what_the_format_writes_and_nothing_else() -> None:
    form = reply_format("json")
    schema = form.constraint(TOOLS, "json_schema")["response_format"]["json_schema"]["schema"]
    valid = Draft202012Validator(schema).is_valid
    for said in (*CALLS, FinalAnswer("42", "done")):
        assert valid(json.loads(form.history_message("", said)["content"]))
    for wrong in (
        {"thought": "x", "action": "no_such_tool", "action_input": {}},
        {"thought": "x", "action": "search", "action_input": {"query": 3}},
        {"thought": "x", "action": "search", "action_input": {"query": "a"}, "answer": "b"},
        {"thought": "x"},
    ):
        assert not valid(wrong)
    answer_only = form.constraint((), "json_schema")["response_format"]["json_schema"]["schema"]
    assert not Draft202012Validator(answer_only).is_valid({"thought": "x", "action": "search", "action_input": {}})


def test_parameters_with_references_do_not_break_the_schema() -> None:
    nested = make("nested", where={"$ref": "#/$defs/Place"})
    schema = reply_format("json").constraint([nested], "json_schema")["response_format"]["json_schema"]["schema"]
    assert Draft202012Validator(schema).is_valid({"thought": "", "action": "nested", "action_input": {"where": 1}})


@pytest.mark.parametrize(
    ("format", "how"), [("tools", "grammar"), ("tools", "json_schema"), ("react", "json_schema"), ("json", "xml")]
)
def test_a_form_that_cannot_be_told_that_way_is_refused_when_the_agent_is_made(format: Any, how: Any) -> None:
    with pytest.raises(ValueError, match=r"constrain"):
        Agent("m", format=format, constrain=how)


def test_each_request_holds_the_model_to_what_it_may_say(scripted: Any) -> None:
    model = scripted(["Thought: x\nAction: get_time\nAction Input: {}", "Thought: x\nFinal Answer: noon"])
    result = Agent(model, TOOLS, format="react", constrain="grammar", max_steps=1, options={"seed": 1}).run("Time?")
    assert (result.status, result.answer) == ("out_of_steps", "noon")
    assert "get_time" not in model.options["grammar"] and "Final Answer" in model.options["grammar"]
    assert model.options["seed"] == 1
