import math
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pickle import PicklingError

import pandas as pd
import pytest
from carryforward.memory import KeepLast, Tiered
from carryforward.memory.lab import (
    Transcript,
    compare,
    format_table,
    load_comparison,
    load_transcripts,
    pool,
    replay,
    save_comparison,
    summarize,
)
from lab_keepers import Everything, HeadAndLastTwo, KillsItsWorkerOnce, RaisesAtTheThirdCall, parcels
from pandas.testing import assert_frame_equal

POLICIES = ["tiered", KeepLast(steps=2), HeadAndLastTwo]
BUDGETS = [2000, 4000]


@pytest.fixture(scope="module")
def transcripts(sample):
    return list(load_transcripts(sample / "tau2-retail.jsonl.gz"))[:4]


@pytest.fixture(scope="module")
def table(transcripts):
    return compare(transcripts, POLICIES, BUDGETS)


def same(left, right):
    assert_frame_equal(left.drop(columns="seconds"), right.drop(columns="seconds"))


def test_one_row_for_each_transcript_policy_and_budget_in_order(table, transcripts):
    names = ["tiered", "KeepLast", "HeadAndLastTwo"]
    expected = [(t.id, n, b) for t in transcripts for n in names for b in BUDGETS]
    got = [(t, p.partition("(")[0], b) for t, p, b in table[["transcript", "policy", "budget"]].itertuples(index=False)]
    assert got == expected
    assert table.attrs["settings"]["budgets"] == BUDGETS


def test_the_same_inputs_give_the_same_table(table, transcripts):
    same(table, compare(iter(transcripts), POLICIES, BUDGETS))


def test_processes_give_the_same_table(table, transcripts):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        same(table, compare(transcripts, POLICIES, BUDGETS, executor))


def test_a_dask_cluster_gives_the_same_table(table, transcripts):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        same(table, compare(transcripts, POLICIES, BUDGETS, client.get_executor()))


def test_a_killed_worker_of_a_dask_cluster_changes_nothing(transcripts, tmp_path):
    distributed = pytest.importorskip("distributed")
    killer = KillsItsWorkerOnce(tmp_path / "killed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        got = compare(transcripts, {"all": killer, "tiered": "tiered"}, BUDGETS, client.get_executor())
    assert killer.marker.exists()
    same(got, compare(transcripts, {"all": Everything, "tiered": "tiered"}, BUDGETS))


def test_the_share_of_a_lost_worker_is_done_again(transcripts, tmp_path):
    killer = KillsItsWorkerOnce(tmp_path / "killed")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        got = compare(transcripts, {"all": killer}, BUDGETS, executor)
    assert killer.marker.exists()
    same(got, compare(transcripts, {"all": Everything}, BUDGETS))


class Recording(Executor):
    """Does the work at once, and records what it is given."""

    def __init__(self, works_for):
        self.left, self.given = works_for, []

    def submit(self, fn, /, *args, **kwargs):
        if not self.left:
            raise BrokenExecutor("the last worker is lost")
        self.left -= 1
        self.given.append(args[0].transcript.id)
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_the_largest_transcripts_are_handed_out_first(transcripts, table):
    executor = Recording(works_for=100)
    same(table, compare(transcripts, POLICIES, BUDGETS, executor))
    lengths = {t.id: len(t.steps) * sum(len(m.text) for m in t.messages) for t in transcripts}
    assert executor.given == sorted(lengths, key=lambda name: -lengths[name])


def test_a_long_stream_is_ended_here_when_the_executor_breaks():
    runs = [Transcript(f"run {i}", parcels()) for i in range(150)]
    got = compare(iter(runs), [Everything], [9000], Recording(works_for=3))
    assert got["transcript"].tolist() == [run.id for run in runs]


def test_a_policy_that_raises_is_said_in_its_rows_and_others_go_on():
    table = compare([Transcript("parcels", parcels())], [RaisesAtTheThirdCall, Everything], [9000])
    assert table["error"].tolist()[0].endswith("RuntimeError: no more room")
    assert table["error"].isna().tolist() == [False, True]
    none = compare([Transcript("parcels", parcels())], [Everything], [9000])
    assert none["error"].isna().all() and none["error"].dtype == table["error"].dtype
    assert table["survival"].tolist() == [1 / 4, 1]
    rows = pool(table.to_dict("records"))
    assert [row["errors"] for row in rows] == [1, 0]
    head, first, second = (line.split() for line in format_table(rows).splitlines())
    assert (head[-1], first[-1], second[-1]) == ("errors", "1", "0")
    assert "errors" not in format_table(rows[1:])


def test_progress_counts_contexts(transcripts):
    seen = []
    compare(transcripts, POLICIES, [4000], progress=lambda done, total: seen.append((done, total)))
    total = sum(len(t.steps) for t in transcripts) * len(POLICIES)
    assert seen[-1] == (total, total)
    assert len(seen) == len(transcripts) * len(POLICIES)  # each replay is told of as it ends
    handed_out = []
    compare(transcripts, POLICIES, [4000], Recording(100), progress=lambda *counts: handed_out.append(counts))
    assert handed_out[-1] == (total, total)
    assert len(handed_out) == len(transcripts)


def test_what_can_not_be_sent_to_a_worker_is_said_at_once(transcripts, caplog):
    spawned = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with spawned as executor, pytest.raises((PicklingError, AttributeError)) as error:
        compare(transcripts, {"mine": lambda budget: Everything(budget)}, [4000], executor)
    assert "policy mine can't be sent" in str(error.value)
    assert "a class or function of a module" in str(error.value)
    assert not caplog.records


def test_a_budget_given_twice_counts_once(transcripts):
    assert len(compare(transcripts[:1], [Everything], [4000, 2000, 4000])) == 2


def test_what_is_no_policy_is_said(transcripts):
    with pytest.raises(ValueError, match="3 is no policy"):
        compare(transcripts, [3], [4000])
    with pytest.raises(ValueError, match="give \\['tiered'\\]"):
        compare(transcripts, "tiered", [4000])


def test_settings_tell_all_of_a_policy(table):
    assert table.attrs["settings"]["policies"]["tiered"] == repr(Tiered())


def test_names_must_differ(transcripts):
    with pytest.raises(ValueError, match="called the same"):
        compare(transcripts, ["tiered", "tiered"], [4000])
    with pytest.raises(ValueError, match="unknown policy 'nothing'"):
        compare(transcripts, ["nothing"], [4000])


def test_parquet_keeps_table_and_settings(table, tmp_path):
    pytest.importorskip("pyarrow")
    save_comparison(table, tmp_path / "t.parquet")
    again = load_comparison(tmp_path / "t.parquet")
    assert_frame_equal(again, table)
    assert again.attrs["settings"] == table.attrs["settings"]


def test_what_is_no_saved_comparison_is_said(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.json").write_text("{}")
    with pytest.raises(ValueError, match=r"t.json holds no comparison: give a Parquet file"):
        load_comparison(tmp_path / "t.json")


def test_pooling_weighs_shares_by_what_they_are_shares_of():
    common = {"policy": "p", "budget": 1, "demands_by_distance": (1, 0), "kept_by_distance": (0, 0), "error": None}
    counts = {"prompt_tokens": 10, "uncached_tokens": 10, "compactions": 1, "summary_calls": 0, "seconds": 0.5}
    shares = {"reachable": 1.0, "valid": 1.0, "within_budget": 1.0, "cached_share": 0.0, "price_index": 1.0}
    few = {**common, **counts, **shares, "steps": 1, "demands": 1, "demands_far": 0, "full_price": 10.0}
    many = {**few, "demands": 3, "full_price": 30.0, "price_index": 0.2, "survival": 1.0, "survival_far": math.nan}
    [row] = pool([{**few, "survival": 0.0, "survival_far": math.nan}, many])
    assert row["survival"] == 3 / 4
    assert math.isnan(row["survival_far"])
    assert row["price_index"] == pytest.approx((1 * 10 + 0.2 * 30) / 40)
    assert (row["transcripts"], row["prompt_tokens"], row["demands_by_distance"]) == (2, 20, (2, 0))


def test_summary_has_a_row_for_each_policy_and_budget(table):
    assert len(summarize(table)) == len(POLICIES) * len(BUDGETS)


def test_plain_table():
    rows = [{"policy": "tiered", "steps": 12345, "survival": 0.5}, {"policy": "x", "steps": 7, "survival": math.nan}]
    assert format_table(rows, ["policy", "steps", "survival"]) == (
        "policy   steps  survival\ntiered  12,345     0.500\nx            7         -"
    )


@pytest.mark.parametrize(
    ("runs", "policies", "budgets", "says"),
    [
        ([], ["tiered"], [4000], "no runs"),
        (iter([]), ["tiered"], [4000], "no runs"),
        ("runs.jsonl", ["tiered"], [4000], "load_transcripts\\('runs.jsonl'\\)"),
        (Transcript("one", parcels()), ["tiered"], [4000], "give \\[run\\]"),
        ([parcels()], ["tiered"], [4000], "a list is no run.*from_messages"),
        ([Transcript("one", parcels())], [], [4000], "no policies.*tiered"),
        ([Transcript("one", parcels())], Tiered(), [4000], "must be a list or a dict"),
        ([Transcript("one", parcels())], ["tiered"], [], "no budgets"),
        ([Transcript("one", parcels())], ["tiered"], "4000", "'4000' is no whole number"),
        ([Transcript("one", parcels())], ["tiered"], ["4000"], "'4000' is no whole number"),
        ([Transcript("one", parcels())], ["tiered"], [4000, 0], "budget 0"),
    ],
)
def test_what_can_not_be_compared_is_said(runs, policies, budgets, says):
    with pytest.raises(ValueError, match=says):
        compare(runs, policies, budgets)


def test_one_budget_needs_no_list(transcripts):
    assert compare(transcripts[:1], [Everything], 4000)["budget"].tolist() == [4000]


def test_what_replays_share_changes_none_of_them(table, transcripts):
    alone = [replay(t, p, b).row() for t in transcripts for p in POLICIES for b in BUDGETS]
    same(table.drop(columns="policy"), pd.DataFrame(alone).astype({"error": "string"}).drop(columns="policy"))
