"""Explanations and pictures."""

import pandas as pd
import pytest
from carryforward.memory.lab import (
    Transcript,
    compare,
    load_transcripts,
    plot_context,
    plot_frontier,
    plot_misses,
    plot_seconds,
    plot_survival,
    pool,
    replay,
    summarize,
)
from carryforward.memory.lab.explanation import parts, spans
from carryforward.memory.lab.frontier import frontier
from hypothesis import given
from hypothesis import strategies as st
from lab_keepers import Everything, HeadAndLastTwo, RaisesAtTheThirdCall, WithLookup, parcels


@pytest.fixture(scope="module")
def run():
    return Transcript("parcels", parcels())


@pytest.fixture(scope="module")
def real(sample):
    return load_transcripts(sample / "mini-swe-agent.jsonl.gz")[0]


def test_a_step_in_words(run):
    text = replay(run, HeadAndLastTwo, 9000).explain(6)
    assert "Shown whole: 0-1, 4-5. Changed: none. Left out: 2-3." in text
    assert "It was last rewritten for call 3, message 6." in text
    assert "S_88232: last seen in message 3" in text
    assert "MISSED: no longer shown since call 3, message 6; no look-up brings it back." in text


def test_what_a_look_up_brings_back_is_said(run):
    replayed = replay(run, WithLookup, 9000)
    assert "one look-up brings it back" in replayed.explain(6)
    assert "S_88231: last seen in message 3" in replayed.explain(4)
    assert "; shown." in replayed.explain(4)


def test_growth_is_said(run):
    assert "only grown so far" in replay(run, Everything, 9000).explain(8)


def test_a_step_without_a_record(run):
    with pytest.raises(ValueError, match="no record of step 3"):
        replay(run, Everything, 9000).explain(3)
    with pytest.raises(ValueError, match=r"steps of this replay are 2, 4, 6, 8$"):
        replay(run, Everything, 9000).explain(3)
    with pytest.raises(ValueError, match="this replay has no steps"):
        replay(Transcript("empty", []), Everything, 9000).explain(3)


def test_where_a_replay_ended_is_said(run):
    replayed = replay(run, RaisesAtTheThirdCall, 9000)
    end = "ended at message 6, call 3: RuntimeError: no more room"
    assert replayed.explain(4).endswith(f"The replay {end}")
    with pytest.raises(ValueError, match=f"no record of step 6: the steps of this replay are 2, 4; it {end}"):
        replayed.explain(6)


class AddsANote(Everything):
    def context(self):
        return [*super().context(), {"role": "user", "content": "Go on."}]


def test_one_message_is_one(run):
    assert "Added by the policy: 1 message." in replay(run, AddsANote, 9000).explain(6)


def test_compactions_of_ours_are_told_with_their_reason(real):
    replayed = replay(real, "fold", 4000)
    last = replayed.records[-1].step
    assert "tokens)" in replayed.explain(last)


@pytest.mark.parametrize("policy", ["tiered", "mask", HeadAndLastTwo])
def test_parts_add_up_to_the_context(real, policy):
    replayed = replay(real, policy, 4000)
    for record in replayed.records:
        found = parts(replayed.reading, record)
        assert sum(found.tokens.values()) + 3 == record.prompt_tokens
        assert set(found.whole).isdisjoint(found.shortened)
        assert len(found.whole) + len(found.shortened) + len(found.added) == len(record.shown)


@given(st.sets(st.integers(0, 60)))
def test_spans_say_the_indices(indices):
    text = spans(indices)
    read = set()
    for span in text.split(", ") if indices else []:
        first, _, last = span.partition("-")
        read |= set(range(int(first), int(last or first) + 1))
    assert read == indices


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_no_point_beats_the_frontier(points):
    best = frontier(points)
    assert set(best) <= set(points)
    for price, share in points:
        assert any(p <= price and s >= share for p, s in best)


@pytest.fixture(scope="module")
def table(sample):
    runs = list(load_transcripts(sample / "tau2-retail.jsonl.gz"))[:3]
    return compare(runs, ["tiered", "keep-last"], [2000, 4000])


@pytest.mark.parametrize("plot", [plot_survival, plot_frontier, plot_misses])
def test_plots_of_a_comparison_say_what_they_show(plot, table):
    axes = plot(table)
    assert "(" in axes.get_xlabel()
    assert "(%" in axes.get_ylabel()
    shown = {text.get_text() for text in axes.get_legend().get_texts()}
    assert any("tiered" in name for name in shown)
    assert any("keep-last" in name for name in shown)
    assert plot(table, axes) is axes
    axes.figure.canvas.draw()


def test_sixteen_policies_can_be_told_apart_in_grey(table):
    one = table[(table.policy == "tiered") & (table.budget == 2000)]
    axes = plot_frontier(pd.concat([one.assign(policy=f"policy {n}") for n in range(16)]))
    lines = [line for name, line in named(axes).items() if name.startswith("policy")]
    assert len({(line.get_marker(), line.get_markerfacecolor() == "none") for line in lines}) == len(lines) == 16


def test_budgets_with_one_best_point_share_a_label(table):
    one = table[(table.policy == "tiered") & (table.budget == 2000)]
    axes = plot_frontier(pd.concat([one, one.assign(budget=4000)]))
    assert [text.get_text() for text in axes.texts] == ["2k, 4k"]


@pytest.mark.parametrize("broken", ["valid", "within_budget"])
def test_what_breaks_the_rules_is_pale_and_on_no_line(table, broken):
    one = table[(table.policy == "tiered") & (table.budget == 2000)]
    cheating = one.assign(policy="cheating", survival=1.0, price_index=0.01, **{broken: 0.99})
    at_times = [one.assign(policy="at times", budget=4000, price_index=5.0), cheating.assign(policy="at times")]
    axes = plot_frontier(pd.concat([one, cheating, *at_times]))
    by_name = named(axes)
    assert by_name["cheating"].get_alpha() < by_name["tiered"].get_alpha() == by_name["at times"].get_alpha() == 1
    assert sorted(alpha for _, _, alpha in points(axes)) == [by_name["cheating"].get_alpha()] * 2 + [1] * 2
    whole = pool(one.to_dict("records"))[0]
    assert list(by_name["frontier"].get_xdata()) == [whole["price_index"]]
    assert len(axes.texts) == 2


def named(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def points(axes):
    """Price, share and opacity of each marker of a frontier plot."""
    lines = (line for line in axes.get_lines() if len(line.get_xdata()) == 1 and line.get_label() != "frontier")
    return [(line.get_xdata()[0], line.get_ydata()[0], line.get_alpha()) for line in lines]


def test_a_policy_that_raised_has_no_point_and_is_said(run):
    runs = [run, Transcript("short", parcels()[:4])]  # it raises on the longer one only
    axes = plot_frontier(compare(runs, [RaisesAtTheThirdCall, Everything], [9000]))
    assert [(price, share) for price, share, _ in points(axes)] == [(1, 100)]
    assert {"RaisesAtTheThirdCall (raised)", "Everything"} <= set(named(axes))
    assert axes.get_ylim()[0] == 99


@pytest.mark.parametrize("survival", [0.2, 0.97, 0.996, 1.0])
@pytest.mark.parametrize("prices", [(1, 1), (0.93, 1.01), (0.4, 4.0)])
def test_both_axes_of_a_frontier_have_ticks_and_room_for_labels(table, survival, prices):
    one = table[(table.policy == "tiered") & (table.budget == 2000)].assign(survival=survival)
    axes = plot_frontier(pd.concat([one.assign(price_index=p, budget=n) for n, p in enumerate(prices, 1000)]))
    axes.figure.canvas.draw()
    for ticks, (low, high) in ((axes.get_xticks(), axes.get_xlim()), (axes.get_yticks(), axes.get_ylim())):
        assert sum(low <= tick <= high for tick in ticks) >= 3
    inside = axes.get_window_extent()
    assert all(text.get_window_extent().y1 <= inside.y1 for text in axes.texts)


def test_no_policy_is_drawn_like_the_line_of_the_frontier(table):
    one = table[(table.policy == "tiered") & (table.budget == 2000)]
    lines = named(plot_frontier(pd.concat([one.assign(policy=f"policy {n}") for n in range(8)])))
    grey = lines.pop("frontier").get_color()
    assert grey not in {line.get_color() for line in lines.values()}


@pytest.mark.parametrize("plot", [plot_survival, plot_frontier])
def test_a_share_other_than_survival_is_named_with_its_whole(plot, table):
    assert plot(table, measure="within_budget").get_ylabel() == "within budget (% of steps)"
    with pytest.raises(ValueError, match="'price' is no share: expected one of survival"):
        plot(table, measure="price")


def test_plots_of_the_wrong_table_are_refused(table, run):
    for plot in (plot_survival, plot_frontier, plot_misses):
        with pytest.raises(ValueError, match="takes a comparison, as compare gives it, not its summary"):
            plot(summarize(table))
    for plot in (plot_context, plot_seconds):
        with pytest.raises(ValueError, match="takes the steps of a replay"):
            plot(table)


def test_a_long_id_is_cut_in_the_middle_of_a_title():
    long = Transcript("a/" + "folder/" * 30 + "run-1", parcels())
    title = replay(long, Everything, 9000).timeline().get_title()
    assert title.startswith("Everything on a/folder/")
    assert title.endswith("/run-1")
    assert len(title) < 70


@pytest.mark.parametrize(("plot", "unit"), [(plot_context, "(tokens)"), (plot_seconds, "(ms)")])
def test_plots_of_steps(plot, unit, real):
    axes = plot(replay(real, "tiered", 4000).frame())
    assert unit in axes.get_ylabel()
    axes.figure.canvas.draw()


def test_a_timeline_shows_parts_budget_and_marks(real):
    axes = replay(real, "tiered", 4000).timeline()
    shown = {text.get_text() for text in axes.get_legend().get_texts()}
    assert {"system prompt", "task", "budget", "low mark", "high mark", "compaction"} <= shown
    axes.figure.canvas.draw()
