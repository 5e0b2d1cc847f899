"""Bracket text: `Thought:`, then `Action: tool[input]`, or `Action: Finish[answer]`."""

from __future__ import annotations

import json
import re

from .base import Action, FinalAnswer, FormatName
from .json_objects import read_json
from .labelled import read_bare_call, read_labelled
from .printed_calls import read_printed
from .text_format import Reader, TextFormat

_RULES = {
    "en": "To call a tool, reply with exactly these lines, one call a reply, then stop and wait for the observation. "
    "The input in the brackets is a JSON object, or plain text for a tool with one parameter:\n"
    "{call}\n\nWhen you know the answer, reply with:\n{answer}",
    "zh": "需要调用工具时，只回复以下几行，每次只调用一个工具，然后停下等待观察结果。"
    "方括号内是 JSON 对象；只有一个参数的工具也可以直接写文本：\n{call}\n\n知道答案后，请回复：\n{answer}",
}
_ANSWER_ONLY = {"en": "Reply with:\n{answer}", "zh": "请回复：\n{answer}"}

_UNSAFE = re.compile(r"[\[\]\n]|^[\"'“‘{]")  # an answer that must be quoted to stay whole in brackets


class Bracket(TextFormat):
    """One line for a call, with the input in brackets."""

    name: FormatName = "bracket"
    readers: tuple[Reader, ...] = (read_labelled, read_bare_call, read_printed, read_json)
    open_rules = ("line", "bare")

    def render(self, parsed: Action | FinalAnswer) -> str:
        """The thought, and the call in brackets."""
        words, colon = self.words, self.words.colon
        lines = [f"{words.thought}{colon}{parsed.thought}"] if parsed.thought else []
        if isinstance(parsed, FinalAnswer):
            text = json.dumps(parsed.text, ensure_ascii=False) if _UNSAFE.search(parsed.text) else parsed.text
            return "\n".join([*lines, f"{words.action}{colon}{words.finish}[{text}]"])
        arguments = json.dumps(parsed.arguments, ensure_ascii=False) if parsed.arguments else ""
        return "\n".join([*lines, f"{words.action}{colon}{parsed.name}[{arguments}]"])

    def rules(self, example: Action | None) -> str:
        """The forms of a call and of an answer."""
        rules = _RULES if example else _ANSWER_ONLY
        call = self.render(example) if example else ""
        return rules[self.language].format(call=call, answer=self.render(self._example_answer()))
