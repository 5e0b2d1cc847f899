"""Message dumps of LangChain and LangGraph.

Three shapes of one message are read: `messages_to_dict` (`{"type", "data"}`), `dumpd` (`{"lc", "id", "kwargs"}`) and
the model's own fields (`{"type", "content", …}`); as a list, under `messages`, or under the `values` of a LangGraph
state (`channel_values` of a checkpoint). Message types: https://docs.langchain.com/oss/python/langchain/messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..transcripts import Usage
from . import chat
from .common import Draft, FormatError, as_count, as_list, as_object, as_text, assistant, run_id, tool_call, tool_result

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_KINDS = {*_ROLES, "chat", "remove"}  # a chat message names its role; to remove is an instruction to the framework


def reads(document: Any) -> bool:
    entries = _entries(document)
    return is_message(entries[0]) if entries else _is_first_state(as_object(document))


def _is_first_state(state: dict[str, Any]) -> bool:
    """Whether this is the state of a thread before its first message."""
    return isinstance(state.get("values"), dict) and "next" in state


def is_message(value: Any) -> bool:
    """Whether this is one dumped message."""
    kind, fields = _opened(as_object(value))
    return kind in _KINDS and "content" in fields and "role" not in as_object(value)


def drafts(document: Any) -> Iterator[Draft]:
    if not _entries(document):
        return
    draft = Draft([], "langchain", run_id(as_object(document)))
    for number, entry in enumerate(_entries(document)):
        kind, fields = _opened(as_object(entry))
        if kind not in _KINDS or (kind == "chat" and not fields.get("role")):
            known = ", ".join(sorted(_KINDS - {"chat", "remove"}))
            raise FormatError(f"message {number} is of the unknown type {kind!r}: expected one of {known}")
        _add(draft, kind, fields)
    draft.messages = chat.modern(draft.messages)
    yield draft


def _entries(document: Any) -> list[Any]:
    if isinstance(document, list):
        return as_list(document)
    run = as_object(document)
    state = as_object(run.get("values")) or as_object(run.get("channel_values")) or run
    return as_list(state.get("messages"))


def _opened(entry: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a message (`human`, `ai`, …) and its fields."""
    if "lc" in entry:
        path = as_list(entry.get("id"))
        fields = as_object(entry.get("kwargs"))
        name = str(path[-1]) if path else ""
    else:
        fields = as_object(entry.get("data")) or entry
        name = str(entry.get("type") or "")
    return name.removesuffix("Chunk").removesuffix("Message").lower(), fields


def _add(draft: Draft, kind: str, fields: dict[str, Any]) -> None:
    text, role = as_text(fields.get("content")), _ROLES.get(kind, fields.get("role"))
    if role == "assistant":
        made = _calls(fields, "tool_calls") + _calls(fields, "invalid_tool_calls")  # arguments that are no JSON
        calls = [tool_call(c.get("id"), c.get("name"), c.get("args") or {}) for c in made]
        more = as_object(fields.get("additional_kwargs"))
        calls = calls or _calls(more, "tool_calls")
        used = as_object(fields.get("usage_metadata"))
        if as_count(used.get("input_tokens")):
            cached = as_object(used.get("input_token_details")).get("cache_read")
            draft.usage.append(
                Usage(
                    len(draft.messages),
                    used["input_tokens"],
                    as_count(used.get("output_tokens")),
                    cached if isinstance(cached, int) else None,
                )
            )
        legacy = {"function_call": more["function_call"]} if more.get("function_call") else {}
        draft.messages.append({**assistant(text, calls), **legacy})
    elif role == "tool":
        draft.messages.append(tool_result(fields.get("tool_call_id"), text))
    elif role:
        draft.messages.append({"role": role, "content": text})


def _calls(fields: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return [as_object(call) for call in as_list(fields.get(key))]
