"""A real server of `/v1/embeddings` on loopback, for any function that embeds."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class EmbeddingsServer:
    """Answers one request at a time; `requests` are the texts of each, `url` is what an `HttpEmbedder` takes."""

    def __init__(self, embed: Callable[[Sequence[str]], Iterable[Iterable[float]]]) -> None:
        self.url = ""
        self.requests: list[list[str]] = []
        self._embed = embed
        self._turn = threading.Lock()

    def answer(self, body: bytes) -> bytes:
        texts = json.loads(body)["input"]
        with self._turn:
            self.requests.append(texts)
            vectors = [[float(number) for number in row] for row in self._embed(texts)]
        return json.dumps({"data": [{"index": at, "embedding": row} for at, row in enumerate(vectors)]}).encode()


@contextmanager
def serving(embed: Callable[[Sequence[str]], Iterable[Iterable[float]]]) -> Iterator[EmbeddingsServer]:
    server = EmbeddingsServer(embed)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer = server.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Keeps the output of tests clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_port}/v1"
        threading.Thread(target=http.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            http.shutdown()
