"""Event streams of OpenHands (https://docs.openhands.dev): a list of events, one a line, or under `history`.

Two generations are read: events with `action` or `observation` and a `source`, and events that name their `kind`.
State changes and other events that the model never sees are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .common import Draft, as_list, as_name, as_object, as_text, assistant, run_id, tool_call, tool_result

_KINDS = {"SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent"}
_SILENT = {"recall", "change_agent_state", "null", "condensation"}  # actions that no model call made


def reads(document: Any) -> bool:
    events = _events(document)
    return bool(events) and is_event(events[0])


def is_event(value: Any) -> bool:
    """Whether this is one event."""
    event = as_object(value)
    if "role" in event:
        return False
    return as_name(event.get("kind")) in _KINDS or ("source" in event and ("action" in event or "observation" in event))


def _events(document: Any) -> list[Any]:
    return as_list(document) or as_list(as_object(document).get("history"))


def drafts(document: Any) -> Iterator[Draft]:
    draft = Draft([], "openhands", run_id(as_object(document)))
    calls: dict[str, str] = {}  # event id of an action -> id of its call
    for event in map(as_object, _events(document)):
        if "kind" in event:
            _add_kind(draft, event)
        elif "action" in event:
            _add_action(draft, event, calls)
        elif "cause" in event and str(event["cause"]) in calls:
            draft.messages.append(tool_result(calls[str(event["cause"])], as_text(event.get("content"))))
    yield draft


def _add_action(draft: Draft, event: dict[str, Any], calls: dict[str, str]) -> None:
    action, args = str(event.get("action")), as_object(event.get("args"))
    if action in ("system", "message", "finish"):
        speaker = "system" if action == "system" else "assistant" if event.get("source") == "agent" else "user"
        text = as_text(args.get("content") or args.get("final_thought") or args.get("thought"))
        draft.messages.append({"role": speaker, "content": text})
    elif event.get("source") == "agent" and action not in _SILENT:
        made = as_object(event.get("tool_call_metadata"))
        call_id = str(made.get("tool_call_id") or f"event_{event.get('id')}")
        shown = {key: value for key, value in args.items() if key != "thought"}
        call = tool_call(call_id, made.get("function_name") or action, shown)
        _add_call(draft, as_text(args.get("thought")), call)
        calls[str(event.get("id"))] = call_id


def _add_call(draft: Draft, thought: str, call: dict[str, Any]) -> None:
    """Parallel calls come as events in a row without an observation between: they are one message."""
    last = draft.messages[-1] if draft.messages else {}
    if last.get("tool_calls") and not thought:
        last["tool_calls"].append(call)
    else:
        draft.messages.append(assistant(thought, [call]))


def _add_kind(draft: Draft, event: dict[str, Any]) -> None:
    kind = event.get("kind")
    if kind == "SystemPromptEvent":
        draft.messages.append({"role": "system", "content": as_text(event.get("system_prompt"))})
    elif kind == "MessageEvent":
        said = as_object(event.get("llm_message"))
        draft.messages.append({"role": said.get("role"), "content": as_text(said.get("content"))})
    elif kind == "ActionEvent":
        made = as_object(event.get("tool_call"))
        written = as_object(made.get("function")).get("arguments") or made.get("arguments")
        call = tool_call(event.get("tool_call_id"), event.get("tool_name"), written or event.get("action"))
        _add_call(draft, as_text(event.get("thought")), call)
    elif event.get("tool_call_id"):
        seen = as_object(event.get("observation"))
        text = as_text(seen.get("content") or event.get("error") or event.get("rejection_reason") or seen)
        draft.messages.append(tool_result(event["tool_call_id"], text))
