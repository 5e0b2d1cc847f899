"""Messages of an OpenAI chat list, and the steps they form.

The dict form is the one of the chat completions API
(https://platform.openai.com/docs/api-reference/chat/create).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

SAID_OTHERWISE = ("refusal", "audio")  # fields in which an assistant speaks instead of in `content`
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})

HIDDEN = "[secret]"
_SHORTEST_HIDDEN_NUMBER = 8  # digits; a shorter number may be a count that is equal by chance

MOST_LEVELS = 100
"""Objects and lists inside each other in a value; more, or one that holds itself, can't be copied or written."""

Content = str | list[dict[str, Any]] | None


class MessageError(ValueError):
    """A message that no chat completions server would accept, with what is wrong in it."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: `arguments` is JSON text, as the wire format has it."""

    id: str
    name: str
    arguments: str = "{}"

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> ToolCall:
        function: Any = raw.get("function") or {}
        if not isinstance(function, Mapping):
            raise MessageError(
                f"tool call {raw.get('id')!r}: 'function' must be an object, got {type(function).__name__}"
            )
        fields = cast(Mapping[str, Any], function)
        arguments = fields.get("arguments")
        if arguments is None:
            arguments = ""
        elif not isinstance(arguments, str):
            arguments = json.dumps(_json("assistant", arguments), ensure_ascii=False)
        return cls(clean(str(raw.get("id") or "")), clean(str(fields.get("name") or "")), clean(arguments))

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a chat list.

    `extra` keeps the keys this library has no use for (`reasoning_content`, `refusal`, …), so that
    what went in comes out again.
    """

    role: str
    content: Content = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Message:
        """Read an OpenAI message dict; the dict is copied, never kept or changed.

        Raises:
            MessageError: the role is unknown, content or tool calls have no readable shape, or a value is no JSON.
        """
        if not isinstance(cast(object, raw), Mapping):
            raise MessageError(f"a message must be an object with role and content, got {type(raw).__name__}")
        role = raw.get("role")
        if not isinstance(role, str) or role not in ROLES:
            raise MessageError(f"unknown role {role!r}: expected one of {', '.join(sorted(ROLES))}")
        answers, name = raw.get("tool_call_id"), raw.get("name")
        return cls(
            role,
            _content(role, raw.get("content")),
            _calls(role, raw.get("tool_calls")),
            None if answers is None else clean(str(answers)),
            None if name is None else clean(str(name)),
            {} if raw.keys() <= _KNOWN else {k: _json(role, v) for k, v in raw.items() if k not in _KNOWN},
        )

    def to_dict(self) -> dict[str, Any]:
        """The wire form; `content` is always present, and null for an empty turn that calls tools."""
        empty_call_turn = bool(self.tool_calls) and says_nothing(self.content)
        out: dict[str, Any] = {
            "role": self.role,
            "content": None if empty_call_turn else _json(self.role, self.content, MOST_LEVELS + 1),
        }
        if self.tool_calls:
            out["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.tool_call_id is not None:
            out["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            out["name"] = self.name
        if self.extra:
            out.update(_json(self.role, self.extra, MOST_LEVELS + 1))
        return out

    def redacted(self, hide: Callable[[str], str]) -> Message:
        """The message with `hide` applied to all that it holds: content, calls, names, ids and extra keys."""
        calls = [ToolCall(hide(c.id), hide(c.name), _redacted_json(c.arguments, hide)) for c in self.tool_calls]
        return replace(
            self,
            content=redacted_value(self.content, hide),
            tool_calls=tuple(calls),
            tool_call_id=redacted_value(self.tool_call_id, hide),
            name=redacted_value(self.name, hide),
            extra=redacted_value(self.extra, hide),
        )

    @property
    def text(self) -> str:
        """All text of the content; parts that are not text are left out."""
        return content_text(self.content)

    @property
    def outline(self) -> str:
        """All text of the content, and a word for each part that is not text: `[image_url]`."""
        if not isinstance(self.content, list):
            return self.content or ""
        return "\n".join(
            str(part.get("text", "")) if part.get("type", "text") == "text" else f"[{part['type']}]"
            for part in self.content
        )


_KNOWN = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})


def content_text(content: Content) -> str:
    """The text of a message's content, whatever its shape."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content if part.get("type", "text") == "text" and "text" in part)


def says_nothing(content: Content) -> bool:
    """Whether a content has no text and no part that is not text."""
    if isinstance(content, list):
        return not any(part.get("type", "text") != "text" or str(part.get("text", "")) for part in content)
    return not content


def clean(text: str) -> str:
    """Surrogate pairs joined and lone surrogates replaced by U+FFFD: they can't be sent as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def redacted_value(value: Any, hide: Callable[[str], str]) -> Any:
    """A copy of a JSON value with `hide` applied to every text in it, keys included.

    A number is hidden where all of it is a secret.
    """
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {hide(str(k)): redacted_value(v, hide) for k, v in items}
    if isinstance(value, list | tuple):
        return [redacted_value(v, hide) for v in cast(Sequence[Any], value)]
    if isinstance(value, int | float) and len(str(value)) >= _SHORTEST_HIDDEN_NUMBER and hide(str(value)) == HIDDEN:
        return HIDDEN
    return value


def _redacted_json(text: str, hide: Callable[[str], str]) -> str:
    """JSON text with the texts of its value hidden: whatever their characters are escaped as, and JSON as before."""
    try:
        value = json.loads(text)
        hidden = redacted_value(value, hide)
    except (ValueError, RecursionError):
        return hide(text)
    return hide(text if hidden == value else json.dumps(hidden, ensure_ascii=False))


def _object(role: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MessageError(f"{role} message: expected an object, got {type(value).__name__}")
    return cast(Mapping[str, Any], value)


def _calls(role: str, value: Any) -> tuple[ToolCall, ...]:
    if not value:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise MessageError(f"{role} message: 'tool_calls' must be a list, got {type(value).__name__}")
    return tuple([ToolCall.from_dict(_object(role, call)) for call in cast(Sequence[Any], value)])


def _content(role: str, value: Any) -> Content:
    if value is None:
        return None
    if isinstance(value, str):
        return clean(value)
    if not isinstance(value, Sequence):
        raise MessageError(f"{role} message: content must be text or a list of parts, got {type(value).__name__}")
    parts: list[dict[str, Any]] = []
    for part in cast(Sequence[Any], value):
        if isinstance(part, str):
            parts.append({"type": "text", "text": clean(part)})
        else:
            copied = _json(role, _object(role, part))
            if copied.get("type", "text") == "text" and not isinstance(copied.get("text"), str):
                copied["text"] = str(copied.get("text") or "")
            parts.append(copied)
    return parts


def _json(role: str, value: Any, depth: int = MOST_LEVELS) -> Any:
    """A deep copy of a JSON value, its strings cleaned."""
    if isinstance(value, str):
        return clean(value)
    if depth == 0:
        raise MessageError(f"{role} message: a value is nested more than {MOST_LEVELS} levels deep")
    if isinstance(value, Mapping):
        return {clean(str(k)): _json(role, v, depth - 1) for k, v in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, (list, tuple)):
        return [_json(role, v, depth - 1) for v in cast(Sequence[Any], value)]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise MessageError(f"{role} message: a value of type {type(value).__name__} is no JSON")
