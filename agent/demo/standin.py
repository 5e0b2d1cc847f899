"""A stand-in for a chat model, served over real HTTP by the chat completions protocol.

It has no model inside but plans: functions from what a request shows to the next turn. A plan may name what to look
up, never a figure: those it reads out of the messages. So the stand-in answers right only if the memory under test
keeps the figures where the model can see them, or lets it look them up again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Protocol, cast

from ...memory.tokens import TokenCounter
from .scene import Scene, Turn, read_scene, reply_message

MODEL = "stand-in"
CACHE_BLOCK = 64
"""Tokens of a prompt prefix that are cached together: reported cached tokens are a multiple of it."""
_PIECE = 24  # characters of a streamed piece


class Plan(Protocol):
    """What the stand-in does for one kind of task."""

    def fits(self, scene: Scene) -> bool:
        """Whether the plan is for the scene's task."""
        ...

    def next_turn(self, scene: Scene) -> Turn:
        """The next turn, from the scene alone: nothing is kept between two requests."""
        ...


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it reached the server: tokens of messages and tool schemas, and how many of them were cached."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    prompt_tokens: int
    cached_tokens: int
    reply: dict[str, Any]


class StandIn:
    """Serves plans on a free loopback port, as a context manager.

    `base_url` is what a client needs, `requests` what it has received.
    """

    def __init__(self, plans: Sequence[Plan], counter: TokenCounter | None = None) -> None:
        self.requests: list[Received] = []
        self._plans = plans
        self._counter = counter or TokenCounter()
        self._before = ""
        self._lock = Lock()
        self._server = _Server(self)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> StandIn:
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The response to a chat completions request, as its JSON object.

        Raises:
            ValueError: the request is not one that can be answered; the text says why.
        """
        messages = cast("list[dict[str, Any]] | None", body.get("messages"))
        if not messages:
            raise ValueError("messages must be a list with at least one message")
        tools = cast("list[dict[str, Any]]", body.get("tools") or [])
        scene = read_scene(messages, tools)
        plan = next((plan for plan in self._plans if plan.fits(scene)), None)
        if plan is None:
            raise ValueError("the stand-in knows the demo's tasks only; use --base-url and --model for others")
        turn = plan.next_turn(scene)
        with self._lock:
            message = reply_message(turn, scene, f"call_{len(self.requests) + 1}")
            received = Received(messages, tools, *self._measure(messages, tools), message)
            self.requests.append(received)
        said = json.dumps([message.get("content"), message.get("tool_calls")], ensure_ascii=False)
        completion = self._counter.count(said)
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": MODEL,
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
            ],
            "usage": {
                "prompt_tokens": received.prompt_tokens,
                "completion_tokens": completion,
                "total_tokens": received.prompt_tokens + completion,
                "prompt_tokens_details": {"cached_tokens": received.cached_tokens},
            },
        }

    def _measure(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> tuple[int, int]:
        """Tokens of the prompt, and how many of them the prefix shared with the request before makes up."""
        prompt = "\n".join(json.dumps(part, ensure_ascii=False) for part in [*tools, *messages])
        shared = self._counter.count(prompt[: _common(self._before, prompt)])
        self._before = prompt
        tokens = self._counter.messages(messages) + self._counter.tools(tools)
        return tokens, min(shared, tokens) // CACHE_BLOCK * CACHE_BLOCK


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, standin: StandIn) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.standin = standin

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing for a client that has gone; anything else is told."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            return self._fail(404, f"there is no {self.path} here")
        return self._send(
            200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "carryforward"}]}
        )

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            return self._fail(404, f"there is no {self.path} here")
        try:
            body = cast("dict[str, Any]", json.loads(raw))
            if body.get("model") != MODEL:
                return self._fail(404, f"the model {body.get('model')!r} does not exist; there is {MODEL!r}")
            response = cast("_Server", self.server).standin.answer(body)
        except ValueError as error:
            return self._fail(400, str(error))
        if not body.get("stream"):
            return self._send(200, response)
        with_usage = bool(cast("dict[str, Any]", body.get("stream_options") or {}).get("include_usage"))
        return self._stream(_chunks(response, with_usage))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the demo's terminal is not the place for access lines."""

    def _fail(self, status: int, message: str) -> None:
        kind = "model_not_found" if status == 404 else "invalid_request_error"
        self._send(status, {"error": {"message": message, "type": kind, "code": kind, "param": None}})

    def _send(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, chunks: Iterator[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def _chunks(response: Mapping[str, Any], with_usage: bool) -> Iterator[dict[str, Any]]:
    """The response in the pieces of a stream."""
    head = {key: response[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = response["choices"][0]
    message = choice["message"]

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(message["content"]):
        yield chunk({"content": piece})
    for at, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        yield chunk({"tool_calls": [call | {"index": at, "function": function | {"arguments": ""}}]})
        for piece in _pieces(function["arguments"]):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if with_usage:
        yield head | {"choices": [], "usage": response["usage"]}


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    differ = (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differ, min(len(one), len(other)))


def _pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), _PIECE):
        yield text[at : at + _PIECE]
