"""Native tool calls: the server's own `tool_calls`, and what stands in for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...memory.messages import clean, content_text
from .arguments import example_arguments, from_native, replayable
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
    new_call_id,
)
from .calls import CallReader
from .lenient_json import without_surrogates
from .printed_calls import read_all_printed
from .text import without_reasoning
from .wording import wording

_REASONING = ("reasoning_content", "reasoning")


class NativeCalls:
    """The `tools` parameter of the chat completions API; calls and answers in the fields of the message."""

    name: FormatName = "tools"
    sends_tools = True
    stop: tuple[str, ...] = ()

    def __init__(self, language: Language = "en") -> None:
        self._words = wording(language)

    def instructions(self, tools: Tools) -> str:
        """Nothing: the server tells the model of its tools."""
        return ""

    def constraint(self, tools: Tools, how: Constrain) -> dict[str, Any]:
        """None: it is the server that writes the calls.

        Raises:
            ValueError: always.
        """
        raise ValueError("native calls are held to their form by the server: constrain takes react, bracket or json")

    def parse(self, reply: str | Mapping[str, Any], tools: Tools, *, finish_reason: str | None = None) -> Parsed:
        """Read calls, or else the content as the final answer."""
        message = as_message(reply)
        cut = is_cut(finish_reason)
        seen = without_reasoning(clean(text_of(message)))
        calls = raw_calls(message)
        reader = CallReader(tools, self._words, self._right_form, cut=cut or (seen.cut and not calls))
        if calls:
            return _read_calls(calls, reader, seen.text or seen.reasoning, cut)
        printed = read_all_printed(seen.text, reader, cut)
        if isinstance(printed, list):
            named = [Action(a.name, a.arguments, a.thought, new_call_id()) for a in printed]
            return named if len(named) > 1 else named[0]
        if printed.reason != "no_action":
            return printed
        if cut or seen.cut or not seen.text:
            return reader.problem("truncated_or_empty")
        return FinalAnswer(seen.text, seen.reasoning)

    def history_message(self, reply: str | Mapping[str, Any], parsed: Parsed) -> dict[str, Any]:
        """The turn with its calls as read; calls with a problem keep their ids, so that each can be answered."""
        message = as_message(reply)
        content = without_reasoning(clean(text_of(message))).text
        if isinstance(parsed, FormatProblem):
            calls = [_kept(call) for call in raw_calls(message)]
            _make_ids_unique(calls)
        else:
            actions = parsed if isinstance(parsed, list) else [parsed] if isinstance(parsed, Action) else []
            calls = [_rendered(action) for action in actions]
            if actions and not raw_calls(message):
                content = actions[0].thought
        kept: dict[str, Any] = {"role": "assistant", "content": content or (None if calls else "")}
        if calls:
            kept["tool_calls"] = calls
            kept |= {key: without_surrogates(message[key]) for key in _REASONING if message.get(key)}
        return kept

    def observations(self, actions: Sequence[Action], results: Sequence[str]) -> list[dict[str, Any]]:
        """One tool message for each call."""
        return [
            {"role": "tool", "tool_call_id": action.id or "", "content": result}
            for action, result in zip(actions, results, strict=True)
        ]

    def correction(self, kept: Mapping[str, Any], problem: FormatProblem) -> list[dict[str, Any]]:
        """The hint as the answer to every call of the turn, or from the user when it made none."""
        calls = cast(list[dict[str, Any]], kept.get("tool_calls") or [])
        if not calls:
            return [{"role": "user", "content": problem.hint}]
        return [{"role": "tool", "tool_call_id": call["id"], "content": problem.hint} for call in calls]

    def _right_form(self, tool: Tool | None) -> str:
        if tool is None:
            return self._words.example_answer
        return f"{tool.name}({json.dumps(example_arguments(tool), ensure_ascii=False)})"


def text_of(message: Mapping[str, Any]) -> str:
    """The message's text; a refusal counts as what the model says."""
    content = message.get("content")
    if isinstance(content, list):
        parts = cast(list[Any], content)
        content = content_text([cast(dict[str, Any], part) for part in parts if isinstance(part, dict)])
    refusal = message.get("refusal")
    return content if isinstance(content, str) and content else refusal if isinstance(refusal, str) else ""


def raw_calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls in the message, the single `function_call` of older servers among them."""
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        found = [cast(Mapping[str, Any], c) for c in cast(list[Any], calls) if isinstance(c, Mapping)]
        if found:
            return found
    legacy = message.get("function_call")
    return [{"function": legacy}] if isinstance(legacy, Mapping) and "name" in legacy else []


def _function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    function = call.get("function")
    return cast(Mapping[str, Any], function) if isinstance(function, Mapping) else call


def _read_calls(
    calls: list[Mapping[str, Any]], reader: CallReader, thought: str, cut: bool
) -> Action | list[Action] | FormatProblem:
    """All calls, or the first problem: a turn is run as a whole or not at all."""
    actions: list[Action] = []
    ids: set[str] = set()
    for at, call in enumerate(calls):
        written = _function(call).get("arguments")
        last_and_cut = cut and at == len(calls) - 1
        call_id = clean(str(call.get("id") or ""))
        if not call_id or call_id in ids:
            call_id = new_call_id()
        ids.add(call_id)
        action = reader.action(
            str(_function(call).get("name") or ""),
            lambda tool, written=written, cut=last_and_cut: from_native(tool, written, cut=cut),
            thought,
            call_id,
        )
        if isinstance(action, FormatProblem):
            return action
        actions.append(action)
    return actions if len(actions) > 1 else actions[0]


def _rendered(action: Action) -> dict[str, Any]:
    function = {"name": action.name, "arguments": json.dumps(action.arguments, ensure_ascii=False)}
    return {"id": action.id or new_call_id(), "type": "function", "function": function}


def _kept(call: Mapping[str, Any]) -> dict[str, Any]:
    function = _function(call)
    name = clean(str(function.get("name") or "unknown"))
    return {
        "id": clean(str(call.get("id") or "")),
        "type": "function",
        "function": {"name": name, "arguments": replayable(function.get("arguments"))},
    }


def _make_ids_unique(calls: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for call in calls:
        if not call["id"] or call["id"] in seen:
            call["id"] = new_call_id()
        seen.add(call["id"])
