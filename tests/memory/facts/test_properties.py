"""What holds for every text: exact spans, no exception, the same answer twice, work that grows with the text."""

import sys
from unittest.mock import patch

import pytest
from carryforward.memory.facts import Fact, WorkingFacts, check_figures, extract_facts
from carryforward.memory.facts.plain_numbers import PlainNumbers
from hypothesis import example, given, settings
from hypothesis import strategies as st

PIECES = [
    *"0123456789.,-+/:%$€£¥()[]{}<>\"'`|*#@&_=~^ \n\t\r\x00\x1b",
    *"年月日点时分半第一二三十百千万亿兆两零负几多余成折又之个",
    "½", "²", "×", "±", "–", "−", "～", "，", "。", "\ud800", "\udfff", "٣", "²³",
    "one", "two", "half", " a ", "hundred", " and ", "third", "million", "dozen", " over ", "point", "km", "USD",
    " per ", "May", "Monday", " am", "http://", "a@b.co", "e+9", "x10^", "|---|", "<td>", "<tr>", "\n| a | 1 |\n",
    "----", "  ",
    "in thousands", "分之", "百分点", "phone ", "No. ", '{"k": ', "word",
]  # fmt: skip
SOUP = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
ANY_TEXT = st.one_of(SOUP, st.text(max_size=300), st.binary(max_size=300).map(lambda b: b.decode("latin-1")))


@settings(max_examples=300, deadline=None)
@given(ANY_TEXT)
@example("\n2019 was warm")
@example("  \n (2019")
def test_spans_are_exact_and_in_order_and_numbers_finite(text: str) -> None:
    facts = extract_facts(text, source="m1")
    for fact in facts:
        start, end = fact.span
        assert 0 <= start < end <= len(text)
        assert text[start:end] == fact.text
        assert fact.source == "m1"
        assert all(number.is_finite() for number in fact.numbers)
        assert fact.is_figure == bool(fact.numbers)
        assert isinstance(fact.label, str)
    assert extract_facts(text, source="m1") == facts


AMONG_NUMBERS = [
    "7", "12", "350", "7%", "3.5%", "2019", "12345", "4711.5", "766,336", "1,234.56", "$5", "$1,200", "€3.500",
    "line", "about", "at", "least", "up", "over", "built", "people", "tests", "Street", "人", "米", "万", "MW", "kg",
    "USD", "percent",
    "days", "mm", "in", "as", "min", "sq", "fl", "degrees", "May", "pm", "of", "to", "per", "or", "old", "and",
    "squared", "million", "dozen", *" \n,;:.)(][}|<>!\"-/+~%", ", ", ". ", " ", " ", " ", " ", " ", " ",
]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(AMONG_NUMBERS), max_size=14).map("".join))
def test_the_short_way_reads_what_all_the_rules_read(text: str) -> None:
    def read() -> list[tuple[object, ...]]:
        return [(f.kind, f.text, f.span, f.numbers, f.unit, f.approx, f.bound) for f in extract_facts(text)]

    with patch.object(PlainNumbers, "usual", lambda *_: 0):
        by_all_rules = read()
    assert read() == by_all_rules


@settings(max_examples=100, deadline=None)
@given(ANY_TEXT)
def test_a_fact_survives_its_dict(text: str) -> None:
    for fact in extract_facts(text, source="m1"):
        again = Fact.from_dict(fact.to_dict())
        assert (again, again.label, again.bound) == (fact, fact.label, fact.bound)


@settings(max_examples=100, deadline=None)
@given(SOUP)
def test_every_figure_of_a_text_is_supported_by_that_text(text: str) -> None:
    assert [f for f in check_figures(text, extract_facts(text)) if f.verdict == "unsupported"] == []


@settings(max_examples=60, deadline=None)
@given(st.lists(SOUP, max_size=5), st.integers(0, 80))
def test_rendering_keeps_its_budget_and_the_texts(observations: list[str], budget: int) -> None:
    store = WorkingFacts()
    for i, text in enumerate(observations):
        store.observe(text, f"m{i}", call="look")
    shown = store.render(budget, "half a million", count=len)
    assert len(shown) <= budget
    assert shown == store.render(budget, "half a million", count=len)


def calls(text: str) -> int:
    """How many Python and C functions the reading of a text calls: a measure of work without a clock."""
    count = 0

    def on_event(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    extract_facts(text)  # so that the memory of chunks is warm in both measurements
    sys.setprofile(on_event)
    try:
        extract_facts(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "unit",
    ["7", "1,234", "123 456 ", "一", "一百 ", "| a | 1 |\n", "<tr><td>1", '{"a":[1,', "one ", "hundred and ",
     "5 tomorrow ", "a  b  1\n", "x10^1 ", "1-2-", "half ", "phone +1 ", "2014 to ", "m s-1 ", "word ", "\ud800 9",
     "|---|\n", "--|--\n", "+--+\n", "a,b,c```\n"],
)  # fmt: skip
def test_work_grows_with_the_text(unit: str) -> None:
    assert calls(unit * 3000) <= 11 * calls(unit * 300) + 2000


def test_one_chinese_line_does_not_make_the_rest_dearer() -> None:
    english = "The line carried 350 MVA on 3 August, loss = 4.2% (12)\n" * 300
    assert calls(english + "长42米\n") <= 1.02 * calls(english) + 500


def test_a_megabyte_of_digits_and_of_one_letter() -> None:
    assert extract_facts("7" * 1_000_000) == []
    assert extract_facts("a" * 1_000_000) == []
    assert extract_facts("a|b\n--|--\n" + "-" * 1_000_000 + "x") == []
    assert [f.value for f in extract_facts("x" * 500_000 + " 41 kg " + "-" * 500_000)] == [41]
