"""What the three text formats share: reading in turn, and writing turns back as messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...memory.messages import clean
from .base import (
    Action,
    Constrain,
    FinalAnswer,
    FormatName,
    FormatProblem,
    Language,
    Parsed,
    Tool,
    Tools,
    as_message,
    is_cut,
)
from .calls import CallReader
from .grammar import grammar
from .native import NativeCalls, raw_calls, text_of
from .text import sections, without_reasoning
from .wording import tool_list, wording

_KEPT_OF_A_PROBLEM = 2000  # characters

Reader = Callable[[str, CallReader, bool], Action | FinalAnswer | FormatProblem]


class TextFormat(ABC):
    """A format written as plain text. `readers` are tried until one finds a call or an answer: models that
    were trained on another form than the one they are asked for fall back into it, and mean the same."""

    name: FormatName
    sends_tools = False
    readers: tuple[Reader, ...]
    open_rules: tuple[str, str]
    """The rules of the grammar for a thought and for an answer."""

    def __init__(self, language: Language = "en") -> None:
        self.language: Language = language
        self.words = wording(language)

    @property
    def stop(self) -> tuple[str, ...]:
        """The labels of an observation, in both languages."""
        return ("\nObservation:", "\n观察：", "\n观察:")

    @abstractmethod
    def render(self, parsed: Action | FinalAnswer) -> str:
        """A call or answer in the right form."""

    @abstractmethod
    def rules(self, example: Action | None) -> str:
        """How to reply, with right examples."""

    def instructions(self, tools: Tools) -> str:
        """The tools, the rules and the right form of a call and of an answer."""
        known = list(tools)
        example = self._example(known[0]) if known else None
        return f"{tool_list(known, self.words)}\n\n{self.rules(example)}"

    def constraint(self, tools: Tools, how: Constrain) -> dict[str, Any]:
        """A grammar, for servers of llama.cpp."""
        if how != "grammar":
            raise ValueError(f"the format {self.name} has no {how}: constrain it by a grammar, or use the format json")
        thought, answer = self.open_rules
        return {"grammar": grammar(self.render, tools, thought=thought, answer=answer)}

    def parse(self, reply: str | Mapping[str, Any], tools: Tools, *, finish_reason: str | None = None) -> Parsed:
        """Read the first call or answer."""
        message = as_message(reply)
        if raw_calls(message):
            native = NativeCalls(self.language).parse(message, tools, finish_reason=finish_reason)
            return native[0] if isinstance(native, list) else native
        cut = is_cut(finish_reason)
        seen = without_reasoning(clean(text_of(message)))
        reader = CallReader(tools, self.words, self._right_form, cut=cut or seen.cut)
        if not seen.text:
            return reader.problem("truncated_or_empty")
        first: FormatProblem | None = None
        for read in self.readers:
            result = read(seen.text, reader, cut)
            if not (isinstance(result, FormatProblem) and result.reason == "no_action"):
                return result
            first = first or result
        if reader.cut or first is None:
            return reader.problem("truncated_or_empty")
        # where no tool can be meant, plain text is the answer
        plain = not reader.tools and not sections(seen.text) and seen.text[0] not in "{["
        return FinalAnswer(seen.text, seen.reasoning) if plain else first

    def history_message(self, reply: str | Mapping[str, Any], parsed: Parsed) -> dict[str, Any]:
        """The turn in the right form; one with a problem as it was, up to the first invented observation."""
        if isinstance(parsed, list):
            parsed = parsed[0]
        if isinstance(parsed, FormatProblem):
            text = without_reasoning(clean(text_of(as_message(reply)))).text
            invented = [part.label_at for part in sections(text) if part.kind == "observation"]
            content = text[: invented[0] if invented else None][:_KEPT_OF_A_PROBLEM].strip()
        else:
            content = self.render(parsed)
        return {"role": "assistant", "content": content}

    def observations(self, actions: Sequence[Action], results: Sequence[str]) -> list[dict[str, Any]]:
        """One user message for each result."""
        label = self.words.observation + self.words.colon
        return [{"role": "user", "content": label + result} for _, result in zip(actions, results, strict=True)]

    def correction(self, kept: Mapping[str, Any], problem: FormatProblem) -> list[dict[str, Any]]:
        """The hint, from the user."""
        return [{"role": "user", "content": problem.hint}]

    def _example(self, tool: Tool) -> Action:
        from .arguments import example_arguments

        return Action(tool.name, example_arguments(tool), self.words.example_thought)

    def _right_form(self, tool: Tool | None) -> str:
        return self.rules(self._example(tool) if tool else None)

    def _example_answer(self) -> FinalAnswer:
        return FinalAnswer(self.words.example_answer, self.words.example_thought)
