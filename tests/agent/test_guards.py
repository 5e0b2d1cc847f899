"""Guards: what is a loop, what is none, when a limit is reached, which results may be used again."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from carryforward.agent.guards import Limits, LoopGuard, ReadCache, Spent, looks_empty, looks_like_error
from hypothesis import given
from hypothesis import strategies as st

Call = tuple[str, dict[str, Any], str]


def turns_until(calls: Any, *, stop: bool, at_most: int = 100) -> int | None:
    """After how many turns of one call each the guard warns (or stops), if it does."""
    guard = LoopGuard()
    for count, call in enumerate(itertools.islice(calls, at_most), 1):
        found = guard.turn([call])
        if found is not None and found.stop == stop:
            return count
    return None


SAME: Call = ("read_file", {"path": "a.txt"}, "same text")
THREE: list[Call] = [
    ("read_file", {"path": "m.py"}, "t"),
    ("save_note", {"title": "t", "body": "same"}, "error: no match"),
    ("python", {"code": "run()"}, "1 failed"),
]


@pytest.mark.parametrize(
    ("cycle", "warned", "stopped"),
    [([SAME], 3, 5), (THREE[:2], 6, 10), (THREE, 9, 15)],
    ids=["one call", "cycle of two", "cycle of three"],
)
def test_circles_are_warned_about_in_the_third_round_and_stopped_in_the_fifth(
    cycle: list[Call], warned: int, stopped: int
) -> None:
    assert turns_until(itertools.cycle(cycle), stop=False) == warned
    assert turns_until(itertools.cycle(cycle), stop=True) == stopped


def test_the_warning_comes_once_for_each_loop() -> None:
    guard = LoopGuard()
    said = [guard.turn([call]) for call in [SAME] * 4 + [("read_file", {"path": "b"}, "other")] + [SAME] * 2]
    assert [bool(one) for one in said] == [False, False, True, False, False, False, True]


def test_other_arguments_with_an_equal_result_are_no_loop() -> None:
    calls = (("attach", {"file": f"{n}.txt"}, "true") for n in itertools.count())
    assert turns_until(calls, stop=False) is None


def test_polling_something_that_changes_is_no_loop() -> None:
    calls = (("status", {}, f"{n} % done") for n in range(100))
    assert turns_until(calls, stop=False) is None


def test_key_order_and_white_space_make_no_other_call() -> None:
    spelled = [{"a": "x  y", "b": 1}, {"b": 1, "a": "x y"}, {"b": 1, "a": "x\ny"}]
    assert turns_until((("f", arguments, "r") for arguments in itertools.cycle(spelled)), stop=True) == 5


def test_an_error_with_other_figures_is_the_same_error() -> None:
    calls = (("fetch", {"url": "u"}, f"Error: timed out after 1.{n} s") for n in range(20))
    assert turns_until(calls, stop=True) == 5


def test_a_long_result_is_told_from_one_that_differs_at_its_end() -> None:
    calls = (("read_file", {"path": "big"}, "data " * 3000 + str(n)) for n in range(10))
    assert turns_until(calls, stop=False) is None


@given(st.lists(st.integers(0, 4), min_size=60, max_size=60))
def test_any_wandering_among_few_known_calls_is_stopped(choices: list[int]) -> None:
    stopped = turns_until(((f"tool{n}", {}, "r") for n in choices), stop=True)
    warned = turns_until(((f"tool{n}", {}, "r") for n in choices), stop=False)
    assert stopped is not None and warned is not None and warned < stopped


@given(st.lists(st.integers(0, 30), max_size=60))
def test_a_run_is_stopped_only_after_four_turns_in_a_row_that_are_not_new(choices: list[int]) -> None:
    guard, seen, known_in_a_row = LoopGuard(), set[int](), 0
    for n in choices:
        known_in_a_row = known_in_a_row + 1 if n in seen else 0
        seen.add(n)
        found = guard.turn([("f", {"n": n}, "r")])
        if found is not None:
            assert found.turns == known_in_a_row >= (4 if found.stop else 2)


def test_limits_name_the_one_that_is_used_up() -> None:
    limits = Limits(steps=3, tokens=100, cost=0.5, seconds=10)
    assert limits.reached(Spent(steps=2, prompt_tokens=50, completion_tokens=49, cost=0.4, seconds=9)) is None
    assert limits.reached(Spent(steps=3)) == "steps"
    assert limits.reached(Spent(prompt_tokens=60, completion_tokens=40)) == "tokens"
    assert limits.reached(Spent(cost=0.5)) == "cost"
    assert limits.reached(Spent(seconds=10.5)) == "seconds"
    assert Limits(steps=None).reached(Spent(steps=10**6)) is None


@pytest.mark.parametrize("limit", [{"steps": 0}, {"tokens": -1}, {"cost": float("nan")}])
def test_a_limit_that_lets_nothing_happen_is_refused(limit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(limit))):
        Limits(**limit)


class CachedTool:
    """Calls through a ReadCache as a run does, and counts what is really run."""

    def __init__(self, results: Any) -> None:
        self.now = 0.0
        self.cache, self.results, self.runs = ReadCache(lasts=60, clock=lambda: self.now), iter(results), 0

    def __call__(self, name: str, **arguments: Any) -> str:
        kept = self.cache.get(name, arguments)
        if kept is None:
            self.runs += 1
            kept = next(self.results)
            self.cache.put(name, arguments, kept)
        self.cache.called(name, arguments)
        return kept


def test_an_equal_read_later_in_the_run_is_not_run_again() -> None:
    call = CachedTool(["one", "two"])
    assert [call("search", q="x"), call("search", q="y"), call("search", q="x")] == ["one", "two", "one"]
    assert call.runs == 2


def test_a_read_on_end_is_run_again_since_the_model_may_be_polling() -> None:
    call = CachedTool(["running", "running", "done"])
    assert [call("status", job="7") for _ in range(3)] == ["running", "running", "done"]


def test_a_call_without_arguments_asks_how_things_stand_now() -> None:
    call = CachedTool(["9:00", "other", "9:01"])
    assert [call("clock"), call("read", p="a"), call("clock")] == ["9:00", "other", "9:01"]


def test_a_tool_seen_to_change_is_not_kept_any_more() -> None:
    call = CachedTool(["1", "2", "other", "3"])
    assert [call("clock", z="a"), call("clock", z="a"), call("read", p="a"), call("clock", z="a")][-1] == "3"


def test_what_is_old_is_read_again() -> None:
    call = CachedTool(["old", "other", "new"])
    call("read", p="a"), call("read", p="b")
    call.now = 61.0
    assert call("read", p="a") == "new"


def test_nothing_kept_survives_a_change() -> None:
    call = CachedTool(["old", "other", "new"])
    call("read", p="a"), call("read", p="b")
    call.cache.forget()
    assert call("read", p="a") == "new"


@pytest.mark.parametrize(
    "text",
    [
        "Error: no file",
        "  error - x",
        "Traceback (most recent call last):",
        "TypeError: x",
        "错误：没有",
        "**Failed**",
        "404 Not Found",
        "HTTP 500",
        "Could not open the file",
        '{"error": "boom"}',
        '{"id": 3, "status": "error", "message": "x"}',
        '{"success": false, "reason": "x"}',
    ],
)
def test_errors_are_known_by_their_beginning(text: str) -> None:
    assert looks_like_error(text)


@pytest.mark.parametrize(
    "text",
    [
        "The error rate is 2 %",
        "12 m",
        "无锡市",
        "Height: 8848.86 m",
        "Errors in 2020 fell by 3 %",
        '{"error": null, "progress": 30}',
        '{"errors": [], "progress": 30}',
        '{"status": "ok", "count": 0}',
        "500 m",
        "No results of the election are known before 8 p.m.",
        "[0]",
    ],
)
def test_ordinary_text_is_no_error(text: str) -> None:
    assert not looks_like_error(text) and not looks_empty(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "[]",
        "{}",
        "null",
        "No results.",
        "无结果。",
        "没有找到相关结果。",
        "No results found for gull",
        '{"results": [], "total": 0}',
    ],
)
def test_nothing_said_is_empty(text: str) -> None:
    assert looks_empty(text)


def test_progress_beside_an_error_that_is_null_is_no_loop() -> None:
    guard = LoopGuard()
    assert all(guard.turn([("job", {}, f'{{"error": null, "progress": {n}}}')]) is None for n in range(20))
