"""Generated message lists, messier than any server would accept: parallel calls, giant and empty texts, orphans,
late and double answers, text without spaces, Chinese, one user message or many."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

WORDS = [
    "price",
    "flight",
    "the",
    "report",
    "12.5",
    "id-4711",
    "/srv/app/main.py",
    "订单",
    "三百米",
    "€",
    "x" * 60,
    "\n",
]

short_texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
odd_texts = st.text(max_size=60)
long_texts = st.builds(
    lambda unit, times: unit * times,
    st.sampled_from(["value 3.5 kPa | ok\n", "0123456789", "潮汐表", "a"]),
    st.integers(1, 900),
)
texts = st.one_of(short_texts, odd_texts, long_texts)
contents = st.one_of(texts, st.none(), st.just(""))

Messages = list[dict[str, Any]]


@st.composite
def turns(draw: st.DrawFn, number: int) -> Messages:
    """A user turn, an assistant turn, or a block of calls with results that may be lost, doubled, late or strange."""
    kind = draw(st.sampled_from(["calls", "calls", "calls", "user", "assistant", "orphan"]))
    if kind == "user":
        return [{"role": "user", "content": draw(contents)}]
    if kind == "assistant":
        return [{"role": "assistant", "content": draw(contents)}]
    if kind == "orphan":
        return [{"role": "tool", "tool_call_id": draw(st.sampled_from(["ghost", "c0", ""])), "content": draw(texts)}]
    ids = [f"c{number}_{i}" for i in range(draw(st.integers(1, 5)))]
    calls = [
        {"id": i, "type": "function", "function": {"name": "search", "arguments": json.dumps({"q": draw(texts)})}}
        for i in ids
    ]
    answered = draw(st.lists(st.sampled_from(ids), max_size=len(ids) + 1))
    results = [{"role": "tool", "tool_call_id": i, "content": draw(contents)} for i in answered]
    return [{"role": "assistant", "content": draw(contents), "tool_calls": calls}, *results]


@st.composite
def histories(draw: st.DrawFn, most: int = 12) -> Messages:
    """A whole history: perhaps a system prompt, a task, and some turns."""
    out: Messages = []
    if draw(st.booleans()):
        out.append({"role": "system", "content": draw(short_texts) or "You help."})
    out.append({"role": "user", "content": draw(texts)})
    for number in range(draw(st.integers(0, most))):
        out += draw(turns(number))
    return out
