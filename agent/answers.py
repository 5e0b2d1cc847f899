"""Reads the answer to one request: whole or streamed, good or bad."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx

from .connection import Connection
from .errors import ModelError, ProtocolError, RequestError, ServerError
from .failures import Failure, Server, error_for, failure_in, failure_in_text, refused_parameter
from .names_on_wire import WireNames
from .reply import Delta, Usage
from .retries import retry_after
from .streaming import EventReader, StreamedMessage, looks_like_events, parse_json
from .wire import assistant_message, first_choice, message_of, read_usage

_AFTER_FINISH = 5.0  # seconds that a finished stream may take for its usage and its end


class ParameterRefusedError(Exception):
    """The server refuses an optional parameter; without it the request may succeed."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer as the server gave it; `usage` and `model` are None where it did not say."""

    message: dict[str, Any]
    finish_reason: str | None
    usage: Usage | None
    model: str | None


class Deadline:
    """When the next piece must have come, in the event loop's time."""

    def __init__(self, whole_at: float, first_within: float | None) -> None:
        self._whole_at = whole_at
        self._loop = asyncio.get_running_loop()
        self.at = whole_at if first_within is None else min(whole_at, self._loop.time() + first_within)

    @property
    def is_whole(self) -> bool:
        """Whether the time for the whole call is what is running out."""
        return self.at == self._whole_at

    def begun(self) -> None:
        """The first piece is there."""
        self.at = self._whole_at

    def finished(self) -> None:
        """Only the end is still missing."""
        self.at = min(self._whole_at, self._loop.time() + _AFTER_FINISH)


class AnswerReader:
    """Reads the answers to one request."""

    def __init__(
        self, connection: Connection, request: Mapping[str, Any], names: WireNames, deadline: Deadline
    ) -> None:
        self._connection = connection
        self._request = request
        self._names = names
        self._deadline = deadline
        self._server = Server(connection.public_url, str(request.get("model")))

    async def read(self, response: httpx.Response) -> AsyncGenerator[Delta | Answer, None]:
        """The pieces of a streamed answer, then the whole one.

        Raises:
            ModelError: the answer is a failure, is no chat completion, or breaks off.
            ParameterRefusedError: the server refuses an optional parameter.
            TimeoutError: the deadline passed.
        """
        pieces = self._pieces(response)
        if response.status_code != 200:
            raise self._failed_response(response, await _joined(pieces))
        first = b""
        async for piece in pieces:
            first += piece
            if first.strip():
                break
        if "event-stream" in response.headers.get("content-type", "") or looks_like_events(first):
            async for item in self._read_events(first, pieces):
                yield item
        else:
            yield self._whole(first + await _joined(pieces), response.headers.get("content-type", ""))

    async def _pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        stream = response.aiter_bytes()
        while True:
            async with asyncio.timeout_at(self._deadline.at):
                piece = await anext(stream, None)
            if piece is None:
                return
            yield piece

    def _whole(self, content: bytes, content_type: str) -> Answer:
        body = parse_json(content.decode("utf-8", "replace"))
        if not isinstance(body, Mapping | list):
            said = failure_in_text(content[:2000].decode("utf-8", "replace")).message[:120]
            kind = content_type or "a body without content type"
            raise ProtocolError(
                self._connection.redact(
                    f"{self._server} answered with {kind} that is no JSON ({said}): check base_url, "
                    "or whether a proxy stands before the server"
                ),
                status=200,
                retryable="html" not in content_type,
            )
        failure = failure_in(cast(Any, body))
        if failure is not None:
            raise self._error(failure, 200, {})
        fields = cast(Mapping[str, Any], body if isinstance(body, Mapping) else {})
        self._raise_choice_error(first_choice(fields))
        try:
            raw, finish_reason = message_of(fields)
        except ProtocolError as error:
            raise ProtocolError(f"{self._server}: {error}", status=200, retryable=True) from error
        return Answer(
            assistant_message(raw, self._names), finish_reason, read_usage(fields.get("usage")), _model(fields)
        )

    async def _read_events(self, first: bytes, pieces: AsyncIterator[bytes]) -> AsyncGenerator[Delta | Answer, None]:
        streamed = _Streamed()
        reader = EventReader()
        events = [*reader.feed(first)]
        while True:
            for data in events:
                if data.strip() == "[DONE]":
                    streamed.done = True
                    break
                if not data.strip():
                    continue
                try:
                    delta = self._event(data, streamed)
                except ModelError:
                    if streamed.finish_reason is None:
                        raise
                    streamed.done = True  # the reply is whole, the error is about what comes behind it
                    break
                if delta.text or delta.reasoning:
                    yield delta
            if streamed.done:
                break
            try:
                piece = await anext(pieces, None)
            except (httpx.TransportError, TimeoutError):
                if streamed.finish_reason is None:
                    raise
                break  # all that was still to come is the usage
            if piece is None:
                if streamed.closed:
                    break
                streamed.closed = True
                events = [*reader.close()]
            else:
                events = [*reader.feed(piece)]
        if not streamed.done and streamed.finish_reason is None:
            raise ServerError(f"{self._server} broke off before the reply was complete — try again")
        message = assistant_message(streamed.message.message(), self._names)
        yield Answer(message, streamed.finish_reason, streamed.usage, streamed.model)

    def _event(self, data: str, streamed: _Streamed) -> Delta:
        event = parse_json(data)
        if not isinstance(event, Mapping):
            raise ProtocolError(
                self._connection.redact(f"{self._server} sent a piece that is no JSON object: {data[:120]!r}"),
                retryable=True,
            )
        fields = cast(Mapping[str, Any], event)
        failure = failure_in(fields)
        if failure is not None:
            raise self._error(failure, None, {})
        self._deadline.begun()
        groq = fields.get("x_groq")
        extra: Any = cast(Mapping[str, Any], groq).get("usage") if isinstance(groq, Mapping) else None
        streamed.usage = read_usage(fields.get("usage") or extra) or streamed.usage
        streamed.model = _model(fields) or streamed.model
        choice = first_choice(fields)
        if choice is None or choice.get("index") not in (0, None):
            return Delta()
        self._raise_choice_error(choice)
        delta = choice.get("delta") or choice.get("message")
        shown = streamed.message.add(cast(Mapping[str, Any], delta)) if isinstance(delta, Mapping) else Delta()
        if isinstance(choice.get("finish_reason"), str):
            streamed.finish_reason = choice["finish_reason"]
            self._deadline.finished()
        return shown

    def _raise_choice_error(self, choice: Mapping[str, Any] | None) -> None:
        """A provider behind a gateway failed (OpenRouter says so inside the choice)."""
        if choice is None:
            return
        failure = failure_in({"error": choice["error"]}) if choice.get("error") else None
        if failure is None and choice.get("finish_reason") == "error":
            failure = Failure("the model stopped with an error")
        if failure is not None:
            raise self._error(failure, None, {})

    def _failed_response(self, response: httpx.Response, content: bytes) -> Exception:
        text = content.decode("utf-8", "replace")
        failure = failure_in(parse_json(text)) or failure_in_text(text)
        if response.is_redirect:
            host = response.headers.get("location", "elsewhere").partition("?")[0]
            failure = Failure(f"a redirect to {host}; give that as base_url if it is right")
        error = self._error(failure, response.status_code, response.headers)
        parameter = refused_parameter(failure, response.status_code, self._request)
        if parameter is not None and isinstance(error, RequestError | ServerError):
            return ParameterRefusedError(parameter)
        return error

    def _error(self, failure: Failure, status: int | None, headers: Mapping[str, str]) -> ModelError:
        shown = Failure(self._connection.redact(failure.message), failure.codes, failure.param)
        return error_for(shown, status, self._server, retry_after=retry_after(headers, failure.message))


class _Streamed:
    """What has come of a streamed answer."""

    def __init__(self) -> None:
        self.message = StreamedMessage()
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.model: str | None = None
        self.done = False
        self.closed = False


async def _joined(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


def _model(fields: Mapping[str, Any]) -> str | None:
    model = fields.get("model")
    return model if isinstance(model, str) and model else None
