"""Grammars that a server can hold a reply to, so that its form is right whatever the model.

They are GBNF (https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md), which the servers of llama.cpp
take in the field `grammar`. White space is fixed: a small model that is free to choose it fills a reply with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .base import Action, FinalAnswer, Tool, Tools

_THOUGHT, _INPUT, _ANSWER = "\ue000", {"\ue001": 0}, "\ue002"  # where a rendered reply is left open
_TYPES = ("string", "integer", "number", "boolean", "object", "array")

_RULES = r"""
line ::= [^\n]{1,300}
text ::= [^\x00-\x20] [^\x00]*
bare ::= [^\x00-\x20\[\]"'“‘{] [^\[\]\n]* | "\"" told "\""
told ::= [^"\\\x00-\x20] chars?
words ::= [^"\\\x00-\x1f]{1,300}
chars ::= ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))+
string ::= "\"" chars? "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,15})?
boolean ::= "true" | "false"
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
array ::= "[" (value (", " value)*)? "]"
value ::= object | array | string | number | boolean | "null"
"""


def grammar(render: Callable[[Action | FinalAnswer], str], tools: Tools, *, thought: str, answer: str) -> str:
    """The grammar of the replies that `render` writes: a thought, then a call of one of the tools, or an answer.

    Args:
        render: how the format writes a call or an answer.
        thought, answer: the rule of `_RULES` for what stands in their place.
    """
    opening, rest = _split(render(FinalAnswer(_ANSWER, _THOUGHT)), _THOUGHT)
    before, after = _split(rest, _ANSWER)
    ends = [f"{_literal(before)} {answer} {_literal(after)}"]
    for tool in tools:
        _, rest = _split(render(Action(tool.name, _INPUT, _THOUGHT)), _THOUGHT)
        before, after = _split(rest, json.dumps(_INPUT, ensure_ascii=False))
        ends.append(f"{_literal(before)} {_arguments(tool)} {_literal(after)}")
    return f"root ::= {_literal(opening)} {thought} ({' | '.join(ends)}){_RULES}"


def _split(text: str, hole: str) -> tuple[str, str]:
    before, _, after = text.partition(hole)
    return before, after


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _arguments(tool: Tool) -> str:
    """Required parameters in the order of the schema, then any of the optional ones in theirs."""
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties") or {}
    if not properties:
        return "object" if tool.parameters.get("additionalProperties") else _literal("{}")
    required = tool.parameters.get("required") or ()
    members = {name: f"{_literal(json.dumps(name) + ': ')} {_value(schema)}" for name, schema in properties.items()}
    needed = [member for name, member in members.items() if name in required]
    optional = [member for name, member in members.items() if name not in required]
    if needed:
        inside = _list(needed[0], needed[1:], optional)
    else:
        inside = "(" + " | ".join(_list(first, [], optional[at + 1 :]) for at, first in enumerate(optional)) + ")?"
    return f'"{{" {inside} "}}"'


def _list(first: str, needed: Sequence[str], optional: Sequence[str]) -> str:
    return " ".join([first, *(f'", " {member}' for member in needed), *(f'(", " {member})?' for member in optional)])


def _value(schema: Mapping[str, Any]) -> str:
    if schema.get("enum"):
        return "(" + " | ".join(_literal(json.dumps(choice, ensure_ascii=False)) for choice in schema["enum"]) + ")"
    kind = schema.get("type")
    return kind if kind in _TYPES else "value"
