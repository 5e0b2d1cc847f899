"""Keeping a memory small, and its vectors those of one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from .embedders import Embedder
from .errors import NamespaceError
from .opened import OpenedMemory
from .outcome import Outcome
from .parts import BATCH, embed_outcomes
from .retention import beyond, moment
from .vector_table import Space


class Upkeep(OpenedMemory):
    """The part of `LongTermMemory` that forgets and embeds anew."""

    def forget(
        self,
        id: str | None = None,
        *,
        older_than: timedelta | datetime | None = None,
        tag: str | None = None,
        namespace: str | None = None,
    ) -> int:
        """Delete one outcome by id, or all that are older and have the tag; how many were deleted.

        `namespace` empties this memory's namespace, and must be its name: a wall is not forgotten across.

        Raises:
            NamespaceError: `namespace` is another one.
            ValueError: nothing was named.
        """
        if namespace not in (None, self.namespace):
            raise NamespaceError(f"this memory is {self.namespace!r}; open {namespace!r} to forget it")
        if id is not None:
            return self._backend.delete([id])
        if older_than is None and tag is None and namespace is None:
            raise ValueError("say what to forget: an id, older_than=, tag= or namespace=")
        limit = moment(older_than)
        tags = () if tag is None else (tag,)
        doomed = [o.id for o in self.outcomes(tags=tags) if limit is None or o.finished_at < limit]
        return self._backend.delete(doomed)

    def retain(
        self,
        *,
        newest: int | None = None,
        within: timedelta | datetime | None = None,
        per_goal: int | None = None,
        keep_status: Sequence[str] = (),
        keep_tags: Sequence[str] = (),
        dry_run: bool = False,
    ) -> list[str]:
        """Forget what goes beyond any of the limits; the ids of what was forgotten, the oldest first.

        Args:
            newest: so many outcomes stay at most, the newest.
            within: what was finished earlier goes: an age, or a moment.
            per_goal: so many of the same goal stay at most, the newest; what succeeded and what did not are counted
                apart.
            keep_status, keep_tags: what has one of these statuses or tags stays, and is not counted.
            dry_run: forget nothing, only tell what would be.

        Raises:
            ValueError: no limit was named, or one is negative.
            OutcomeError: an unknown status.
        """
        self._backend.sync()
        gone = beyond(
            self._store,
            newest=newest,
            since=moment(within),
            per_goal=per_goal,
            keep_status=keep_status,
            keep_tags=keep_tags,
        )
        if not dry_run:
            self._backend.delete(gone)
        return gone

    def reindex(
        self, embedder: Embedder, *, progress: Callable[[int, int], None] | None = None, drop_old: bool = False
    ) -> int:
        """Embed every outcome with another model, then use it; how many were embedded.

        The old index serves until the new one is whole. Stopped and called again, it goes on where it was.

        Args:
            progress: called with (done, total).
            drop_old: delete the vectors of all other models at the end; other processes may still use them.
        """
        self._backend.sync()
        index = self._backend.index(Space.of(self.namespace, embedder))
        missing = index.missing()
        done = 0
        for at in range(0, len(missing), BATCH):
            bodies = self._store.bodies_of(missing[at : at + BATCH])
            vectors = embed_outcomes(embedder, [Outcome.from_json(body) for body in bodies.values()])
            index.add(dict(zip(bodies, vectors, strict=True)))
            done += len(bodies)
            if progress is not None:
                progress(done, len(missing))
        self._opened_index, self.embedder = index, embedder
        if drop_old:
            for other in index.others():
                self._backend.index(other).drop()
        return done
