"""A seeded generator of hard histories, and what is wrong with a context: for tests, soak, and comparing peers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from carryforward.memory import BudgetError, Message, TokenCounter
from carryforward.memory.rules import broken

Messages = list[dict[str, Any]]
COUNTER = TokenCounter(encoding="cl100k_base")
BUDGETS = (300, 500, 2000, 8000)
KINDS = ("parallel", "giant", "one user", "big task", "big call", "empty", "orphans", "chat", "chinese", "no spaces")
MARKS = ("…", "...", "shortened", "truncated", "omitted", "trimmed")
TASK_START = 60  # characters of the task that must be left when it is cut, and its mark is there

_UNITS = {
    "prose": "The survey measured a height of 41.5 metres in the year of the report. ",
    "json": '{"id": 90210, "value": 3.75, "ok": true},\n',
    "code": "    def method_17(self, x, y=3):\n        return self.table[x] + y\n",
    "chinese": "我们需要查询订单编号并确认退款金额，天气今天晴朗。",
    "no spaces": "Zm9vYmFyQmF6UXV4MDEyMzQ1Njc4OS",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A history of one kind, and the budget it is to be fitted into."""

    kind: str
    budget: int
    messages: Messages

    @property
    def task(self) -> str:
        return next(m["content"] for m in self.messages if m["role"] == "user")


def cases(seed: int, count: int, *, giant: int = 20_000, first: int = 0) -> Iterator[Case]:
    """`count` cases from number `first` on; the largest observations take about `giant` tokens."""
    for number in range(first, first + count):
        r = random.Random(f"{seed}/{number}")
        kind = KINDS[number % len(KINDS)]
        budget = r.choice(BUDGETS)
        yield Case(kind, budget, _history(r, kind, budget, giant))


def _text(r: random.Random, tokens: int, kind: str | None = None) -> str:
    unit = _UNITS[kind or r.choice(list(_UNITS))]
    per_unit = COUNTER.count(unit)
    return unit * max(1, tokens // per_unit) + str(r.randrange(10**6))


def _history(r: random.Random, kind: str, budget: int, giant: int) -> Messages:
    script = kind if kind in _UNITS else None
    out: Messages = []
    if r.random() < 0.6:
        out.append({"role": "system", "content": _text(r, r.randrange(10, 60), script)})
    task = int(budget * r.uniform(1.05, 3)) if kind == "big task" else r.randrange(10, 100)
    out.append({"role": "user", "content": _text(r, task, script)})
    for number in range(r.randrange(2, 30 if kind == "one user" else 12)):
        if kind == "chat" and r.random() < 0.6:
            out.append({"role": "assistant", "content": _text(r, _size(r))})
            out += [{"role": "user", "content": _text(r, _size(r))} for _ in range(r.choice((1, 1, 2)))]
            continue
        sizes = [_size(r) for _ in range(r.randrange(2, 9) if kind == "parallel" else 1)]
        argument = int(budget * r.uniform(0.5, 2)) if kind == "big call" and r.random() < 0.3 else 15
        out += _block(r, number, sizes, argument, script)
    if kind == "giant":
        out += _block(r, 99, [giant, *([_size(r)] * r.choice((0, 2)))], 15, script)
    if kind == "empty":
        for m in out[2:]:
            if r.random() < 0.5:
                m["content"] = r.choice(("", None)) if m["role"] == "assistant" else ""
    if kind == "orphans":
        _break_pairs(r, out)
    return out


def _size(r: random.Random) -> int:
    return int(20 * 2 ** (r.random() * 6))


def _block(r: random.Random, number: int, sizes: list[int], argument: int, script: str | None) -> Messages:
    calls = [
        {
            "id": f"c{number}_{at}",
            "type": "function",
            "function": {"name": "search", "arguments": json.dumps({"q": _text(r, argument, script)})},
        }
        for at in range(len(sizes))
    ]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": _text(r, size, script)}
        for call, size in zip(calls, sizes, strict=True)
    ]
    r.shuffle(results)
    return [{"role": "assistant", "content": r.choice(("", "Let me look.")), "tool_calls": calls}, *results]


def _break_pairs(r: random.Random, out: Messages) -> None:
    first = next(at for at, m in enumerate(out) if m["role"] == "user") + 1
    for _ in range(r.randrange(1, 4)):
        results = [at for at, m in enumerate(out) if m["role"] == "tool"]
        what = r.choice(("ghost", "wrong id", "lost", "double", "late"))
        if what == "ghost" or not results:
            ghost = {"role": "tool", "tool_call_id": f"ghost{r.randrange(99)}", "content": "boo"}
            out.insert(r.randrange(first, len(out) + 1), ghost)
            continue
        at = r.choice(results)
        if what == "wrong id":
            out[at]["tool_call_id"] = "nobody"
        elif what == "double":
            out.insert(at + 1, dict(out[at]))
        else:
            late = out.pop(at)
            if what == "late":
                out += [{"role": "user", "content": "go on"}, late]


def faults(context: Messages, case: Case) -> set[str]:
    """What is wrong with a context: kinds of faults, empty for a good one."""
    try:
        shown = [Message.from_dict(m) for m in context]
    except (ValueError, KeyError, TypeError):
        return {"unreadable"}
    found = {"invalid list"} if broken(shown) or not shown else set[str]()
    if COUNTER.messages(shown) > case.budget:
        found.add("over budget")
    texts = [m.text for m in shown if m.role in ("user", "system")]
    if not any(case.task in text for text in texts):
        cut = [text for text in texts if case.task[:TASK_START] in text]
        if not cut:
            found.add("task lost")
        elif not any(mark in text for text in cut for mark in MARKS):
            found.add("task cut silently")
    return found


def run_case(case: Case, make: Callable[[int], Any]) -> set[str]:
    """The faults of all contexts of a case, one before every assistant turn and one at the end."""
    found: set[str] = set()
    memory = make(case.budget)
    task_seen = False
    for m in [*case.messages, None]:
        if task_seen and (m is None or m["role"] == "assistant"):
            try:
                found |= faults(memory.context(), case)
            except BudgetError:
                if not _system_fills(case):
                    found.add("refused")
        if m is not None:
            memory.add(dict(m))
            task_seen = task_seen or m["role"] == "user"
    return found


def _system_fills(case: Case) -> bool:
    return COUNTER.messages(m for m in case.messages if m["role"] == "system") + 110 > case.budget
