"""Long-term memories to test: in a folder, and on a real Chroma server on loopback."""

from __future__ import annotations

import hashlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
import pytest
from carryforward.memory.long_term import LongTermMemory
from numpy.typing import NDArray

OpenMemory = Callable[..., LongTermMemory]


class HashedWords:
    """A small, deterministic embedder: each word adds one to one of `dimension` places."""

    def __init__(self, name: str = "hashed-words", dimension: int = 64, revision: str = "") -> None:
        self.name = name
        self.dimension = dimension
        self.revision = revision
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for at, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[at, int(hashlib.md5(word.encode()).hexdigest(), 16) % self.dimension] += 1
        return vectors


@pytest.fixture(scope="session")
def chroma_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma-server")
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--host", "127.0.0.1"]
    with (folder / "log.txt").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--port", str(port), "--path", str(folder / "data")], stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{url}/api/v2/heartbeat").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        else:
            pytest.fail(f"chroma run did not start: {(folder / 'log.txt').read_text()}")
        yield url
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture(params=["folder", "server"])
def open_memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenMemory]:
    """Opens memories of one store: the same folder, or the same server from a replica of its own each time."""
    opened: list[LongTermMemory] = []
    # One server serves all tests; each test gets namespaces of its own there.
    mark = hashlib.md5(str(tmp_path).encode()).hexdigest()[:8]

    def open_one(namespace: str = "default", embedder: object = None, replica: str = "a") -> LongTermMemory:
        embedder = embedder or HashedWords()
        if request.param == "folder":
            memory = LongTermMemory(tmp_path / "store", namespace=namespace, embedder=embedder)
        else:
            memory = LongTermMemory(
                tmp_path / f"replica-{replica}",
                url=request.getfixturevalue("chroma_url"),
                namespace=f"{namespace} {mark}",
                embedder=embedder,
            )
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> LongTermMemory:
    return open_memory()
