import math
import subprocess
import sys

import pandas as pd
import pytest
from carryforward.memory import Message, TokenCounter
from carryforward.memory.lab import POLICY_NAMES, Pricing, Reading, Transcript, compare, load_transcripts, replay
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_keepers import Everything, HeadAndLastTwo, RaisesAtTheThirdCall, WithLookup, call, parcels, result

COUNTER = TokenCounter(encoding="cl100k_base")
PRIMING = 3


@pytest.fixture
def run():
    return Transcript("parcels", parcels())


def tokens(messages):
    return PRIMING + sum(COUNTER.message(m) for m in messages)


def floored(messages):
    return (tokens(messages) - PRIMING) // 64 * 64


def test_demands_are_values_that_only_observations_told(run):
    found = {step: [(d.value, d.source, d.last_seen) for d in ds] for step, ds in Reading(run).demands.items()}
    assert found == {
        4: [("S_88231", 3, 3)],
        6: [("S_88232", 3, 3)],
        8: [("11250", 7, 7), ("12500", 5, 5)],
    }


def test_distance_is_counted_from_the_last_message_that_showed_the_value(run):
    demand = next(d for d in Reading(run).demands[8] if d.value == "12500")
    assert demand.distance == sum(COUNTER.message(m) for m in parcels()[6:8])


def test_full_history_is_the_unit_of_all_measures(run):
    got = replay(run, Everything, 100_000)
    contexts = [parcels()[:step] for step in (2, 4, 6, 8)]
    prompt = sum(map(tokens, contexts))
    cached = sum(map(floored, contexts[:-1]))
    assert got.prompt_tokens == prompt
    assert got.cached_share == cached / prompt
    assert got.uncached_tokens == prompt - cached
    assert got.price == prompt - cached + 0.1 * cached
    assert (got.survival, got.price_index, got.valid, got.within_budget) == (1, 1, 1, 1)
    assert (got.steps, got.demands, got.demands_far, got.compactions, got.summary_calls) == (4, 4, 0, 0, 0)
    assert math.isnan(got.survival_far)
    assert got.error is None


def test_each_measure_of_a_policy_that_forgets(run):
    m = parcels()
    contexts = [m[:2], m[:4], [*m[:2], *m[4:6]], [*m[:2], *m[6:8]]]
    sizes = [tokens(context) for context in contexts]
    got = replay(run, HeadAndLastTwo, sorted(sizes)[2])
    cached = 3 * floored(m[:2])
    full = replay(run, Everything, 100_000)
    assert [record.prompt_tokens for record in got.records] == sizes
    assert got.survival == 2 / 4  # lost: S_88232 at message 6, 12500 at message 8
    assert [d.value for record in got.records for d in record.missed] == ["S_88232", "12500"]
    assert got.reachable == got.survival
    assert got.cached_share == cached / sum(sizes)
    assert got.price_index == (sum(sizes) - 0.9 * cached) / full.price
    assert got.within_budget == 3 / 4
    assert got.valid == 1
    assert got.compactions == 2  # the contexts of messages 6 and 8 do not continue the one before
    assert (got.demands_by_distance[0], got.kept_by_distance[0]) == (4, 2)


def test_a_bill_adds_up_calls_by_the_cache_of_the_provider(run):
    got = replay(run, Everything, 100_000)
    contexts = [parcels()[:step] for step in (2, 4, 6, 8)]
    replies = sum(COUNTER.message(parcels()[step]) for step in (2, 4, 6, 8))
    prompt, cached = sum(map(tokens, contexts)), sum(map(floored, contexts[:-1]))
    pricing = Pricing("p", input=3.0, cached=1.0, output=7.0)
    assert got.dollars(pricing) == pytest.approx((3 * (prompt - cached) + cached + 7 * replies) / 1e6)
    coarse = Pricing("never", input=3.0, cached=1.0, output=0.0, minimum=100_000)
    assert got.dollars(coarse) == pytest.approx(3 * prompt / 1e6)
    with pytest.raises(ValueError, match=r"'gpt-9' is no Pricing: give PROVIDERS.*gpt-4.1"):
        got.dollars("gpt-9")


def test_reachable_counts_what_a_look_up_of_a_visible_ref_brings_back(run):
    got = replay(run, WithLookup, 100_000)
    assert (got.survival, got.reachable) == (2 / 4, 4 / 4)


class WithBrokenLookup(WithLookup):
    def lookup(self, ref):
        raise RuntimeError("no store")


def test_a_look_up_that_raises_ends_its_replay_only(run):
    table = compare([run], {"broken": WithBrokenLookup, "default": "tiered"}, [100_000])
    assert "RuntimeError: no store" in table["error"][0]
    assert pd.isna(table["error"][1])


def test_far_demands_are_those_seen_4000_tokens_back():
    filler = " word" * 4100
    run = Transcript(
        "far",
        [
            Message("user", "Go."),
            call("a", "list", "{}"),
            result("a", "near_1 and far_12345"),
            call("b", "read", "{}"),
            result("b", filler),
            call("c", "read", '{"id": "far_12345"}'),
            result("c", "done"),
        ],
    )
    got = replay(run, lambda budget: HeadAndLastTwo(budget), 100_000)
    assert (got.demands, got.demands_far, got.survival, got.survival_far) == (1, 1, 0, 0)
    assert replay(run, Everything, 100_000).survival_far == 1
    assert got.demands_by_distance == (0, 0, 0, 1, 0, 0, 0)


class Broken(Everything):
    def context(self):
        return self.spoil(list(self.messages))

    def spoil(self, context):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda context: [], "empty"),
        (lambda context: context[:1] + context[2:], "no user message"),
        (lambda context: [*context[:1], {"role": "user", "content": "Go on."}, *context[2:]], "task is gone"),
        (lambda context: [{**m, "content": m["content"] and m["content"][:9]} for m in context], "task is gone"),
        (lambda context: context[:2] + context[3:], "without its call"),
        (lambda context: [m for m in context if m["role"] != "tool"], "without a result"),
        (lambda context: context + context[-1:], "second result"),
        (lambda context: [*context, {"role": "robot", "content": "x"}], "robot"),
        (lambda context: [*context, {"role": "user", "content": None}], "without content"),
        (lambda context: None, "empty"),
        (lambda context: [*context, "words"], "role"),
    ],
)
def test_a_context_that_no_server_takes_is_not_valid(run, spoil, fault):
    class Spoiled(Broken):
        def spoil(self, context):
            return spoil(context) if len(context) == 6 else context

    got = replay(run, Spoiled, 100_000)
    assert got.valid == 3 / 4
    assert any(fault in text for text in got.records[2].faults)


def test_a_task_may_be_shortened_only_with_a_mark():
    task = "Count the parcels of depot D_0001, shelf by shelf. " * 40
    run = Transcript("long", [Message("user", task), Message("assistant", "One."), Message("assistant", "Two.")])

    def shortened(mark):
        class Shortened(Everything):
            def context(self):
                return [{"role": "user", "content": task[:400] + mark}, *super().context()[1:]]

        return replay(run, Shortened, 1000)

    assert shortened(" [task shortened]").valid == 1
    silent = shortened("")
    assert silent.valid == 0
    assert "cut without a mark" in silent.records[0].faults[0]


def test_what_a_policy_raises_ends_its_replay_only(run):
    got = replay(run, RaisesAtTheThirdCall, 100_000)
    assert got.error == "at message 6, call 3: RuntimeError: no more room"
    assert len(got.records) == 2
    assert (got.steps, got.valid, got.survival) == (4, 2 / 4, 1 / 4)
    assert got.price_index == 1  # of the two calls that were made


def test_a_budget_below_the_system_prompt_is_said_in_the_row(run):
    got = replay(run, "tiered", 50)
    assert got.error is not None
    assert "BudgetError" in got.error


WRONG = ["no-such", "keep-last:many", "keep-last:size=3", "keep-all:3", "keep-last:1.5", "mask:-1"]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_policy_is_named(run, name):
    with pytest.raises(ValueError, match=name.partition(":")[0]):
        replay(run, name, 1000)


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (Everything(1000), "give the class or a function that makes one, not an instance"),
        (5, "5 is no policy"),
        (None, "None is no policy"),
    ],
)
def test_what_is_no_policy_is_said(run, policy, says):
    with pytest.raises(ValueError, match=says):
        replay(run, policy, 1000)


def test_what_is_no_run_or_no_budget_is_said(run):
    with pytest.raises(ValueError, match="takes one run, not a list: give one of them, as runs\\[0\\]"):
        replay([run], "tiered", 1000)
    with pytest.raises(ValueError, match=r"load_transcripts\('a.jsonl'\)"):
        replay("a.jsonl", "tiered", 1000)
    for budget in ("1000", 1000.5, None):
        with pytest.raises(ValueError, match="no whole number of tokens"):
            replay(run, "tiered", budget)


def test_a_replay_is_written_short(run):
    assert len(repr(replay(run, Everything, 1000))) < 1000


@pytest.mark.parametrize("messages", [[], [Message("user", "Go.")], [Message("assistant", "Hi.")]])
def test_runs_with_nothing_to_measure(messages):
    got = replay(Transcript("small", messages), "tiered", 1000)
    assert got.steps == 0
    assert math.isnan(got.survival)
    assert got.error is None


CALLED = st.sampled_from(["id_10001", "id_10002", "12,345.5", "/a/b.py", "text"])


@st.composite
def runs(draw):
    messages = [Message("system", "Rules. " * draw(st.integers(0, 30))), Message("user", "Do it with id_10001.")]
    for step in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            messages += [call(f"c{step}", "get", f'{{"id": "{draw(CALLED)}"}}'), result(f"c{step}", draw(CALLED))]
        else:
            messages += [Message("assistant", draw(CALLED)), Message("user", draw(CALLED))]
    return Transcript("made", messages)


@settings(max_examples=60, deadline=None)
@given(runs(), st.integers(1, 5000))
def test_full_history_loses_nothing_at_price_one(run, budget):
    got = replay(run, Everything, budget)
    if got.demands:
        assert got.survival == got.reachable == 1
    if got.steps:
        assert (got.valid, got.price_index, got.compactions) == (1, 1, 0)


@settings(max_examples=25, deadline=None)
@given(st.lists(runs(), min_size=1, max_size=3), st.randoms())
def test_rows_do_not_depend_on_what_else_is_compared(transcripts, random):
    policies = [Everything, HeadAndLastTwo, "tiered"]
    shuffled = random.sample(policies, len(policies))
    left = compare(transcripts, policies, [500, 2000]).drop(columns="seconds")
    right = compare(transcripts, shuffled, [2000, 500]).drop(columns="seconds")
    rows = [{str(row) for row in frame.to_dict("records")} for frame in (left, right)]
    assert rows[0] == rows[1]


def test_real_runs_keep_everything_in_full_history(sample):
    for transcript in load_transcripts(sample / "tau2-retail.jsonl.gz", sample / "swe-agent-demos.jsonl.gz"):
        got = replay(transcript, Everything, 4000)
        assert (got.survival, got.price_index, got.valid) == (1, 1, 1) or not got.demands


def test_our_policies_stay_valid_and_within_the_budget_on_real_runs(sample):
    transcript = load_transcripts(sample / "mini-swe-agent.jsonl.gz")[0]
    assert len(transcript.steps) > 60
    reading = Reading(transcript)
    for policy in ("keep-last", "keep-ends", "mask", "fold", "clamp", "tiered"):
        got = replay(reading, policy, 4000)
        assert (got.valid, got.within_budget, got.error) == (1, 1, None), policy


def test_the_lab_loads_no_tables_or_plots_before_they_are_asked_for():
    program = (
        "import sys; from carryforward.memory.lab import Transcript, replay;"
        "replay(Transcript('t', []), 'tiered', 1000);"
        "print([name for name in ('pandas', 'matplotlib', 'pyarrow', 'torch', 'chromadb') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def steps(number):
    for i in range(number):
        yield from [call(f"c{i}", "get", f'{{"id": "id_{10000 + i}"}}'), result(f"c{i}", f"the next is id_{10001 + i}")]


BAD_RUNS = {
    "no observations": [Message("user", "Think of id_10001."), *[Message("assistant", "id_10001 it is.")] * 5],
    "no task": [Message("system", "Rules."), *steps(5)],
    "no task and no rules": [*steps(5)],
    "a result without its call": [Message("user", "Go."), *list(steps(5))[1:]],
    "a call without its result": [Message("user", "Go."), *list(steps(5))[:4], *list(steps(9))[10:]],
    "two results of a call": [Message("user", "Go."), *steps(2), result("c1", "again id_10002"), *list(steps(5))[4:]],
    "an empty observation": [Message("user", "Go."), *steps(2), call("x", "get", "{}"), result("x", ""), *steps(2)],
    "empty": [],
}


@pytest.mark.parametrize("messages", BAD_RUNS.values(), ids=BAD_RUNS.keys())
@pytest.mark.parametrize("budget", [200, 4000])
def test_runs_with_faults_are_measured_like_others(messages, budget):
    run = Transcript("bad", messages)
    for policy in POLICY_NAMES:
        got = replay(run, policy, budget)
        assert got.error is None
        assert got.steps == len(run.steps)
        if got.steps:
            assert (got.valid, got.within_budget) == (1, 1)
            assert got.explain(run.steps[-1])
        assert got.timeline().get_title()
        assert len(got.frame()) == got.steps


class RaisesAtTheNinetiethCall(Everything):
    calls = 0

    def context(self):
        self.calls += 1
        if self.calls == 90:
            raise KeyError("no room left")
        return super().context()


def test_a_policy_that_raises_late_keeps_what_it_did_till_then():
    run = Transcript("long", [Message("user", "Go."), *steps(120)])
    table = compare([run], [RaisesAtTheNinetiethCall, "tiered"], [4000])
    raised, whole = table.to_dict("records")
    assert raised["error"] == "at message 179, call 90: KeyError: 'no room left'"
    assert raised["valid"] == 89 / 120
    assert raised["survival"] == pytest.approx(88 / 119)  # the first call had nothing to know
    assert not isinstance(whole["error"], str)
    assert whole["valid"] == 1
