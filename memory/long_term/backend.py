"""Where records and vectors live: a folder of this machine, or a Chroma server that many machines share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .chroma_folder import ChromaFolder
from .embedders import Vectors
from .store import Draft, RecordStore
from .vector_index import VectorIndex
from .vector_table import Space, VectorTable, forget_indexes

Vector = NDArray[np.float32]
AnyIndex = TypeVar("AnyIndex", bound="Index")


class Index(Protocol):
    """The vectors of one space."""

    def search(self, query: Vector, count: int) -> list[tuple[int, float]]:
        """The `count` nearest records as (row, cosine), the nearest first."""
        ...

    def cosines(self, query: Vector, rows: list[int]) -> dict[int, float]:
        """The best cosine of each of `rows` that has a vector."""
        ...

    def missing(self) -> list[int]:
        """Rows of records without a vector."""
        ...

    def add(self, vectors: dict[int, Vectors]) -> None:
        """Keep the vectors of records that had none."""
        ...

    def others(self) -> list[Space]:
        """The spaces of other embedding models that records of this namespace have vectors of."""
        ...

    def drop(self) -> None:
        """Delete every vector of this space."""
        ...


class Backend(Protocol[AnyIndex]):
    """Records and the indexes of one namespace."""

    store: RecordStore

    def index(self, space: Space) -> AnyIndex: ...

    def sync(self) -> None:
        """Make what others wrote visible in `store`."""
        ...

    def put(self, drafts: Sequence[Draft], vectors: Sequence[Vectors], index: AnyIndex) -> None:
        """Keep records for good, in place of earlier ones of the same ids; returns when they are safe."""
        ...

    def delete(self, ids: Sequence[str]) -> int:
        """How many of `ids` were kept, and are no longer."""
        ...

    def add_helped(self, identifier: str) -> None: ...

    def close(self) -> None: ...


class FolderBackend:
    """Everything in one folder: SQLite holds the records and the vectors, Chroma finds the nearest vectors."""

    def __init__(self, store: RecordStore, folder: Path) -> None:
        self.store = store
        self._folder = ChromaFolder.share(folder)
        self._indexes: list[VectorIndex] = []
        if self._folder.is_broken() and not store.database.read_only:
            with self._folder.file_lock:
                if self._folder.is_broken():
                    self._folder.set_aside()
                    forget_indexes(store.database)

    def index(self, space: Space) -> VectorIndex:
        index = VectorIndex(
            VectorTable(self.store, space), space, self._folder, read_only=self.store.database.read_only
        )
        self._indexes.append(index)
        return index

    def sync(self) -> None:
        """Nothing to do: every process reads the same file."""

    def put(self, drafts: Sequence[Draft], vectors: Sequence[Vectors], index: VectorIndex) -> None:
        self.store.put(drafts, index.table.id, vectors)
        index.advance()

    def delete(self, ids: Sequence[str]) -> int:
        count = len(self.store.delete(ids))
        for index in self._indexes:
            index.advance()
        return count

    def add_helped(self, identifier: str) -> None:
        self.store.add_helped(identifier)

    def close(self) -> None:
        for index in self._indexes:
            index.advance(wait=True)
        self._indexes.clear()
        self._folder.release()
        self.store.database.close()
