"""What a chat request shows, read the way a model would have to: the messages and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ...memory.messages import content_text
from ..formats.base import Action, FinalAnswer, FormatName, Language
from ..formats.bracket import Bracket
from ..formats.json_format import JsonObjects
from ..formats.react import React
from ..prompts import language_of

_REACT_CALL = re.compile(
    r"^(?:Action|行动)[:：]\s*(?P<name>\w+)\s*\n(?:Action Input|行动输入)[:：]\s*(?P<input>\{.*\})", re.M | re.S
)
_BRACKET_CALL = re.compile(r"^(?:Action|行动)[:：]\s*(?P<name>\w+)\[(?P<input>.*)\]\s*$", re.M | re.S)
_THOUGHT = re.compile(
    r"^(?:Thought|思考)[:：]\s*(?P<text>.*?)(?=^(?:Action|行动|Final Answer|最终答案)|\Z)", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says: a thought with calls, or an answer. `calls` are pairs of tool name and arguments."""

    thought: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """A turn that is still in the context, with what its tools gave back, as the context shows it."""

    turn: Turn
    results: tuple[str, ...] = ()

    @property
    def tool(self) -> str:
        """The name of the tool called first, or ""."""
        return self.turn.calls[0][0] if self.turn.calls else ""


@dataclass(frozen=True, slots=True)
class Scene:
    """A request's messages: the task, the turns since, and all text that can be read for figures."""

    task: str
    past: tuple[Past, ...]
    text: str
    format: FormatName
    language: Language
    tools: tuple[str, ...] = field(default=())

    @property
    def last(self) -> Past | None:
        return self.past[-1] if self.past else None


def read_scene(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Scene:
    """The scene that a request's messages and tool schemas show."""
    texts = [content_text(message.get("content")) for message in messages]
    roles = [str(message.get("role")) for message in messages]
    task = next((text for role, text in zip(roles, texts, strict=True) if role == "user"), "")
    past: list[Past] = []
    for role, text, message in zip(roles, texts, messages, strict=True):
        if role == "assistant":
            past.append(Past(_turn(text, message)))
        elif past and role in ("tool", "user"):
            past[-1] = Past(past[-1].turn, (*past[-1].results, text))
    system = "\n".join(text for role, text in zip(roles, texts, strict=True) if role == "system")
    names = tuple(str(cast("Mapping[str, Any]", schema.get("function", {})).get("name")) for schema in tools)
    said = "\n".join(text for role, text in zip(roles, texts, strict=True) if role != "system")
    form = "tools" if tools else _text_format(system)
    return Scene(task, tuple(past), said, form, language_of(task[:400]), names)


def reply_message(turn: Turn, scene: Scene, new_id: str) -> dict[str, Any]:
    """The assistant message that says a turn in the form that the request asks for."""
    if scene.format != "tools":
        writer = {"react": React, "bracket": Bracket, "json": JsonObjects}[scene.format](scene.language)
        said = (
            FinalAnswer(turn.answer, turn.thought) if turn.answer is not None else Action(*turn.calls[0], turn.thought)
        )
        return {"role": "assistant", "content": writer.render(said)}
    if turn.answer is not None or not scene.tools:
        return {"role": "assistant", "content": turn.answer or turn.thought}
    calls = [
        {
            "id": f"{new_id}_{at}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
        }
        for at, (name, arguments) in enumerate(turn.calls, 1)
    ]
    return {"role": "assistant", "content": turn.thought, "tool_calls": calls}


def _turn(text: str, message: Mapping[str, Any]) -> Turn:
    native = cast("list[dict[str, Any]]", message.get("tool_calls") or [])
    if native:
        calls = [(call["function"]["name"], _arguments(call["function"]["arguments"])) for call in native]
        return Turn(text, tuple(calls))
    if text.startswith("{"):
        said = _arguments(text)
        return Turn(
            str(said.get("thought", "")),
            ((str(said.get("action")), cast("dict[str, Any]", said.get("action_input", {}))),),
        )
    thought = _THOUGHT.search(text)
    call = _REACT_CALL.search(text) or _BRACKET_CALL.search(text)
    found = ((call["name"], _arguments(call["input"])),) if call else ()
    return Turn(thought["text"].strip() if thought else text, found)


def _arguments(text: str) -> dict[str, Any]:
    """The arguments of a call; what memory has shortened into other JSON, or into none, is read as no arguments."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text_format(system: str) -> FormatName:
    """The text format that a system prompt asks for; native where it asks for none."""
    if '"action_input"' in system:
        return "json"
    if "Finish[" in system:
        return "bracket"
    return "react" if re.search("Action Input|行动输入", system) else "tools"
