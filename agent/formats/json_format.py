"""Pure JSON: `{"thought", "action", "action_input"}` for a call, `{"thought", "answer"}` for the answer."""

from __future__ import annotations

import json
from typing import Any

from .base import Action, FinalAnswer, FormatName
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

    @property
    def stop(self) -> tuple[str, ...]:
        """None: a stop sequence might stand in a text of the object."""
        return ()

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
