"""Results of tau-bench (https://github.com/sierra-research/tau-bench) and tau2-bench.

tau-bench writes a list of `{"task_id", "reward", "info", "traj", "trial"}`; tau2-bench one object with
`simulations`, whose calls carry name and arguments directly and may belong to the simulated user. The user's own
calls and their results never reach the agent, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..transcripts import Usage
from .common import Draft, FormatError, as_count, as_list, as_object, as_text, assistant, tool_call, tool_result


def reads(document: Any) -> bool:
    run = as_object(document)
    return ("task_id" in run and isinstance(run.get("traj"), list)) or isinstance(run.get("simulations"), list)


def drafts(document: Any) -> Iterator[Draft]:
    run = as_object(document)
    if "traj" in run:
        name = f"{run.get('task_id')}/{run.get('trial', 0)}"
        yield Draft([as_object(m) for m in as_list(run.get("traj"))], "tau-bench", name)
        return
    if not run["simulations"]:
        raise FormatError("no simulations in it: `simulations` is an empty list")
    for simulation in map(as_object, run["simulations"]):
        draft = Draft([], "tau2-bench", f"{simulation.get('task_id')}/{simulation.get('trial', 0)}")
        for entry in map(as_object, as_list(simulation.get("messages"))):
            _add(draft, entry)
        yield draft


def _add(draft: Draft, entry: dict[str, Any]) -> None:
    role = entry.get("role")
    if role == "tool":
        results = as_list(entry.get("tool_messages")) or [entry]
        draft.messages += [
            tool_result(r.get("id") or r.get("tool_call_id"), as_text(r.get("content")))
            for r in map(as_object, results)
            if r.get("requestor", "assistant") == "assistant"
        ]
    elif role == "assistant":
        calls = [
            tool_call(c.get("id"), c.get("name"), c.get("arguments") or {})
            for c in map(as_object, as_list(entry.get("tool_calls")))
        ]
        used = as_object(entry.get("usage"))
        if as_count(used.get("prompt_tokens")):
            draft.usage.append(
                Usage(len(draft.messages), used["prompt_tokens"], as_count(used.get("completion_tokens")))
            )
        draft.messages.append(assistant(as_text(entry.get("content")), calls))
    elif role != "user" or not (as_list(entry.get("tool_calls")) and not entry.get("content")):
        draft.messages.append({"role": role, "content": as_text(entry.get("content"))})
