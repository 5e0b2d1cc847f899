"""Pure JSON: `{"thought", "action", "action_input"}` for a call, `{"thought", "answer"}` for the answer."""

from __future__ import annotations

import json
from typing import Any

from .base import Action, Constrain, FinalAnswer, FormatName, Tool, Tools
from .json_objects import read_json
from .labelled import read_bare_call, read_labelled
from .printed_calls import read_printed
from .text_format import Reader, TextFormat

_RULES = {
    "en": "Reply with exactly one JSON object and nothing else. To call a tool:\n"
    "{call}\n\nWhen you know the answer:\n{answer}",
    "zh": "只回复一个 JSON 对象，不要有其他内容。需要调用工具时：\n{call}\n\n知道答案后：\n{answer}",
}
_ANSWER_ONLY = {
    "en": "Reply with exactly one JSON object and nothing else:\n{answer}",
    "zh": "只回复一个 JSON 对象，不要有其他内容：\n{answer}",
}


class JsonObjects(TextFormat):
    """One JSON object a reply."""

    name: FormatName = "json"
    readers: tuple[Reader, ...] = (read_json, read_labelled, read_printed, read_bare_call)
    open_rules = ("words", "told")

    @property
    def stop(self) -> tuple[str, ...]:
        """None: a stop sequence might stand in a text of the object."""
        return ()

    def constraint(self, tools: Tools, how: Constrain) -> dict[str, Any]:
        """A grammar, or the schema of a reply in `response_format`."""
        if how != "json_schema":
            return super().constraint(tools, how)
        return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": _schema(tools)}}}

    def render(self, parsed: Action | FinalAnswer) -> str:
        """The object on one line."""
        said: dict[str, Any] = {"thought": parsed.thought} if parsed.thought else {}
        if isinstance(parsed, FinalAnswer):
            said |= {"answer": parsed.text}
        else:
            said |= {"action": parsed.name, "action_input": parsed.arguments}
        return json.dumps(said, ensure_ascii=False)

    def rules(self, example: Action | None) -> str:
        """The forms of a call and of an answer."""
        answer = self.render(self._example_answer())
        if example is None:
            return _ANSWER_ONLY[self.language].format(answer=answer)
        return _RULES[self.language].format(call=self.render(example), answer=answer)


def _schema(tools: Tools) -> dict[str, Any]:
    text = {"type": "string"}
    calls = [{"action": {"const": tool.name}, "action_input": _input_schema(tool)} for tool in tools]
    return {"anyOf": [_object({"thought": text, **form}) for form in (*calls, {"answer": text})]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _input_schema(tool: Tool) -> dict[str, Any]:
    """The schema of the arguments; references point to the top of their own schema, so one with them is left open."""
    return {"type": "object"} if '"$ref"' in json.dumps(tool.parameters) else dict(tool.parameters)
