"""A real HTTP server on loopback that answers chat completions by a script, for tests.

    with ScriptedServer([answer("fine")]) as server:
        model = ChatModel("m", base_url=server.base_url)

The script is a list, one entry a request, or a function from the request's body to an entry. A request past
the end of the list is answered with status 418, which no client tries again.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Entry:
    """One answer. `pieces` are sent as chunks of their own; `cut` breaks off instead of ending, `hang` never ends.

    A body that is no text is sent as JSON.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Sequence[str | bytes] | None = None
    cut: bool = False
    hang: bool = False


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


Script = Iterable[Entry] | Callable[[dict[str, Any]], Entry]


def answer(
    text: str | None = None,
    *,
    calls: Sequence[tuple[str, Any]] = (),
    finish_reason: str | None = None,
    usage: Any = (5, 1),
    **message: Any,
) -> Entry:
    """A whole answer: text, native calls as (name, arguments), usage as (prompt, completion) or as it is."""
    said: dict[str, Any] = {"role": "assistant", "content": text, **message}
    if calls:
        said["tool_calls"] = [
            {
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
            }
            for at, (name, args) in enumerate(calls)
        ]
    finish = finish_reason or ("tool_calls" if calls else "stop")
    body: dict[str, Any] = {"choices": [{"index": 0, "message": said, "finish_reason": finish}]}
    if isinstance(usage, tuple):
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    elif usage != "missing":
        body["usage"] = usage
    return Entry(body=body)


def failure(status: int, error: Any, **headers: str) -> Entry:
    """An error of the usual shape; header names are written with `_` for `-`."""
    return Entry(status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()})


def events(*data: Any, done: bool = True, cut: bool = False, hang: bool = False) -> Entry:
    """A streamed answer; data that is no text is sent as JSON."""
    pieces = [f"data: {one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)}\n\n" for one in data]
    return stream(*pieces, *(["data: [DONE]\n\n"] if done else []), cut=cut, hang=hang)


def stream(*pieces: str | bytes, cut: bool = False, hang: bool = False) -> Entry:
    """A streamed answer in raw pieces."""
    return Entry(headers={"Content-Type": "text/event-stream"}, pieces=pieces, cut=cut, hang=hang)


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """One streamed piece of a reply."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}]}


class ScriptedServer:
    """The server; `requests` are those it has got. `hanging` is set when an answer hangs, `left` when its client
    has gone."""

    def __init__(self, script: Script) -> None:
        self._next = script if callable(script) else None
        self._entries = iter(()) if callable(script) else iter(script)
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.hanging = threading.Event()
        self.left = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def entry_for(self, request: Request) -> Entry:
        with self._lock:
            self.requests.append(request)
            if self._next is not None:
                return self._next(request.body)
            return next(self._entries, failure(418, {"message": "the script of the test is at its end"}))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                entry = server.entry_for(Request(self.path, dict(self.headers.items()), json.loads(content)))
                if entry.pieces is None and not entry.hang:
                    self._send_whole(entry)
                else:
                    self._send_pieces(entry)

            def _send_whole(self, entry: Entry) -> None:
                text = entry.body if isinstance(entry.body, str) else json.dumps(entry.body)
                content = text.encode("utf-8", "surrogatepass")
                self._send_head(entry, {"Content-Type": "application/json", "Content-Length": str(len(content))})
                self.wfile.write(content)

            def _send_pieces(self, entry: Entry) -> None:
                if entry.pieces is not None:
                    self._send_head(entry, {"Transfer-Encoding": "chunked"})
                    for piece in entry.pieces:
                        raw = piece.encode() if isinstance(piece, str) else piece
                        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
                        self.wfile.flush()
                if entry.hang:
                    server.hanging.set()
                    with contextlib.suppress(ConnectionError):
                        self.connection.recv(1)  # nothing comes until the client closes
                    server.left.set()
                elif not entry.cut:
                    self.wfile.write(b"0\r\n\r\n")
                if entry.hang or entry.cut:
                    self.close_connection = True

            def _send_head(self, entry: Entry, defaults: Mapping[str, str]) -> None:
                self.send_response(entry.status)
                given = {name.lower() for name in entry.headers}
                for name, value in [*entry.headers.items(), *defaults.items()]:
                    if name in entry.headers or name.lower() not in given:
                        self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Tests read `requests` instead."""

        return Handler
