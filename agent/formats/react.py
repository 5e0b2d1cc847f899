"""ReAct text: `Thought:`, `Action:`, `Action Input:` with JSON, `Observation:`, `Final Answer:`."""

from __future__ import annotations

import json

from .base import Action, FinalAnswer, FormatName
from .json_objects import read_json
from .labelled import read_bare_call, read_labelled
from .printed_calls import read_printed
from .text_format import Reader, TextFormat

_RULES = {
    "en": "To call a tool, reply with exactly these lines, one call a reply, then stop and wait for the observation:\n"
    "{call}\n\nWhen you know the answer, reply with:\n{answer}",
    "zh": "需要调用工具时，只回复以下几行，每次只调用一个工具，然后停下等待观察结果：\n{call}\n\n"
    "知道答案后，请回复：\n{answer}",
}
_ANSWER_ONLY = {"en": "Reply with:\n{answer}", "zh": "请回复：\n{answer}"}


class React(TextFormat):
    """Labelled lines, with the input as a JSON object."""

    name: FormatName = "react"
    readers: tuple[Reader, ...] = (read_labelled, read_printed, read_json, read_bare_call)
    open_rules = ("line", "text")

    def render(self, parsed: Action | FinalAnswer) -> str:
        """The labelled lines."""
        words, colon = self.words, self.words.colon
        lines = [f"{words.thought}{colon}{parsed.thought}"] if parsed.thought else []
        if isinstance(parsed, FinalAnswer):
            return "\n".join([*lines, f"{words.final_answer}{colon}{parsed.text}"])
        arguments = json.dumps(parsed.arguments, ensure_ascii=False)
        lines += [f"{words.action}{colon}{parsed.name}", f"{words.action_input}{colon}{arguments}"]
        return "\n".join(lines)

    def rules(self, example: Action | None) -> str:
        """The forms of a call and of an answer."""
        rules = _RULES if example else _ANSWER_ONLY
        call = self.render(example) if example else ""
        return rules[self.language].format(call=call, answer=self.render(self._example_answer()))
