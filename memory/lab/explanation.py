"""Why a value survived or was missed: a replay's step in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .measures import StepRecord
from .reading import Demand, Reading, Seen
from .replayed import Replayed

KINDS: tuple[str, ...] = ("system", "task", "whole", "shortened", "added")
_NAMED = 12  # steps that an error names
_ALIKE = 24  # characters at the beginning by which a shortened text is known again


@dataclass(frozen=True, slots=True)
class Parts:
    """A context taken apart: indices of the messages it shows whole and shortened, and what it shows beside them."""

    whole: tuple[int, ...]
    shortened: tuple[int, ...]
    added: tuple[Seen, ...]
    tokens: dict[str, int]  # by `KINDS`


def parts(reading: Reading, record: StepRecord) -> Parts:
    """Match a context with the messages that had come in before it."""
    free = set(range(record.step))
    at: dict[Seen, list[int]] = {}
    for index in reversed(range(record.step)):
        at.setdefault(reading.originals[index], []).append(index)
    tokens: dict[str, int] = dict.fromkeys(KINDS, 0)
    whole: list[int] = []
    others: list[Seen] = []
    for seen in record.shown:
        if at.get(seen):
            whole.append(at[seen].pop())
            tokens[_kind(reading, whole[-1], "whole")] += seen.tokens
        else:
            others.append(seen)
    free -= set(whole)
    shortened: list[int] = []
    added: list[Seen] = []
    for seen in others:
        index = _original(reading, seen, free)
        if index is None:
            added.append(seen)
            tokens["added"] += seen.tokens
        else:
            free.discard(index)
            shortened.append(index)
            grown = max(0, seen.tokens - reading.originals[index].tokens) if index in reading.head else 0
            tokens[_kind(reading, index, "shortened")] += seen.tokens - grown
            tokens["added"] += grown  # what a policy carries forward may stand at the end of the task
    return Parts(tuple(whole), tuple(shortened), tuple(added), tokens)


def _kind(reading: Reading, index: int, otherwise: str) -> str:
    if index == reading.transcript.task_index:
        return "task"
    return "system" if index in reading.head else otherwise


def _original(reading: Reading, seen: Seen, free: Iterable[int]) -> int | None:
    """The message that a changed one stands for: it answers the same call, makes the same calls, or begins alike."""
    for index in sorted(free):
        original = reading.originals[index].message
        if original.role != seen.message.role:
            continue
        if seen.message.tool_call_id and seen.message.tool_call_id == original.tool_call_id:
            return index
        if seen.call_ids and seen.call_ids == reading.originals[index].call_ids:
            return index
        start = original.text[:_ALIKE]
        if start and not original.tool_call_id and seen.message.text.startswith(start):
            return index
    return None


def explain(replay: Replayed, step: int) -> str:
    """See `Replay.explain`."""
    at = next((i for i, record in enumerate(replay.records) if record.step == step), None)
    if at is None:
        raise ValueError(f"no record of step {step}: {_known(replay)}")
    record, reading = replay.records[at], replay.reading
    found = parts(reading, record)
    gone = sorted(set(range(step)) - set(found.whole) - set(found.shortened))
    out = [
        f"{replay.transcript}, policy {replay.policy}, budget {replay.budget}: call {at + 1}, message {step}.",
        f"The context has {_count(record.prompt_tokens, 'token')} ({reading.full_tokens(step)} in full), "
        f"{record.cached_tokens} of them from the cache.",
        f"Shown whole: {spans(found.whole)}. Changed: {spans(found.shortened)}. Left out: {spans(gone)}."
        + (f" Added by the policy: {_count(len(found.added), 'message')}." if found.added else ""),
        *(f"Not valid: {fault}." for fault in record.faults),
        *(
            []
            if record.within_budget
            else [f"Over the budget by {_count(record.prompt_tokens - replay.budget, 'token')}."]
        ),
        *_last_change(replay, at),
    ]
    demands = reading.demands.get(step, ())
    out.append(f"The agent used {_count(len(demands), 'value')} that only earlier messages could tell it.")
    out += [_told(replay, at, demand, found) for demand in demands]
    if replay.error is not None:
        out.append(f"The replay ended {replay.error}")
    return "\n".join(out)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _known(replay: Replayed) -> str:
    """The steps that there are records of, and why there are no more."""
    steps = [str(record.step) for record in replay.records]
    many = ", …" if len(steps) > _NAMED else ""
    known = f"the steps of this replay are {', '.join(steps[:_NAMED])}{many}" if steps else "this replay has no steps"
    return known if replay.error is None else f"{known}; it ended {replay.error}"


def _last_change(replay: Replayed, at: int) -> list[str]:
    changed = [i for i, record in enumerate(replay.records[: at + 1]) if record.rewritten]
    if not changed:
        return ["The context has only grown so far."]
    last = replay.records[changed[-1]]
    reasons = [f" ({text})" for decided in last.decided if (text := _reason(decided))]
    return [f"It was last rewritten for call {changed[-1] + 1}, message {last.step}{''.join(reasons)}."]


def _reason(decided: object) -> str:
    reason, before, after = (getattr(decided, name, None) for name in ("reason", "before", "after"))
    return "" if reason is None else f"{reason}: {before} to {after} tokens"


def _told(replay: Replayed, at: int, demand: Demand, found: Parts) -> str:
    record = replay.records[at]
    origin = f"  {demand.value}: last seen in message {demand.last_seen}, {_count(demand.distance, 'token')} back"
    if demand not in record.missed:
        holders = [seen for seen in record.shown if seen.holds(demand.value)]
        whole = {replay.reading.originals[index] for index in found.whole}
        return f"{origin}; shown" + ("." if any(s in whole for s in holders) else ", in what the policy wrote.")
    lost = _lost_at(replay, at, demand)
    after = "" if lost is None else f" since call {lost + 1}, message {replay.records[lost].step}"
    ways = "one look-up brings it back" if demand in record.reachable else "no look-up brings it back"
    return f"{origin}; MISSED: no longer shown{after}; {ways}."


def _lost_at(replay: Replayed, at: int, demand: Demand) -> int | None:
    """The first call, after the value was last seen, from which on no context showed it."""
    lost = None
    for i in range(at, -1, -1):
        record = replay.records[i]
        if record.step <= demand.last_seen or any(seen.holds(demand.value) for seen in record.shown):
            break
        lost = i
    return lost


def spans(indices: Sequence[int]) -> str:
    """Indices in few words: `0-3, 7`."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "none"
