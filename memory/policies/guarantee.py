"""The guarantee: whatever a policy left, the context fits, is valid, and keeps system prompt and task.

Applied after every policy. In this order, and only as far as needed: the oldest steps leave; the newest step's
results are shortened, its call arguments, the last user message, the task; the newest step leaves. When even that
does not fit, system prompt and tool schemas alone are too large, and `BudgetError` says by how much.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from ..observations import clamp
from ..tokens import BudgetError, TokenCounter
from ..view import Line, View
from .keep import drop_oldest

TASK_TOKENS = 80  # what stays of a task that is cut: its first 40 tokens or more, the mark, framing
TASK_FREES = 0.25  # of the limit: left free by a task that is cut, or every next step would be over the limit again
_FLOORS = (200, 60, 24)  # tokens that a shortened message keeps, tried in turn
_FRAME = 8


def fit(view: View, limit: int, counter: TokenCounter) -> None:
    """Edit the view until it is at or under `limit` tokens.

    Raises:
        BudgetError: system prompt and tool schemas leave no room for the first words of the task.
    """
    if view.tokens <= limit:
        return
    drop_oldest(view, limit, keep=1)
    for floor in _FLOORS:
        for lines, shorten, goal in _targets(view, limit):
            _shrink(view, lines, goal, floor, lambda line, room, by=shorten: by(view, line, room, counter))
            if view.tokens <= limit:
                return
    drop_oldest(view, limit, keep=0)
    if view.tokens > limit:
        fixed = view.overhead + sum(line.tokens for line in view.lines.values() if view.is_opening(line))
        raise BudgetError(
            f"system prompt and tool schemas take {fixed:,} of {limit:,} tokens and leave no room for the task, which "
            f"takes {view.tokens - fixed:,} when cut to its beginning: {view.tokens - limit:,} tokens too many. "
            "Raise the budget or shorten them."
        )


Shorten = Callable[[View, Line, int, TokenCounter], None]


def _targets(view: View, limit: int) -> list[tuple[list[Line], Shorten, int]]:
    """What may be shortened, in order, and how far down the view is to go by that."""
    steps = view.steps()
    newest = steps[-1] if steps else []
    task = [view.lines[view.task]] if view.task in view.lines else []
    last = [view.lines[view.last_user]] if view.last_user in view.lines and view.last_user != view.task else []
    return [
        (newest[1:] or newest, _shorten_text, limit),
        (newest[:1], _shorten_call, limit),
        (last, _shorten_text, limit),
        (task, _shorten_task, int(limit * (1 - TASK_FREES))),
    ]


def _shrink(view: View, lines: Sequence[Line], limit: int, floor: int, shorten: Callable[[Line, int], None]) -> None:
    """Shorten the largest lines to one common size, as far as `limit` asks for, but not below `floor`."""
    over = view.tokens - limit
    sizes = sorted((line.tokens for line in lines), reverse=True)
    if over <= 0 or not sizes:
        return
    cap = floor
    for count in range(1, len(sizes) + 1):  # cutting the `count` largest to one size frees what is needed?
        size = (sum(sizes[:count]) - over) // count
        if size >= (sizes[count] if count < len(sizes) else 0):
            cap = max(floor, size)
            break
    for line in lines:
        if line.tokens > cap:
            shorten(line, cap)


def _shorten_text(view: View, line: Line, room: int, counter: TokenCounter) -> None:
    view.rewrite("shorten", line, clamp(line.message.outline, room - _FRAME, counter, line.ref))


def _shorten_task(view: View, line: Line, room: int, counter: TokenCounter) -> None:
    room = max(room, TASK_TOKENS)
    if line.tokens <= room:
        return
    text = line.message.outline
    mark = f"\n[task shortened, {counter.count(text)} tokens in all; read all with lookup {line.ref}]"
    view.rewrite("shorten", line, counter.truncate(text, room - _FRAME - counter.count(mark)) + mark)


def _shorten_call(view: View, line: Line, room: int, counter: TokenCounter) -> None:
    """Shorten what an assistant said and the arguments of its calls; they stay JSON objects."""
    calls = line.message.tool_calls
    if not calls:
        _shorten_text(view, line, room, counter)
        return
    said = line.message.text
    each = max(8, (room - _FRAME) // (len(calls) + 1) - 12)
    arguments = [_short_arguments(call.arguments, each, counter, line.ref) for call in calls]
    view.rewrite("shorten", line, clamp(said, each, counter, line.ref) if said else "", arguments)


def _short_arguments(arguments: str, room: int, counter: TokenCounter, ref: str) -> str:
    if counter.count(arguments) <= room:
        return arguments
    value = _parsed(arguments)
    if value is not None and room > 30 * len(value):
        each = room // max(1, len(value)) - 10
        short = {k: v if counter.count(str(v)) <= each else _mark(str(v), each, counter, ref) for k, v in value.items()}
        text = json.dumps(short, ensure_ascii=False)
        if counter.count(text) <= room:
            return text
    text = json.dumps({"…": _mark(arguments, room - 12, counter, ref)}, ensure_ascii=False)
    return text if counter.count(text) <= room else "{}"


def _mark(text: str, room: int, counter: TokenCounter, ref: str) -> str:
    mark = f"… (shortened, see {ref})"
    return counter.truncate(text, max(0, room - counter.count(mark))) + mark


def _parsed(arguments: str) -> dict[str, Any] | None:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None
