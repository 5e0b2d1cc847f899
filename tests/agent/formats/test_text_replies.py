"""Replies in the three text formats, as models write them: what is a call, an answer, or neither."""

from __future__ import annotations

import json
from typing import Any

import pytest
from carryforward.agent.formats import Action, FinalAnswer, FormatProblem, parse_reply, reply_format

from .tools import TOOLS

GULL = {"query": "gull"}


def read(format: str, reply: str, finish_reason: str | None = None) -> Any:
    found = parse_reply(reply, format, TOOLS, finish_reason=finish_reason)
    match found:
        case Action():
            return found.name, found.arguments
        case FinalAnswer():
            return found.text
        case FormatProblem():
            return found.reason
        case _:
            return found


REACT = {
    "nested braces": (
        "Action: python\nAction Input: {\"code\": \"d = {'k': {'x': 1}}; print(d)\"}",
        ("python", {"code": "d = {'k': {'x': 1}}; print(d)"}),
    ),
    "several lines, then prose": (
        'Action: save_note\nAction Input: {\n "title": "plan",\n "body": "one"\n}\nNow I wait.',
        ("save_note", {"title": "plan", "body": "one"}),
    ),
    "fenced input": ('Action: search\nAction Input: ```json\n{"query": "gull"}\n```', ("search", GULL)),
    "fence on its own line": ('Action: search\nAction Input:\n```\n{"query": "gull"}\n```\n', ("search", GULL)),
    "fenced plain code": (
        "Action: python\nAction Input:\n```python\nx = 1\nprint(x)\n```\nThought: done",
        ("python", {"code": "x = 1\nprint(x)"}),
    ),
    "all in a fence": ('```\nThought: look\nAction: search\nAction Input: {"query": "gull"}\n```', ("search", GULL)),
    "fence after prose": (
        'I will look.\n```text\nAction: search\nAction Input: {"query": "gull"}\n```',
        ("search", GULL),
    ),
    "python literal": (
        "Action: read_file\nAction Input: {'path': 'it\\'s.txt', 'limit': 3,}",
        ("read_file", {"path": "it's.txt", "limit": 3}),
    ),
    "apostrophe in single quotes": (
        "Action: search\nAction Input: {'query': 'gull's nest'}",
        ("search", {"query": "gull's nest"}),
    ),
    "needless escape": (
        'Action: search\nAction Input: {"query": "Rock \\\'n\\\' roll"}',
        ("search", {"query": "Rock 'n' roll"}),
    ),
    "regular expression": (
        'Action: search\nAction Input: {"query": "\\d+ \\w"}',
        ("search", {"query": "\\d+ \\w"}),
    ),
    "raw line ends": (
        'Action: python\nAction Input: {"code": "if x:\n\tprint(x)"}',
        ("python", {"code": "if x:\n\tprint(x)"}),
    ),
    "raw line that looks like a label": (
        'Action: save_note\nAction Input: {"title": "a", "body": "x\nThought: y"}',
        ("save_note", {"title": "a", "body": "x\nThought: y"}),
    ),
    "unescaped quotes": (
        'Action: search\nAction Input: {"query": "the "best" gull"}',
        ("search", {"query": 'the "best" gull'}),
    ),
    "unescaped quotes before a comma": (
        'Action: save_note\nAction Input: {"title": "say "hi", then go", "body": "b"}',
        ("save_note", {"title": 'say "hi", then go', "body": "b"}),
    ),
    "missing comma": (
        'Action: save_note\nAction Input: {"title": "a"\n "body": "b"}',
        ("save_note", {"title": "a", "body": "b"}),
    ),
    "bare keys and values": (
        "Action: read_file\nAction Input: {path: a.txt, limit: 3}",
        ("read_file", {"path": "a.txt", "limit": 3}),
    ),
    "braces twice": ('Action: search\nAction Input: {{"query": "gull"}}', ("search", GULL)),
    "cut braces, twice": ('Action: search\nAction Input: {{"query": "gull"}', "truncated_or_empty"),
    "quotes with a backslash": ('Action: search\nAction Input: {\\"query\\": \\"gull\\"} and wait', ("search", GULL)),
    "cut quotes with a backslash": ('Action: search\nAction Input: {\\"query\\": \\"gu', "truncated_or_empty"),
    "backticks as quotes": ("Action: search\nAction Input: {`query`: `gull`}", ("search", GULL)),
    "French quotes": ("Action: search\nAction Input: {«query»: «gull»}", ("search", GULL)),
    "German quotes": ("Action: search\nAction Input: {„query“: „gull“}", ("search", GULL)),
    "Chinese quotes": ("Action: search\nAction Input: {『query』：「gull」}", ("search", GULL)),
    "Chinese quotes around plain text": ("行动：search\n行动输入：「gull」", ("search", GULL)),
    "full-width apostrophes": ("Action: search\nAction Input: {＇query＇：＇gull＇}", ("search", GULL)),
    "tuple": ("Action: tags\nAction Input: {'names': ('a', ('b', 1), 2.5)}", ("tags", {"names": ["a", ["b", 1], 2.5]})),
    "parentheses that are no tuple": (
        "Action: calculator\nAction Input: {expression: (1+2)*3}",
        ("calculator", {"expression": "(1+2)*3"}),
    ),
    "Python's comment": (
        'Action: read_file\nAction Input: {"path": "#a", # where\n "limit": 3, # lines\n}',
        ("read_file", {"path": "#a", "limit": 3}),
    ),
    "comment in the input": (
        'Action: search\nAction Input: {"query": "gull" // the bird\n}',
        ("search", GULL),
    ),
    "encoded twice": ('Action: search\nAction Input: "{\\"query\\": \\"gull\\"}"', ("search", GULL)),
    "triple quotes": (
        'Action: python\nAction Input: {"code": """a = "x"\nb"""}',
        ("python", {"code": 'a = "x"\nb'}),
    ),
    "invented observation and more calls": (
        'Action: search\nAction Input: {"query": "gull"}\nObservation: 9 m\nAction: delete_all\nAction Input: {}',
        ("search", GULL),
    ),
    "invented observation and answer": (
        'Action: search\nAction Input: {"query": "gull"}\nObservation: 9 m\nFinal Answer: 9 m',
        ("search", GULL),
    ),
    "cut stop word": ("Action: search\nAction Input: 'gull'\nObserv", ("search", GULL)),
    "cut stop word after plain text": ("Action: search\nAction Input: gull\nObs", ("search", GULL)),
    "next thought": ("Action: search\nAction Input: gull\nThought: then the mean", ("search", GULL)),
    "plain text for a required and an optional parameter": (
        "Action: web-search\nAction Input: gull",
        ("web-search", GULL),
    ),
    "key and value": (
        'Action: read_file\nAction Input: path="a.txt", limit=3',
        ("read_file", {"path": "a.txt", "limit": 3}),
    ),
    "key and value behind a colon": ("Action: search\nAction Input: query: 3 gulls", ("search", {"query": "3 gulls"})),
    "keys and values, one a line": (
        "Action: save_note\nAction Input:\n  title: plan\n  body: one, two",
        ("save_note", {"title": "plan", "body": "one, two"}),
    ),
    "colon in plain text": ("Action: search\nAction Input: gull: a bird", ("search", {"query": "gull: a bird"})),
    "one text in a list": ('Action: search\nAction Input: ["gull"]', ("search", GULL)),
    "key with half its value": ('Action: save_note\nAction Input: title="a", body="b', "truncated_or_empty"),
    "key without its value": ("Action: save_note\nAction Input: title: plan\nbody:", "truncated_or_empty"),
    "two texts in a list": ('Action: search\nAction Input: ["a", "b"]', ("search", {"query": '["a", "b"]'})),
    "brackets of code": ("Action: python\nAction Input: [x for x in y]", ("python", {"code": "[x for x in y]"})),
    "name in camel case": (
        'Action: readFile\nAction Input: {"path": "a", "limit": 3}',
        ("read_file", {"path": "a", "limit": 3}),
    ),
    "remark behind the name": ("Action: search - to find gulls\nAction Input: gull", ("search", GULL)),
    "remark behind a dangerous name": ("Action: delete_all - or better not\nAction Input: {}", "unknown_tool"),
    "prose before the object": (
        'Action: read_file\nAction Input: Here it is: {"path": "a.txt", "limit": 3}',
        ("read_file", {"path": "a.txt", "limit": 3}),
    ),
    "a list for a list": ('Action: tags\nAction Input: ["a", "b"]', ("tags", {"names": ["a", "b"]})),
    "brackets in plain text": (
        "Action: search\nAction Input: [Hamburg] tides",
        ("search", {"query": "[Hamburg] tides"}),
    ),
    "number in text": (
        'Action: Unit Converter\nAction Input: {"value": "2.5", "unit": "m"}',
        ("Unit Converter", {"value": 2.5, "unit": "m"}),
    ),
    "wrapped input": ('Action: search\nAction Input: {"input": {"query": "gull"}}', ("search", GULL)),
    "generic key": ('Action: search\nAction Input: {"input": "gull"}', ("search", GULL)),
    "key in capitals": ('Action: search\nAction Input: {"Query": "gull"}', ("search", GULL)),
    "no input for a tool without parameters": ("Thought: t\nAction: get_time", ("get_time", {})),
    "None for a tool without parameters": ("Action: get_time\nAction Input: None", ("get_time", {})),
    "name in brackets": ('Action: [search]\nAction Input: {"query": "gull"}', ("search", GULL)),
    "name in backticks": ("Action: `search`\nAction Input: gull", ("search", GULL)),
    "name in bold": ("**Action:** **search**\n**Action Input:** gull", ("search", GULL)),
    "name in capitals": ("Action: SEARCH\nAction Input: gull", ("search", GULL)),
    "name with a full stop": ("Action: search.\nAction Input: gull", ("search", GULL)),
    "name with other separators": ("Action: web_search\nAction Input: gull", ("web-search", GULL)),
    "verb before the name": ("Action: Use search\nAction Input: gull", ("search", GULL)),
    "noun behind the name": ("Action: the search tool\nAction Input: gull", ("search", GULL)),
    "namespace": ("Action: functions.search\nAction Input: gull", ("search", GULL)),
    "verb before a dangerous name": ("Action: Use delete_all\nAction Input: {}", "unknown_tool"),
    "nearly a dangerous name": ("Action: delete_al\nAction Input: {}", "unknown_tool"),
    "a sentence about a dangerous name": ("Action: do not delete_all\nAction Input: {}", "unknown_tool"),
    "numbered labels": ("Thought 1: t\nAction 1: search\nAction Input 1: gull\nObservation 1: x", ("search", GULL)),
    "lower-case labels": ("thought: t\naction: search\naction_input: gull", ("search", GULL)),
    "list marks and headings": ("### Thought: t\n- Action: search\n- Action Input: gull", ("search", GULL)),
    "label and name in bold": ("**Action: search**\n**Action Input: gull**", ("search", GULL)),
    "numbered list": ("1. Thought: t\n2. Action: search\n3. Action Input: gull", ("search", GULL)),
    "headings without a colon": ("## Action\nsearch\n## Action Input\ngull", ("search", GULL)),
    "labels in Chinese brackets": ("【思考】查\n【行动】search\n【行动输入】gull", ("search", GULL)),
    "labels of other words": ("Tool: search\nInput: gull", ("search", GULL)),
    "labels of other words, Chinese": ("操作：search\n操作输入：gull", ("search", GULL)),
    "labels of other words for no tool": ("Tool: a spade\nInput: the ground", "no_action"),
    "name and input in fences of their own": (
        'Action: search\n```\n```json\nAction Input: {"query": "gull"}\n```',
        ("search", GULL),
    ),
    "lines like labels in fenced code": (
        "Action: python\nAction Input:\n```python\nthought: str = 'x'\nprint(1)\n```\nThought: done",
        ("python", {"code": "thought: str = 'x'\nprint(1)"}),
    ),
    "fenced code that ends in an invented turn": (
        "Action: python\nAction Input:\n```python\nx = 1\nObservation: 9\n```",
        "truncated_or_empty",
    ),
    "zero-width space": ("Action: search\u200b\nAction Input: gull", ("search", GULL)),
    "along one line": ('Thought: look. Action: search Action Input: {"query": "gull"}', ("search", GULL)),
    "input on the line below": ('Action: search\n{"query": "gull"}', ("search", GULL)),
    "windows line ends": ('Action: search\r\nAction Input: {"query": "gull"}\r\n', ("search", GULL)),
    "bracket form": ("Action: search[gull]", ("search", GULL)),
    "call form": ('Action: read_file(path="a.txt", limit=3)', ("read_file", {"path": "a.txt", "limit": 3})),
    "object behind the name": ('Action: search {"query": "gull"}', ("search", GULL)),
    "colon behind the name": ("Action: search: gull", ("search", GULL)),
    "colon behind no name of a tool": ("Action: look up: gull", "unknown_tool"),
    "name with marks of a chat template": ("Action: search<|channel|>json\nAction Input: gull", ("search", GULL)),
    "apostrophes in a quoted text": (
        "Action: search\nAction Input: 'Rock'n'roll'",
        ("search", {"query": "Rock'n'roll"}),
    ),
    "Windows path": (
        'Action: python\nAction Input: {"code": "C:\\Users\\new\\a.py"}',
        ("python", {"code": "C:\\Users\\new\\a.py"}),
    ),
    "Windows path, escaped": (
        'Action: python\nAction Input: {"code": "C:\\\\Users\\\\new", }',
        ("python", {"code": "C:\\Users\\new"}),
    ),
    "a whole call as the input": (
        'Action: search\nAction Input: {"action": "search", "action_input": {"query": "gull"}}',
        ("search", GULL),
    ),
    "a call of another tool as the input": (
        'Action: search\nAction Input: {"action": "delete_all", "action_input": {"query": "gull"}}',
        "invalid_arguments",
    ),
    "the one object in a list": ('Action: search\nAction Input: [{"query": "gull"}]', ("search", GULL)),
    "JSON action": ('Action:\n```json\n{"action": "search", "action_input": "gull"}\n```', ("search", GULL)),
    "only JSON": ('{"action": "search", "action_input": {"query": "gull"}}', ("search", GULL)),
    "printed native call": (
        '<tool_call>\n{"name": "search", "arguments": {"query": "gull"}}\n</tool_call>',
        ("search", GULL),
    ),
    "Chinese": ("思考：查潮汐\n行动：search\n行动输入：{“query”：“潮汐表”}", ("search", {"query": "潮汐表"})),
    "Chinese, plain": ("思考: 查\n动作: search\n动作输入: 潮汐表\n观察: 无", ("search", {"query": "潮汐表"})),
    "Chinese verb": ("行动：使用search工具\n行动输入：gull", ("search", GULL)),
    "Chinese answer": ("思考：知道了\n最终答案：8848.86 米", "8848.86 米"),
    "answer": ("Thought: I know\nFinal Answer: 42", "42"),
    "answer of several lines": ("Final Answer: a\n- b\n\nc", "a\n- b\n\nc"),
    "answer in bold": ("**Final Answer:** 42", "42"),
    "answer that is bold": ("最终答案：**42** 米", "**42** 米"),
    "label and answer in bold": ("**Final Answer: 42**", "42"),
    "answer under a heading": ("### Final Answer\n42", "42"),
    "answer with a line like an action": ("Final Answer: do\nAction: repaint it\nnow", "do\nAction: repaint it\nnow"),
    "answer, then a call of a tool": ("Final Answer: 42\nAction: search[gull]", "42"),
    "answer, then a call of no tool": ("Final Answer: 42\nAction: serch\nAction Input: gull", "42"),
    "no action needed, then the answer": ("Action: No action needed.\nFinal Answer: 42", "42"),
    "no action needed, Chinese": ("行动：无需调用工具\n最终答案：42", "42"),
    "text after the answer": ("Final Answer: 42\n\nQuestion: what else?\nThought: hm", "42"),
    "answer, then an invented turn": ("Final Answer: 42\nObservation: x\nAction: delete_all\nAction Input: {}", "42"),
    "answer as an action": ("Action: Finish[42]", "42"),
    "answer behind a colon": ("Thought: t\nAction: Final Answer: 42", "42"),
    "empty action, then the answer": ("Thought: t\nAction:\nFinal Answer: 42", "42"),
    "answer as an action with input": ("Action: Final Answer\nAction Input: 42", "42"),
    "no action, then the answer": ("Thought: t\nAction: None\nFinal Answer: 42", "42"),
    "empty answer": ("Thought: t\nFinal Answer:", "truncated_or_empty"),
    "call, then answer": (
        'Action: search\nAction Input: {"query": "gull"}\nFinal Answer: 12 m.',
        ("search", GULL),
    ),
    "no label": ("The bridge opened in 1932.", "no_action"),
    "only a thought": ("Thought: I should look that up.", "no_action"),
    "empty": ("", "truncated_or_empty"),
    "blank": (" \n\t", "truncated_or_empty"),
    "unknown tool": ("Action: serch\nAction Input: gull", "unknown_tool"),
    "missing parameter": ('Action: read_file\nAction Input: {"path": "a"}', "invalid_arguments"),
    "unknown parameter": ('Action: search\nAction Input: {"querry": "a"}', "invalid_arguments"),
    "wrong type": ('Action: read_file\nAction Input: {"path": "a", "limit": "many"}', "invalid_arguments"),
    "not a number": ('Action: Unit Converter\nAction Input: {"value": NaN, "unit": "m"}', "invalid_arguments"),
    "plain text for several parameters": ("Action: save_note\nAction Input: a note", "invalid_arguments"),
    "parameter twice": ('Action: search\nAction Input: {"query": "a", "query": "b"}', "duplicate_key"),
    "parameter twice in other capitals": (
        'Action: search\nAction Input: {"query": "a", "Query": "b"}',
        "duplicate_key",
    ),
    "cut object": ('Action: save_note\nAction Input: {"title": "a", "body": "b', "truncated_or_empty"),
    "object without its last brace": ('Action: search\nAction Input: {"query": "gull"', "truncated_or_empty"),
    "cut object before an invented observation": (
        'Action: search\nAction Input: {"query": "gull\nObservation: 9 m',
        "truncated_or_empty",
    ),
    "open fence": ("Action: python\nAction Input: ```python\nimport os\nos.remo", "truncated_or_empty"),
    "open quote around an object": ('Action: search\nAction Input: "{\\"query\\": \\"gul', "truncated_or_empty"),
    "open list": ('Action: search\nAction Input: [{"query": "gull"}', "truncated_or_empty"),
    "open quote": ('Action: search\nAction Input: "gul', "truncated_or_empty"),
    "thinking with another call": (
        "<think>\nAction: delete_all\nAction Input: {}\n</think>\n\nAction: search\nAction Input: gull",
        ("search", GULL),
    ),
    "thinking that the template opened": (
        "Maybe\nAction: delete_all\nAction Input: {}\n</think>\nAction: search\nAction Input: gull",
        ("search", GULL),
    ),
    "thinking in capitals": ("<THINKING>Action: delete_all</THINKING>\nAction: search[gull]", ("search", GULL)),
    "thinking of Mistral": ("[THINK]Action: delete_all\nAction Input: {}[/THINK]Final Answer: 42", "42"),
    "thinking of gpt-oss": (
        "<|channel|>analysis<|message|>Action: delete_all<|end|><|start|>assistant<|channel|>final<|message|>"
        "Final Answer: 42<|return|>",
        "42",
    ),
    "unclosed thinking of gpt-oss": (
        "<|channel|>analysis<|message|>Action: delete_all\nAction Input: {}",
        "truncated_or_empty",
    ),
    "unclosed thinking": ("<think>\nAction: delete_all\nAction Input: {}\n and then", "truncated_or_empty"),
    "write before unclosed thinking": ("Action: delete_all\nAction Input: {}\n<think>hm", "truncated_or_empty"),
    "call before unclosed thinking": ("Action: search\nAction Input: gull\n<think>hm", ("search", GULL)),
    "think tag as an argument": (
        'Action: search\nAction Input: {"query": "what does <think> mean"}',
        ("search", {"query": "what does <think> mean"}),
    ),
    "only thinking": ("<think>hm</think>", "truncated_or_empty"),
    "end token": ("Final Answer: 42<|im_end|>", "42"),
}


@pytest.mark.parametrize("name", REACT)
def test_react(name: str) -> None:
    reply, expected = REACT[name]
    assert read("react", reply) == expected


BRACKET = {
    "plain": ("Thought: t\nAction: search[gull]", ("search", GULL)),
    "brackets inside": ("Action: search[tide [Hamburg] 2031]", ("search", {"query": "tide [Hamburg] 2031"})),
    "closing bracket too many": ("Action: search[a :] b]", ("search", {"query": "a :] b"})),
    "opening bracket too many": ("Action: search[a [ b]", ("search", {"query": "a [ b"})),
    "hyphen in the name": ("Action: web-search[gull]", ("web-search", GULL)),
    "blank in the name": (
        'Action: Unit Converter[{"value": 2, "unit": "m"}]',
        ("Unit Converter", {"value": 2, "unit": "m"}),
    ),
    "quotes": ('Action: search["gull"]', ("search", GULL)),
    "bracket in quotes": ('Action: search["a ] b"]', ("search", {"query": "a ] b"})),
    "bracket in JSON": ('Action: search[{"query": "a ] b [ c"}]', ("search", {"query": "a ] b [ c"})),
    "several lines": ("Action: python[a = [1]\nprint(a[0])]", ("python", {"code": "a = [1]\nprint(a[0])"})),
    "the word think": ("search[think]", ("search", {"query": "think"})),
    "keys": ('Action: read_file[path="a", limit=3]', ("read_file", {"path": "a", "limit": 3})),
    "a list in the brackets": ('Action: tags["a", "b"]', ("tags", {"names": ["a", "b"]})),
    "empty": ("Action: get_time[]", ("get_time", {})),
    "full-width": ("行动：search【潮汐表】", ("search", {"query": "潮汐表"})),
    "parentheses inside": ("Action: calculator[(1 + 2) * 3]", ("calculator", {"expression": "(1 + 2) * 3"})),
    "two calls": ("Action: search[gull] and then search[tern]", ("search", GULL)),
    "invented observation": ("Action: search[gull]\nObservation: [9 m]\nAction: delete_all[]", ("search", GULL)),
    "no label": ("Thought: t\nsearch[gull]", ("search", GULL)),
    "no label, a write": ("Thought: t\ndelete_all[]\nObservation: done", ("delete_all", {})),
    "no label, a write that is only thought of": ("Thought: I could use\ndelete_all[]\nbut no.", "no_action"),
    "labelled input": ("Action: search\nAction Input: gull", ("search", GULL)),
    "finish": ("Action: Finish[12 m [±1]]", "12 m [±1]"),
    "finish in Chinese": ("思考：好\n行动：Finish[42 米]", "42 米"),
    "finish without a label": ("Finish[42]", "42"),
    "finish of several lines": ("Action: Finish[a\nb]", "a\nb"),
    "empty finish": ("Action: Finish[]", "truncated_or_empty"),
    "final answer": ("Final Answer: 42", "42"),
    "never closed": ("Action: search[gull and", "truncated_or_empty"),
    "unknown": ("Action: serch[gull]", "unknown_tool"),
    "only a name": ("Action: search", "invalid_arguments"),
}


@pytest.mark.parametrize("name", BRACKET)
def test_bracket(name: str) -> None:
    reply, expected = BRACKET[name]
    assert read("bracket", reply) == expected


CALL = '{"thought": "t", "action": "search", "action_input": {"query": "gull"}}'
JSON = {
    "plain": (CALL, ("search", GULL)),
    "prose around": (f"Sure! {CALL} Hope that helps.", ("search", GULL)),
    "prose with braces": (f"As {{placeholder}} says: {CALL}", ("search", GULL)),
    "fenced twice": (f"```json\r\n{CALL}\r\n```\r\n```json\r\n{CALL}\r\n```", ("search", GULL)),
    "stray brace": (CALL + "\n}", ("search", GULL)),
    "outer key": ('{"tool_call": {"action": "search", "action_input": {"query": "gull"}}}', ("search", GULL)),
    "in a list": (f"[{CALL}]", ("search", GULL)),
    "plain input": ('{"action": "search", "action_input": "gull"}', ("search", GULL)),
    "encoded input": ('{"action": "search", "action_input": "{\\"query\\": \\"gull\\"}"}', ("search", GULL)),
    "parameters beside the name": ('{"action": "search", "query": "gull"}', ("search", GULL)),
    "native names": ('{"name": "search", "arguments": {"query": "gull"}}', ("search", GULL)),
    "function object": (
        '{"type": "function", "function": {"name": "search", "arguments": "{\\"query\\": \\"gull\\"}"}}',
        ("search", GULL),
    ),
    "action object": ('{"action": {"name": "search", "arguments": {"query": "gull"}}}', ("search", GULL)),
    "no input": ('{"action": "get_time"}', ("get_time", {})),
    "null input": ('{"action": "get_time", "action_input": null}', ("get_time", {})),
    "python literal": ("{'action': 'search', 'action_input': {'query': 'gull'}, 'answer': None}", ("search", GULL)),
    "keys in camel case": ('{"action": "search", "actionInput": {"query": "gull"}}', ("search", GULL)),
    "keyed by the tool": ('{"thought": "t", "search": {"query": "gull"}}', ("search", GULL)),
    "action keyed by the tool": ('{"action": {"search": {"query": "gull"}}}', ("search", GULL)),
    "encoded as a whole": (json.dumps(CALL), ("search", GULL)),
    "comments": (
        '// look\n{"action": "search", /* it */ "action_input": {"query": "a // b"}}',
        ("search", {"query": "a // b"}),
    ),
    "comment first": ('{\n # look\n "action": "search", "action_input": {"query": "gull"}}', ("search", GULL)),
    "encoded without the quotes around it": (json.dumps(CALL)[1:-1], ("search", GULL)),
    "Chinese": ("{“思考”：“查”，“行动”：“search”，“行动输入”：{“query”：“gull”}}", ("search", GULL)),
    "thinking first": (f'<think>{{"action": "delete_all"}}</think>{CALL}', ("search", GULL)),
    "data before the call": (f'From {{"height": 9}} I conclude {CALL}', ("search", GULL)),
    "answer": ('{"thought": "t", "answer": "42"}', "42"),
    "answer that is a number": ('{"answer": 42}', "42"),
    "answer beside a null action": ('{"action": null, "answer": "42"}', "42"),
    "answer beside an empty action": ('{"action": "", "answer": "42"}', "42"),
    "answer as an action": ('{"action": "Final Answer", "action_input": "42"}', "42"),
    "answer as an action with a key": ('{"action": "finish", "action_input": {"answer": "42"}}', "42"),
    "labelled": ("Thought: t\nAction: search\nAction Input: gull", ("search", GULL)),
    "finish beside its answer": ('{"action": "finish", "answer": "42"}', "42"),
    "finish beside its result": ('{"thought": "t", "action": "finish", "result": "42"}', "42"),
    "keys of other agents": ('{"command": "search", "action_args": {"query": "gull"}}', ("search", GULL)),
    "input in a fence": (
        '{"action": "search", "action_input": "```json\\n{\\"query\\": \\"gull\\"}\\n```"}',
        ("search", GULL),
    ),
    "code in a fence": (
        '{"action": "python", "action_input": "```python\\nx = 1\\n```"}',
        ("python", {"code": "x = 1"}),
    ),
    "input in a list": ('{"action": "search", "action_input": ["gull"]}', ("search", GULL)),
    "call and answer": ('{"action": "search", "action_input": "a", "answer": "42"}', "several_intents"),
    "name twice": ('{"action": "search", "action": "delete_all", "action_input": {}}', "duplicate_key"),
    "cut": ('{"thought": "t", "action": "search", "action_input": {"query": "gu', "truncated_or_empty"),
    "cut behind a whole call inside": (
        '{"example": {"action": "delete_all", "action_input": {}}, "act',
        "truncated_or_empty",
    ),
    "broken behind a whole call inside": ('{"example": {"action": "delete_all"}, action search}', "invalid_json"),
    "only a thought": ('{"thought": "t"}', "no_action"),
    "empty answer": ('{"answer": ""}', "truncated_or_empty"),
    "prose": ("The bridge opened in 1932.", "no_action"),
    "unknown tool": ('{"action": "serch", "action_input": "gull"}', "unknown_tool"),
}


@pytest.mark.parametrize("name", JSON)
def test_json(name: str) -> None:
    reply, expected = JSON[name]
    assert read("json", reply) == expected


CUT = {
    "plain input": ("react", "Action: search\nAction Input: gul", "truncated_or_empty"),
    "name": ("react", "Thought: t\nAction: get_time", "truncated_or_empty"),
    "answer": ("react", "Final Answer: the height is", "truncated_or_empty"),
    "thought": ("react", "Thought: I shall", "truncated_or_empty"),
    "whole input": ("react", 'Action: search\nAction Input: {"query": "gull"}', ("search", GULL)),
    "plain input before invented text": (
        "react",
        "Action: search\nAction Input: gull\nObservation: 9",
        ("search", GULL),
    ),
    "bracket": ("bracket", "Action: search[gull", "truncated_or_empty"),
    "whole bracket": ("bracket", "Action: search[gull]\nObserv", ("search", GULL)),
    "whole input of a write": (
        "react",
        'Action: save_note\nAction Input: {"title": "a", "body": "b"}',
        "truncated_or_empty",
    ),
    "whole bracket of a write": ("bracket", "Action: delete_all[]", "truncated_or_empty"),
    "whole json of a write": ("json", '{"action": "delete_all", "action_input": {}} and', "truncated_or_empty"),
    "json": ("json", '{"action": "delete_all", "action_input": {}', "truncated_or_empty"),
    "whole json": ("json", CALL + " and", ("search", GULL)),
}


@pytest.mark.parametrize("name", CUT)
def test_what_the_length_limit_cut_off_is_never_run(name: str) -> None:
    format, reply, expected = CUT[name]
    assert read(format, reply, "length") == expected


@pytest.mark.parametrize("finish_reason", ["length", "max_tokens", "MAX_TOKENS", "insufficient_system_resource"])
def test_a_cut_reply_is_known_by_what_any_server_calls_it(finish_reason: str) -> None:
    write = 'Action: save_note\nAction Input: {"title": "a", "body": "b"}'
    assert read("react", write, finish_reason) == "truncated_or_empty"
    assert read("react", write, "stop") == ("save_note", {"title": "a", "body": "b"})


@pytest.mark.parametrize("format", ["react", "bracket", "json"])
def test_where_no_tool_can_be_meant_plain_text_is_the_answer(format: str) -> None:
    said = parse_reply("The bridge opened in 1932.", format, [])
    assert said == FinalAnswer("The bridge opened in 1932.")
    for lost in ("Thought: I should look that up.", '{"thought": "t"}', "Action: search[gull]"):
        assert isinstance(parse_reply(lost, format, []), FormatProblem), lost
    assert isinstance(parse_reply("The bridge opened", format, [], finish_reason="length"), FormatProblem)


@pytest.mark.parametrize("format", ["react", "bracket", "json"])
def test_an_unknown_tool_is_answered_with_the_known_ones_and_the_nearest(format: str) -> None:
    problem = parse_reply("Action: serch\nAction Input: x", format, TOOLS)
    assert isinstance(problem, FormatProblem)
    assert "'search'" in problem.hint and all(tool.name in problem.hint for tool in TOOLS)


def test_a_bad_parameter_is_named() -> None:
    problem = parse_reply('Action: read_file\nAction Input: {"path": "a", "limit": "many"}', "react", TOOLS)
    assert isinstance(problem, FormatProblem) and "limit" in problem.hint


def test_native_calls_are_understood_in_a_text_format() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": "gull"}'}}
    found = parse_reply({"role": "assistant", "content": None, "tool_calls": [call]}, "react", TOOLS)
    assert isinstance(found, Action) and found.arguments == GULL


def test_history_holds_no_invented_observation() -> None:
    reply = "Thought: first\nAction: search\nAction Input: gull\nObservation: 9 m\nThought: more\nAction: calculator"
    form = reply_format("react")
    kept = form.history_message(reply, form.parse(reply, TOOLS))
    assert kept == {"role": "assistant", "content": 'Thought: first\nAction: search\nAction Input: {"query": "gull"}'}


def test_history_of_a_problem_holds_no_invented_observation_and_no_thinking() -> None:
    reply = "<think>secret</think>Action: serch\nAction Input: gull\nObservation: 9 m"
    form = reply_format("react")
    kept = form.history_message(reply, form.parse(reply, TOOLS))
    assert kept["content"] == "Action: serch\nAction Input: gull"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="tools, react, bracket, json"):
        reply_format("xml")
