"""Nearest vectors of one space (namespace and embedding model): Chroma for the bulk, numpy for the newest.

The vectors of record are in the store. Chroma gets them in batches; what it does not hold yet, or what another
process gave it after this one opened it, is the tail, which is compared directly. A search therefore sees every
acknowledged record at once, and a kill between the two leaves nothing to repair but a longer tail.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from filelock import Timeout
from numpy.typing import NDArray

from .chroma_folder import LOCK_SECONDS, ChromaFolder, open_collection
from .embedders import Vectors
from .vector_table import Space, VectorTable, forget_indexes

Vector = NDArray[np.float32]

# Vectors that may wait for Chroma: comparing so many directly takes about a millisecond. Chroma writes its graph
# every 1,000 (`sync_threshold`), and builds what came since then anew on opening, which takes far longer.
TAIL = 1_000
# Vectors given to Chroma by one write or close at most, so that no call takes minutes after a repair.
ADVANCE = 20_000
# Asked of Chroma beyond what is wanted, to make up for vectors of records deleted since.
SPARE = 50
log = logging.getLogger(__name__)


class VectorIndex:
    def __init__(self, table: VectorTable, space: Space, folder: ChromaFolder, *, read_only: bool) -> None:
        self.table = table
        self._space = space
        self._read_only = read_only
        self._folder = folder
        # A chromadb Collection; its own types do not fit strict checking.
        self._collection: Any
        # The opening of the folder that the collection belongs to; -1 for none.
        self._opening = -1
        self._generation = 0
        # Vectors up to this id are in the collection as this process has it open.
        self._seen = 0
        self._tail_ids = np.empty(0, dtype=np.int64)
        self._tail = np.empty((0, space.dimension), dtype=np.float32)

    def search(self, query: Vector, count: int) -> list[tuple[int, float]]:
        """The `count` nearest records as (row, cosine), the nearest first."""
        with self._folder.lock:
            hits = self._search_chroma(query, count + SPARE) + self._search_tail(query, count + SPARE)
        rows = self.table.owners([number for number, _ in hits])
        best: dict[int, float] = {}
        for number, cosine in hits:
            row = rows.get(number)
            if row is not None and cosine > best.get(row, -2.0):
                best[row] = cosine
        return sorted(best.items(), key=lambda hit: -hit[1])[:count]

    def cosines(self, query: Vector, rows: list[int]) -> dict[int, float]:
        """The best cosine of each of `rows` that has a vector in this space."""
        return best_by_row(query, *self.table.of_rows(rows))

    def others(self) -> list[Space]:
        return self.table.others()

    def drop(self) -> None:
        self.table.drop()
        self.advance(wait=True)

    def missing(self) -> list[int]:
        return self.table.missing()

    def add(self, vectors: dict[int, Vectors]) -> None:
        self.table.add(vectors)
        self.advance()

    def advance(self, *, wait: bool = False) -> None:
        """Give waiting vectors to Chroma, and take deleted ones out, when there are enough of them.

        With `wait`, any number is enough for an index that is still empty, and a lock held by another process is
        waited for; else the other process is left to its work.
        """
        enough = 1 if wait and self.table.index_state()[0] == 0 else TAIL
        if self._read_only or self.table.waiting() < enough:
            return
        from chromadb.errors import ChromaError

        with self._folder.lock:
            try:
                with self._folder.file_lock.acquire(timeout=LOCK_SECONDS if wait else 0):
                    try:
                        self._advance(enough)
                    except ChromaError as error:
                        self._repair(error)
            except Timeout:
                log.info("another process holds %s; its vectors wait", self._folder.path)

    def _advance(self, enough: int) -> None:
        if self._opening != self._folder.opened or self._generation != self.table.index_state()[1]:
            self._open()
        size = int(self._folder.client.get_max_batch_size())
        for _ in range(-(-ADVANCE // size)):
            ids, vectors = self.table.after(self._seen, size)
            graves = self.table.graves(size)
            if len(ids) + len(graves) < enough:
                return
            if ids:
                self._collection.upsert(ids=[str(number) for number in ids], embeddings=vectors)
                self._seen = ids[-1]
            buried = [str(number) for number in graves if number <= self._seen]
            if buried:
                self._collection.delete(ids=buried)
            self._generation = self.table.mark_indexed(self._seen, graves)

    def _search_chroma(self, query: Vector, count: int) -> list[tuple[int, float]]:
        indexed, generation = self.table.index_state()
        if indexed == 0 or self._read_only:
            self._seen = 0
            return []
        from chromadb.errors import ChromaError

        try:
            stale = self._generation != generation and indexed - self._seen > 2 * TAIL
            if self._opening != self._folder.opened or stale:
                with self._folder.file_lock:
                    self._open()
            found = self._collection.query(query_embeddings=query[None], n_results=count, include=["distances"])
        except ChromaError as error:
            with self._folder.file_lock:
                self._repair(error)
            return []
        return [
            (int(number), 1.0 - distance)
            for number, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]

    def _open(self) -> None:
        """Open the collection as it now is; the caller holds the file lock."""
        if self._opening == self._folder.opened:
            self._folder.close()
        client = self._folder.client
        indexed, self._generation = self.table.index_state()
        self._collection = open_collection(client, self._space.collection, self._space.description)
        self._opening = self._folder.opened
        if indexed:
            # The first query makes Chroma read (and perhaps tidy) its queue: under the lock, then never again.
            any_vector = np.ones((1, self._space.dimension), dtype=np.float32)
            found = self._collection.query(query_embeddings=any_vector, n_results=1, include=[])
            if not found["ids"][0]:
                # The files of Chroma were taken away; the records have all that is needed.
                indexed, self._generation = 0, self.table.mark_indexed(0, [])
        self._seen = indexed

    def _repair(self, error: Exception) -> None:
        log.warning("the vector index in %s failed: %s: %s", self._folder.path, type(error).__name__, error)
        self._folder.set_aside()
        forget_indexes(self.table.database)
        self._opening = -1
        self._seen = self._generation = 0
        self._tail_ids, self._tail = self._tail_ids[:0], self._tail[:0]

    def _search_tail(self, query: Vector, count: int) -> list[tuple[int, float]]:
        if self._tail_ids.size and self._tail_ids[0] <= self._seen:
            kept = self._tail_ids > self._seen
            self._tail_ids, self._tail = self._tail_ids[kept], self._tail[kept]
        last = int(self._tail_ids[-1]) if self._tail_ids.size else self._seen
        ids, vectors = self.table.after(last)
        if ids:
            self._tail_ids = np.concatenate([self._tail_ids, np.array(ids, dtype=np.int64)])
            self._tail = np.concatenate([self._tail, vectors])
        cosines = self._tail @ query
        nearest = np.argsort(-cosines)[:count]
        return [(int(self._tail_ids[at]), float(cosines[at])) for at in nearest]


def best_by_row(query: Vector, rows: list[int], vectors: Vectors) -> dict[int, float]:
    """row -> the highest cosine among its vectors; all of unit length."""
    best: dict[int, float] = {}
    if rows:
        for row, cosine in zip(rows, (vectors @ query).tolist(), strict=True):
            best[row] = max(cosine, best.get(row, -1.0))
    return best
