"""Chat completions on the wire: what a request holds, and how an answer is read.

Format: https://platform.openai.com/docs/api-reference/chat, and the ways in which other servers differ from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast
from urllib.parse import urlsplit, urlunsplit

import httpx

from ..memory.messages import clean, content_text
from .errors import ModelError, ProtocolError
from .formats.arguments import replayable
from .formats.base import new_call_id
from .names_on_wire import WireNames
from .reply import REASONING_KEYS, Usage

EchoReasoning = Literal["auto", "never", "tool_turns"]

_ONLY_IN_REPLIES = frozenset(
    {*REASONING_KEYS, "reasoning_details", "refusal", "function_call", "annotations", "parsed"}
)
_CACHED = ("prompt_cache_hit_tokens", "cached_tokens")  # DeepSeek, Moonshot


def completions_url(base_url: str) -> str:
    """The address to post to, for a base with or without `/v1`, slashes, or the whole path.

    User and password in it are left out: httpx logs addresses. They are sent as a header.

    Raises:
        ModelError: the base is no http or https address.
    """
    if not _is_address(base_url.strip()):
        raise ModelError("base_url is no address that can be used: write it like http://localhost:8000/v1")
    parts = urlsplit(base_url.strip())
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path = (path or "/v1") + "/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, parts.query, ""))


def _is_address(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in ("http", "https") and bool(parsed.host) and (parsed.port or 0) < 65536


def public_url(url: str) -> str:
    """The address without what may hold a secret: user, password, query."""
    parts = urlsplit(url.strip())
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def wire_names(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None) -> WireNames:
    """The names of all tools and of all calls in the history."""
    offered = [str(tool["function"]["name"]) for tool in tools or ()]
    called = [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]
    return WireNames(offered + called)


def request_body(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None,
    names: WireNames,
    echo_reasoning: bool,
) -> dict[str, Any]:
    """The messages and tools as a server takes them; the caller's objects are not changed."""
    body: dict[str, Any] = {"messages": [_message(message, names, echo_reasoning) for message in messages]}
    if tools:
        body["tools"] = [
            {**tool, "function": {**tool["function"], "name": names.to_wire(tool["function"]["name"])}}
            for tool in tools
        ]
    return body


def without_null(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with an empty text for the null content of its turns with calls."""
    texts = [{**one, "content": ""} if one.get("content", "") is None else one for one in body["messages"]]
    return {**body, "messages": texts}


def encode(body: Mapping[str, Any]) -> bytes:
    """The body as UTF-8 JSON; lone surrogates, which have no UTF-8, are replaced."""
    return clean(json.dumps(body, ensure_ascii=False)).encode()


def _message(message: Mapping[str, Any], names: WireNames, echo_reasoning: bool) -> dict[str, Any]:
    sent = {k: v for k, v in message.items() if k not in _ONLY_IN_REPLIES and (v is not None or k == "content")}
    calls = cast(Sequence[Mapping[str, Any]], sent.pop("tool_calls", ()))
    if not calls:
        return sent
    # vLLM, LiteLLM and Azure refuse a turn of calls without the key, others one with empty text
    sent["content"] = message.get("content") or None
    sent["tool_calls"] = [
        {
            **call,
            "function": {
                **call["function"],
                "name": names.to_wire(call["function"]["name"]),
                "arguments": replayable(call["function"].get("arguments")),
            },
        }
        for call in calls
    ]
    if echo_reasoning:
        sent |= {key: message[key] for key in REASONING_KEYS if message.get(key)}
    return sent


def assistant_message(raw: Mapping[str, Any], names: WireNames) -> dict[str, Any]:
    """The message of an answer, with the caller's tool names and with text apart from reasoning."""
    message = {**raw, "role": "assistant"}
    content = raw.get("content")
    if isinstance(content, list):
        text, thinking = split_content(cast(list[Any], content))
        message["content"] = text
        if thinking and not raw.get("reasoning_content"):
            message["reasoning_content"] = thinking
    else:
        message["content"] = content if isinstance(content, str) else None
    raw_calls = raw.get("tool_calls")
    calls = cast(list[Any], raw_calls) if isinstance(raw_calls, list) else []
    message.pop("tool_calls", None)
    if calls:
        message["tool_calls"] = [
            _call(cast(Mapping[str, Any], call), names) for call in calls if isinstance(call, Mapping)
        ]
    return message


def split_content(parts: Sequence[Any]) -> tuple[str, str]:
    """Text and thinking of a content in parts, as Mistral's reasoning models send it."""
    dicts = [cast(dict[str, Any], part) for part in parts if isinstance(part, dict)]
    text = "".join(str(part["text"]) for part in dicts if part.get("type", "text") == "text" and part.get("text"))
    thinking = [part["thinking"] for part in dicts if part.get("thinking")]
    return text, "".join(piece if isinstance(piece, str) else content_text(piece) for piece in thinking)


def _call(raw: Mapping[str, Any], names: WireNames) -> dict[str, Any]:
    inner = raw.get("function")
    function: dict[str, Any] = dict(cast(Mapping[str, Any], inner)) if isinstance(inner, Mapping) else {}
    function["name"] = names.from_wire(str(function.get("name") or ""))
    arguments = function.get("arguments")
    if arguments is None or not isinstance(arguments, str):
        function["arguments"] = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return {**raw, "id": str(raw.get("id") or "") or new_call_id(), "type": "function", "function": function}


def first_choice(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first choice of an answer or of a streamed piece, None when there is none."""
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return cast(Mapping[str, Any], choices[0])
    return None


def message_of(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """The raw message and the finish reason of a whole answer.

    Raises:
        ProtocolError: the answer has no message.
    """
    choice = first_choice(body)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, Mapping):
        raise ProtocolError("the answer has no choices with a message", retryable=True)
    finish = choice.get("finish_reason")
    return cast(Mapping[str, Any], message), finish if isinstance(finish, str) else None


def read_usage(raw: Any) -> Usage | None:
    """The usage block of an answer, None when it is missing or says nothing."""
    if not isinstance(raw, Mapping):
        return None
    fields = cast(Mapping[str, Any], raw)
    prompt = _count(fields, "prompt_tokens", "input_tokens")
    completion = _count(fields, "completion_tokens", "output_tokens")
    if prompt is None or prompt <= 0:
        return None
    details = fields.get("prompt_tokens_details")
    cached = _count(cast(Mapping[str, Any], details), "cached_tokens") if isinstance(details, Mapping) else None
    return Usage(prompt, completion or 0, cached or _count(fields, *_CACHED) or 0)


def _count(fields: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
            return int(value)
    return None
