"""Trajectories of SWE-agent (`.traj`, https://swe-agent.com) and of mini-swe-agent (https://mini-swe-agent.com).

SWE-agent writes the messages under `history`; older files have only `trajectory` (response and observation of each
turn). Its demonstrations are shown to the model but are no part of the run, and are left out. mini-swe-agent writes
`messages` with an `info` beside them, and may end them with a message of the role `exit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import chat
from .common import Draft, FormatError, as_list, as_object, as_text, run_id


def reads(document: Any) -> bool:
    run = as_object(document)
    if as_list(run.get("messages")):
        return "trajectory_format" in run or "exit_status" in as_object(run.get("info"))
    return bool(as_list(run.get("history")) and _has_roles(run["history"])) or _has_turns(run.get("trajectory"))


def _has_roles(entries: Any) -> bool:
    return all("role" in as_object(entry) for entry in as_list(entries))


def _has_turns(entries: Any) -> bool:
    turns = [as_object(turn) for turn in as_list(entries)]
    return bool(turns) and all("observation" in turn and ("response" in turn or "action" in turn) for turn in turns)


def drafts(document: Any) -> Iterator[Draft]:
    run = as_object(document)
    name = run_id(run) or str(as_object(run.get("info")).get("instance_id") or "")
    if as_list(run.get("messages")):
        messages = [m for m in map(as_object, run["messages"]) if m.get("role") != "exit"]
        yield Draft(chat.modern(messages), "mini-swe-agent", name)
    elif as_list(run.get("history")):
        yield Draft(list(_history(run["history"])), "swe-agent", name)
    else:
        yield Draft(list(_turns(run)), "swe-agent", name)


def _history(entries: list[Any]) -> Iterator[dict[str, Any]]:
    for entry in map(as_object, entries):
        if entry.get("is_demo"):
            continue
        answered = as_list(entry.get("tool_call_ids"))
        message: dict[str, Any] = {"role": entry.get("role"), "content": as_text(entry.get("content"))}
        if as_list(entry.get("tool_calls")):
            message["tool_calls"] = entry["tool_calls"]
        if message["role"] == "tool":
            message["tool_call_id"] = entry.get("tool_call_id") or (answered[0] if answered else None)
        yield message


def _turns(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    turns = [as_object(turn) for turn in run["trajectory"]]
    asked = [entry for entry in map(as_object, as_list(turns[0].get("query"))) if not entry.get("is_demo")]
    if not any(entry.get("role") == "user" for entry in asked):
        raise FormatError("no task: it stands under `history`, or under `query` of the first turn; write it there")
    for entry in asked:
        yield {"role": entry.get("role"), "content": as_text(entry.get("content"))}
    for turn in turns:
        yield {"role": "assistant", "content": as_text(turn.get("response") or turn.get("action"))}
        yield {"role": "user", "content": as_text(turn.get("observation"))}
