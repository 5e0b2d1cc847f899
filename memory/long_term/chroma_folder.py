"""Chroma in a folder of this machine: one client a process, and one process at a time that changes it.

Chroma 1.x does not show a process what another one added, and two processes that both write can lose vectors
when one of them tidies the queue the other has not read. So every change is made under a file lock, by a client
opened after the last change, and the vectors a client cannot see yet are compared directly (`vector_index`).
"""

from __future__ import annotations

import logging
import re
import threading
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar, cast

from filelock import FileLock

from .chroma_http import check_cosine
from .database import is_broken

DATABASE = "chroma.sqlite3"
LOCK_SECONDS = 60.0
_SEGMENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
log = logging.getLogger(__name__)


class ChromaFolder:
    """The Chroma client of one folder, shared by all that use the folder in this process."""

    _shared: ClassVar[dict[Path, ChromaFolder]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self.file_lock = FileLock(path / "chroma.lock", timeout=LOCK_SECONDS)
        self.opened = 0
        """Counts the openings: a collection belongs to the opening it was taken from."""
        self._users = 0
        self._client: Any = None

    @classmethod
    def share(cls, path: Path) -> ChromaFolder:
        with cls._guard:
            folder = cls._shared.setdefault(path.resolve(), cls(path.resolve()))
            folder._users += 1
            return folder

    def release(self) -> None:
        """Close the client when the last user has gone."""
        with self._guard:
            self._users -= 1
            if self._users == 0:
                self._shared.pop(self.path, None)
                self.close()

    @property
    def client(self) -> Any:
        """The open client; call it under `file_lock`, as opening may tidy Chroma's files."""
        with self.lock:
            if self._client is None:
                import chromadb
                from chromadb.config import Settings

                self._client = chromadb.PersistentClient(str(self.path), settings=Settings(anonymized_telemetry=False))
                self.opened += 1
            return self._client

    def close(self) -> None:
        """Forget the client, so that the next use sees the folder as it then is."""
        with self.lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def set_aside(self) -> None:
        """Move Chroma's files into a folder `chroma.broken-…`; vectors are indexed anew from the records."""
        with self.lock:
            self.close()
            kept = self.path / f"chroma.broken-{time.time_ns()}"
            kept.mkdir()
            for item in list(self.path.iterdir()):
                if item.name.startswith(DATABASE) or _SEGMENT.fullmatch(item.name):
                    item.rename(kept / item.name)
            log.warning("the vector index in %s is damaged; it is kept aside as %s", self.path, kept.name)

    def is_broken(self) -> bool:
        return is_broken(self.path / DATABASE)


def open_collection(client: Any, name: str, description: dict[str, Any]) -> Any:
    """The collection, made if need be: cosine distance, and no embedding function of Chroma's (it downloads).

    Raises:
        StoreError: a collection of this name exists with another distance.
    """
    with warnings.catch_warnings():
        # Chroma 1.5 warns of collections without an embedding function of its own.
        warnings.filterwarnings("ignore", message="legacy embedding function config")
        collection = client.get_or_create_collection(
            name, metadata=description, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        configuration = cast("dict[str, dict[str, Any] | None]", collection.configuration)
    check_cosine(name, configuration)
    return collection
