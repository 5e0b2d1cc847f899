"""Which outcomes the limits of retention let go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from .filters import matching
from .outcome import now
from .store import RecordStore


def moment(limit: timedelta | datetime | None) -> datetime | None:
    """A limit in time as a moment: so long ago, or itself; without a zone it is local time."""
    if isinstance(limit, timedelta):
        return now() - limit
    return limit.astimezone() if limit is not None and limit.tzinfo is None else limit


def beyond(
    store: RecordStore,
    *,
    newest: int | None,
    since: datetime | None,
    per_goal: int | None,
    keep_status: Iterable[str],
    keep_tags: Iterable[str],
) -> list[str]:
    """Ids of the records that at least one limit lets go and no exception keeps, the oldest first.

    What an exception keeps is not counted by the limits. Of one goal, what succeeded and what did not are counted
    apart, as `recall` shows them apart.

    Raises:
        ValueError: no limit was named, or one is negative.
        OutcomeError: an unknown status.
    """
    if (newest, since, per_goal) == (None, None, None) or min(newest or 0, per_goal or 0) < 0:
        raise ValueError("say what may stay: newest=, within= or per_goal=, none of them negative")
    kept: set[int] = set()
    for status in keep_status:
        kept |= matching(store, status, (), None) or set()
    for tag in keep_tags:
        kept |= matching(store, None, (tag,), None) or set()
    found = [record for record in store.stored(store.rows()) if record.row not in kept]
    found.sort(key=lambda record: (record.finished_at, record.row), reverse=True)
    of_goal: Counter[tuple[str, bool]] = Counter()
    gone: list[str] = []
    staying = 0
    for record in found:
        goal = (record.goal_key or record.text_key, record.succeeded)
        too_old = since is not None and record.finished_at < since.timestamp()
        repeated = per_goal is not None and of_goal[goal] >= per_goal
        too_many = newest is not None and staying >= newest
        if too_old or repeated or too_many:
            gone.append(record.id)
        else:
            of_goal[goal] += 1
            staying += 1
    return gone[::-1]
