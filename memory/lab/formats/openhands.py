"""Event streams of OpenHands (https://docs.openhands.dev): a list of events, one a line, or under `history`.

Two generations are read: events with `action` or `observation` and a `source`, and events that name their `kind`. Both
are also kept in a folder, with one event a file, numbered. State changes and other events that the model never sees are
left out. Parallel calls are events of their own, with results between them, as it may be; what came of one response of
the model is one message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .common import Draft, as_list, as_name, as_object, as_text, assistant, run_id, tool_call, tool_result

_UNSEEN = {"recall", "agent_state_changed", "null"}  # observations that are not shown to the model
_EVENT_FILE = re.compile(r"(\d+)\.json|event-(\d+)-.+\.json")
_SILENT = {"recall", "change_agent_state", "null", "condensation"}  # actions that no model call made


def reads(document: Any) -> bool:
    events = _events(document)
    return bool(events) and is_event(events[0])


def is_event(value: Any) -> bool:
    """Whether this is one event."""
    event = as_object(value)
    if "role" in event:
        return False
    named = as_name(event.get("kind")) and ("source" in event or "tool_call_id" in event)
    return bool(named) or ("source" in event and ("action" in event or "observation" in event))


def event_files(folder: Path) -> list[Path]:
    """The files of a folder that are numbered as events are, in their order."""
    numbered = [
        (int(name[1] or name[2]), path) for path in folder.iterdir() if (name := _EVENT_FILE.fullmatch(path.name))
    ]
    return [path for _, path in sorted(numbered)]


def _events(document: Any) -> list[Any]:
    return as_list(document) or as_list(as_object(document).get("history"))


def drafts(document: Any) -> Iterator[Draft]:
    run = _Run(Draft([], "openhands", run_id(as_object(document))))
    for event in map(as_object, _events(document)):
        if "kind" in event:
            run.take_kind(event)
        elif "action" in event:
            run.take_action(event)
        else:
            run.take_observation(event)
    yield run.draft


class _Run:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self._calls: dict[str, str] = {}  # event id of an action -> id of its call
        self._open = ""  # the last call, until it has a result
        self._turns: dict[str, dict[str, Any]] = {}  # id of a model's response -> its message

    def take_action(self, event: dict[str, Any]) -> None:
        action, args = str(event.get("action")), as_object(event.get("args"))
        if action in ("system", "message", "finish"):
            speaker = "system" if action == "system" else "assistant" if event.get("source") == "agent" else "user"
            self._say(speaker, args.get("content") or args.get("final_thought") or args.get("thought"))
        elif event.get("source") == "agent" and action not in _SILENT:
            made = as_object(event.get("tool_call_metadata"))
            call_id = str(made.get("tool_call_id") or f"event_{event.get('id', len(self._calls))}")
            shown = {key: value for key, value in args.items() if key != "thought"}
            call = tool_call(call_id, made.get("function_name") or action, shown)
            self._call(call, args.get("thought"), as_object(made.get("model_response")).get("id"))
            self._calls[str(event.get("id", call_id))] = call_id

    def take_observation(self, event: dict[str, Any]) -> None:
        if as_name(event.get("observation")) in _UNSEEN:
            return
        cause, made = event.get("cause"), as_object(event.get("tool_call_metadata"))
        call_id = self._calls.get(str(cause)) or made.get("tool_call_id")
        if call_id or cause is None:
            self._see(call_id, event.get("content"))
        else:  # what a user did, in the model's sight
            self._say("user", event.get("content"))

    def take_kind(self, event: dict[str, Any]) -> None:
        kind = event.get("kind")
        if kind == "SystemPromptEvent":
            self._say("system", event.get("system_prompt"))
        elif kind == "MessageEvent":
            said = as_object(event.get("llm_message"))
            self._say(said.get("role"), said.get("content"))
        elif kind == "ActionEvent":
            made = as_object(event.get("tool_call"))
            written = as_object(made.get("function")).get("arguments") or made.get("arguments")
            call = tool_call(event.get("tool_call_id"), event.get("tool_name"), written or event.get("action"))
            self._call(call, event.get("thought"), event.get("llm_response_id"))
        elif event.get("tool_call_id") or "observation" in event:
            seen = as_object(event.get("observation"))
            content = seen.get("content") or event.get("error") or event.get("rejection_reason") or seen
            self._see(event.get("tool_call_id"), content)

    def _say(self, role: Any, content: Any) -> None:
        self.draft.messages.append({"role": role, "content": as_text(content)})

    def _see(self, call_id: Any, content: Any) -> None:
        """Add a result; one that names no call is the last call's, or a message where that has one."""
        if not call_id:
            call_id, self._open = self._open, ""
        elif call_id == self._open:
            self._open = ""
        self.draft.messages.append(tool_result(call_id, as_text(content)))

    def _call(self, call: dict[str, Any], thought: Any, response: Any) -> None:
        """Add a call to the message of its response; where none is named, to one just before it, if that only calls."""
        self._open = call["id"]
        text, last = as_text(thought), self.draft.messages[-1] if self.draft.messages else {}
        turn = self._turns.get(response) if isinstance(response, str) else None if text else last
        if turn is None or not turn.get("tool_calls"):
            turn = assistant("", [call])
            self.draft.messages.append(turn)
        else:
            turn["tool_calls"].append(call)
        turn["content"] = "\n".join(filter(None, (turn["content"], text))) or None
        if isinstance(response, str):
            self._turns[response] = turn
