"""Reads a streamed answer: server-sent events, and the reply that their pieces add up to.

Events: https://html.spec.whatwg.org/multipage/server-sent-events.html. Lines end at LF, CR or CRLF only; a text
may hold any other separator (U+2028, U+0085), which `str.splitlines` would break at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from .reply import REASONING_KEYS, Delta
from .wire import split_content

_LINE_END = re.compile(rb"\r\n|\n|\r")
_CALL_KEYS = frozenset({"index", "id", "type", "function"})
_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def looks_like_events(start: bytes) -> bool:
    """Whether a body begins as a stream of events, whatever its content type says."""
    return start.lstrip(b"\xef\xbb\xbf\r\n ").startswith(_EVENT_FIELDS)


class EventReader:
    """Bytes in, the data of events out; characters and line ends may be split over pieces anywhere."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._first = True

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of all events that this piece completes."""
        self._rest += piece
        if self._first and len(self._rest) >= 3:
            self._rest = self._rest.removeprefix(b"\xef\xbb\xbf")
            self._first = False
        at = 0
        for end in _LINE_END.finditer(self._rest):
            if end.group() == b"\r" and end.end() == len(self._rest):
                break  # the LF of a CRLF may follow
            yield from self._line(self._rest[at : end.start()])
            at = end.end()
        self._rest = self._rest[at:]

    def close(self) -> Iterator[str]:
        """What is left when the stream ends without its last blank line."""
        yield from self._line(self._rest.rstrip(b"\r"))
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[str]:
        if not line:
            if self._data:
                yield from _whole_or_lines(self._data)
                self._data = []
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
        elif line.startswith(b"{"):  # an error that a server writes into the stream without a field name
            self._data.append(line.decode("utf-8", "replace"))


def _whole_or_lines(data: list[str]) -> list[str]:
    """One event of several lines; servers that forget the blank line between events give one line each."""
    joined = "\n".join(data)
    return [joined] if len(data) == 1 or parse_json(joined) is not None else data


def parse_json(text: str) -> Any:
    """The JSON value of the text, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@dataclass(slots=True)
class _Call:
    id: str
    name: str = ""
    arguments: str = ""
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def to_dict(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": self.arguments}
        return {**self.extra, "id": self.id, "type": "function", "function": function}


class StreamedMessage:
    """The assistant message that deltas add up to."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._by_index: dict[Any, _Call] = {}

    def add(self, delta: Mapping[str, Any]) -> Delta:
        """Take one delta in; returns what of it can be shown."""
        content = delta.get("content")
        text, thinking = split_content(cast(list[Any], content)) if isinstance(content, list) else (content, "")
        text = text if isinstance(text, str) else ""
        self._text.append(text)
        if isinstance(refusal := delta.get("refusal"), str):
            self._refusal.append(refusal)
        pieces = {key: delta[key] for key in REASONING_KEYS if isinstance(delta.get(key), str)}
        if thinking:
            pieces.setdefault("reasoning_content", thinking)
        for key, piece in pieces.items():
            self._reasoning.setdefault(key, []).append(piece)
        calls = delta.get("tool_calls")
        for call in cast(list[Any], calls) if isinstance(calls, list) else []:
            if isinstance(call, Mapping):
                self._add_call(cast(Mapping[str, Any], call))
        legacy = delta.get("function_call")
        if isinstance(legacy, Mapping):
            self._add_call({"index": 0, "function": legacy})
        return Delta(text, next(iter(pieces.values()), ""))

    def message(self) -> dict[str, Any]:
        """The whole message so far."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text) or None}
        message |= {key: "".join(pieces) for key, pieces in self._reasoning.items() if any(pieces)}
        if any(self._refusal):
            message["refusal"] = "".join(self._refusal)
        if self._calls:
            message["tool_calls"] = [call.to_dict() for call in self._calls]
        return message

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        inner = piece.get("function")
        function = cast(Mapping[str, Any], inner if isinstance(inner, Mapping) else {})
        index, call_id, name = piece.get("index"), str(piece.get("id") or ""), str(function.get("name") or "")
        call = self._continued(index, call_id, name)
        if call is None:
            call = _Call(call_id)
            self._calls.append(call)
        self._by_index[index if isinstance(index, int | str) else None] = call
        call.id = call.id or call_id
        if name != call.name:
            call.name += name
        arguments = function.get("arguments")
        if arguments is not None:
            call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        call.extra |= {k: v for k, v in piece.items() if k not in _CALL_KEYS and v is not None}

    def _continued(self, index: Any, call_id: str, name: str) -> _Call | None:
        """The call that a piece continues, None when it begins another.

        Some servers give all calls one index, or none: there another id begins a call, or a name after whole
        arguments. Others give all calls one id, or each piece an id of its own.
        """
        same_id = [call for call in self._calls if call_id and call.id == call_id]
        last = self._by_index.get(index) if isinstance(index, int | str) else (same_id or self._calls or [None])[-1]
        if last is None:
            return None if not same_id or (name and _is_whole(same_id[-1])) else same_id[-1]
        if same_id:
            return last if last in same_id else same_id[-1]
        if call_id and last.id and (name or _is_whole(last)):
            return None
        if name and last.arguments and (name != last.name or _is_whole(last)):
            return None
        return last


def _is_whole(call: _Call) -> bool:
    return parse_json(call.arguments) is not None
