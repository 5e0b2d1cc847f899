"""Shortening one observation."""

from __future__ import annotations

import json

from carryforward.memory import TokenCounter
from carryforward.memory.observations import clamp, digest
from hypothesis import given
from hypothesis import strategies as st

COUNTER = TokenCounter(encoding="cl100k_base")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=8),
    max_leaves=60,
)


@given(st.text(max_size=3000), st.integers(1, 400), st.text(max_size=80), st.text(max_size=200))
def test_clamped_text_fits_its_room(text: str, room: int, about: str, values: str) -> None:
    assert COUNTER.count(clamp(text, room, COUNTER, "m7", about=about, values=lambda *_: values)) <= room


@given(json_values, st.integers(60, 300))
def test_clamped_json_stays_parseable(value: object, room: int) -> None:
    text = json.dumps([value] * 30, ensure_ascii=False)
    shown = clamp(text, room, COUNTER, "m7")
    if shown != text and not shown.startswith("[shortened"):
        body = shown.rpartition("\n")[0]
        if body.startswith("["):
            json.loads(body)


def test_json_list_keeps_whole_elements_and_says_how_many_are_left() -> None:
    flights = [{"number": f"HAT{n:03d}", "price": 100 + n} for n in range(200)]
    shown = clamp(json.dumps(flights), 200, COUNTER, "m7")
    body = json.loads(shown.rpartition("\n")[0])
    assert body[0] == {"number": "HAT000", "price": 100}
    assert "more elements" in body[-1]


def test_rows_of_a_table_stay_whole() -> None:
    rows = [f"| station {n} | {n * 7} MW |" for n in range(400)]
    table = "\n".join(["| station | power |", "|---|---|", *rows])
    body = clamp(table, 200, COUNTER, "m7").split("\n")[:-1]
    assert body[0] == "| station | power |"
    assert set(body) <= {*table.split("\n"), "[…]"}
    assert rows[-1] in body


def test_lines_about_the_task_are_preferred() -> None:
    text = "\n".join(f"line {n} speaks of nothing in particular" for n in range(300))
    text = text.replace("line 150 speaks of nothing", "line 150: the harbour depth is noted, not")
    assert "harbour depth" in clamp(text, 200, COUNTER, "m7", about="How great is the harbour depth?")
    assert "harbour depth" not in clamp(text, 200, COUNTER, "m7")


def test_values_of_the_cut_part_come_first() -> None:
    shown = clamp("calm water\n" * 2000, 120, COUNTER, "m7", values=lambda room, shown: "depth 12.5 m")
    assert shown.startswith("depth 12.5 m\n")


def test_prose_has_the_room_that_the_values_leave() -> None:
    prose = "Nick Park directed the film together with Steve Box at the studio in Bristol. " * 40
    shown = clamp(prose, 200, COUNTER, "m7", values=lambda *_: "m7: founded 1972")
    assert COUNTER.count(shown) > 170


def test_digest_is_one_line_with_the_ref() -> None:
    line = digest("\n\n<output>\ntotal 712\n" + "x\n" * 500, 900, COUNTER, "m7")
    assert line == "[m7: 900 tokens, lookup m7] <output>"
