"""From what a server says when it fails to the error that tells the user what to do.

The shapes are those of OpenAI, Azure, vLLM, llama.cpp, Ollama, FastAPI, OpenRouter, Gemini and the gateways in
front of them; a failure may come with status 200, or in the middle of a stream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from .errors import (
    AuthenticationError,
    ContextTooLongError,
    ModelError,
    RateLimitError,
    RequestError,
    ServerError,
    ToolsUnsupportedError,
)

_LONGEST_QUOTE = 400
_CONTEXT_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "1261"}
    | {"model_max_prompt_tokens_exceeded"}
)
_CONTEXT_WORDS = re.compile(
    r"(?:maximum|max|model'?s?) (?:context|prompt|model|input) (?:length|size|window)"
    r"|context[ _]?(?:length|size|window)[ _]?(?:exceeded|of|is|limit)"
    r"|available context size|exceeds? (?:the )?(?:model'?s? )?(?:maximum |available )?context"
    r"|(?:prompt|input|request|messages?) (?:is|are) too (?:long|large)|request too large|too many (?:input )?tokens"
    r"|(?:input|prompt) token count.{0,40}exceeds|inputs?`? tokens.{0,60}must be|exceeds? max(?:imum)? message tokens"
    r"|too long to fit|requires? more context"
    r"|exceed\w* (?:the )?model'?s? token limit|(?:prompt|input) (?:length|tokens).{0,60}exceed"
    r"|reduce the length of the|tokens must be reduced|range of input length"
    r"|(?:上下文|输入|提示词?|prompt)[^，。]{0,12}(?:超长|过长|超过|超出)",
    re.IGNORECASE,
)
_NO_TOOLS_WORDS = re.compile(
    r"not support (?:native )?(?:tools?|tool[ _-]?(?:use|call\w*|choice)|function[ _-]?call\w*)\b|support tool use"
    r"|enable-auto-tool-choice|tools? param(?:eter)? requires"
    r"|(?:tools?|(?:tool|function) calling)[`']? (?:is|are) not supported"
    r"|(?:unsupported|unknown|unrecognized)[^.]{0,40}['\"`]?\b(?:tools|tool_choice|functions)\b",
    re.IGNORECASE,
)
_REFUSING_WORDS = re.compile(
    r"unsupported|not support|unknown|unrecognized|unexpected|not permitted|not allowed|not available|unavailable"
    r"|not a valid field|extra (?:inputs|fields)|deprecated|不支持|未知参数",
    re.IGNORECASE,
)
_TEXT_WANTED_WORDS = re.compile(r"valid string|NoneType|content['\"`]? (?:must|should) be a string", re.IGNORECASE)
_TOOLS = ("tools", "tool_choice", "functions")
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_RATE_CODES = frozenset(
    {"rate_limit_exceeded", "rate_limit", "rate_limit_error", "too_many_requests", "resource_exhausted"}
)
_KEY_CODES = frozenset({"invalid_api_key", "authentication_error", "permission_denied", "unauthenticated"})
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)

# Never left out of a request: without them it would be another question.
NEEDED = frozenset({"model", "messages", "tools", "stream"})


@dataclass(frozen=True, slots=True)
class Failure:
    """What a server said went wrong. `codes` are its code, type and status words in lower case."""

    message: str
    codes: frozenset[str] = frozenset()
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """Who was asked, for the message of an error."""

    url: str
    model: str

    def __str__(self) -> str:
        return f"{self.url} (model {self.model})"


def failure_in(body: Any) -> Failure | None:
    """The failure that a JSON body reports, None when it reports none."""
    if isinstance(body, list) and body:
        return failure_in(cast(list[Any], body)[0])
    if not isinstance(body, Mapping):
        return None
    fields = cast(Mapping[str, Any], body)
    error = fields.get("error") or fields.get("errors") or (None if fields.get("choices") else _flat(fields))
    return _read(error) if error else None


def _flat(fields: Mapping[str, Any]) -> Any:
    """Bodies that are the error themselves."""
    if fields.get("detail"):
        return fields["detail"]
    if isinstance(base := fields.get("base_resp"), Mapping):  # MiniMax
        return cast(Mapping[str, Any], base).get("status_msg")
    return fields if any(fields.get(key) for key in ("message", "msg", "error_msg")) else None


def _read(error: Any) -> Failure:
    if isinstance(error, list):
        failures = [_read(one) for one in cast(list[Any], error)]
        return Failure("; ".join(f.message for f in failures), param=failures[0].param if failures else None)
    if not isinstance(error, Mapping):
        return Failure(str(error))
    fields = cast(Mapping[str, Any], error)
    inner = fields.get("error")
    if isinstance(inner, Mapping | list) and inner:
        return _read(cast(Any, inner))
    said = next((fields[k] for k in ("message", "msg", "error_msg", "detail", "error") if fields.get(k)), None)
    codes = {str(fields[k]).lower() for k in ("code", "type", "status", "error_code") if fields.get(k) is not None}
    place: Any = fields.get("param")
    if isinstance(loc := fields.get("loc"), list) and loc:  # FastAPI
        place = cast(list[Any], loc)[-1]
        said = f"{said}: {place}"
    text = said if isinstance(said, str) else json.dumps(said or fields, ensure_ascii=False, default=str)
    return Failure(text, frozenset(codes), place if isinstance(place, str) else None)


def failure_in_text(text: str) -> Failure:
    """The failure that a body which is no JSON reports: a page's words."""
    return Failure(" ".join(_TAGS.sub(" ", text).split()) or "an empty body")


def error_for(failure: Failure, status: int | None, server: Server, *, retry_after: float | None = None) -> ModelError:
    """The error of the tree. Status None or 200: the failure came inside an answer, its code decides."""
    text, codes = failure.message[:_LONGEST_QUOTE], failure.codes
    code = status if status is not None and status != 200 else _status_among(codes)
    said = f"{server} answered{f' {code}' if code else ' with an error'}: {text}"
    if codes & _CONTEXT_CODES or (code in (400, 413, 422, 429, 500, None) and _CONTEXT_WORDS.search(text)):
        return ContextTooLongError(f"{said} — send fewer or shorter messages", status=code)
    if code in (401, 402, 403) or codes & _KEY_CODES:
        return AuthenticationError(f"{said} — check the API key and the account behind it", status=code)
    if codes & _QUOTA_CODES:
        return RateLimitError(f"{said} — the account's quota is used up", status=code, retryable=False)
    if code == 429 or codes & _RATE_CODES:
        return RateLimitError(f"{said} — wait, or send fewer requests", status=code, retry_after=retry_after)
    tools_refused = failure.param in _TOOLS and _REFUSING_WORDS.search(text)
    if code in (400, 404, 405, 422, 500, 501) and (tools_refused or _NO_TOOLS_WORDS.search(text)):
        return ToolsUnsupportedError(f"{said} — use a text format such as react", status=code)
    if code is not None and code < 500 and code not in (408, 409, 425):
        return RequestError(f"{said} — {_advice(code)}", status=code)
    return ServerError(f"{said} — try again later", status=code, retry_after=retry_after)


def refused_parameter(failure: Failure, status: int | None, body: Mapping[str, Any]) -> str | None:
    """The optional parameter of the request that the server refuses as such, None when it is something else.

    `content` stands for the null content of turns with calls, on which chat templates fail that take it for a text.
    """
    if status not in (400, 404, 422, 500, 501):
        return None
    if _TEXT_WANTED_WORDS.search(failure.message) and any(one.get("content", "") is None for one in body["messages"]):
        return "content"
    if not _REFUSING_WORDS.search(failure.message) and not failure.codes & {
        "unsupported_parameter",
        "unknown_parameter",
    }:
        return None
    optional = [key for key in body if key not in NEEDED]
    if failure.param in optional:
        return failure.param
    named = [(match.start(), key) for key in optional if (match := re.search(rf"\b{key}\b", failure.message))]
    return min(named)[1] if named else None


def _status_among(codes: frozenset[str]) -> int | None:
    return next((int(code) for code in sorted(codes) if code.isdecimal() and 400 <= int(code) <= 599), None)


def _advice(code: int) -> str:
    if code == 404:
        return "check the model's name and base_url"
    return "check base_url" if code < 400 else "correct the request"
