"""Support of figures: equal, converted, rounded, or not there."""

import pytest
from carryforward.memory.facts import check_figures, extract_facts, unsupported_figures


def verdicts(answer: str, source: str) -> list[str]:
    return [f.verdict for f in check_figures(answer, extract_facts(source))]


@pytest.mark.parametrize(
    ("answer", "source", "verdict"),
    [
        ("8848.86 m", "The summit is at 8,848.86 m.", "supported"),
        ("8.84886 km", "8848.86 m", "supported"),
        ("8.85 km", "8848.86 m", "rounded"),
        ("8,850 m", "8848.86 m", "rounded"),
        ("8,488 m", "8848.86 m", "unsupported"),
        ("1.25 million USD", "USD 1,250,000", "supported"),
        ("12.5 %", "a share of 0.125", "supported"),
        ("two hours", "120 minutes", "supported"),
        ("212 °F", "100 °C", "supported"),
        ("344 K", "71 °C", "rounded"),
        ("20两", "1 kg", "supported"),
        ("0两", "0 years", "unsupported"),
        ("350 K", "71 °C", "unsupported"),
        ("5 kg", "5 m", "unsupported"),
        ("5 EUR", "5 USD", "unsupported"),
        ("$5", "5 USD", "supported"),
        ("3 to 4 litres", "from 3 to 4 L", "supported"),
        ("20", "9.6", "unsupported"),
        ("三千二百米", "3.2 km", "supported"),
    ],
)
def test_verdict(answer: str, source: str, verdict: str) -> None:
    assert verdicts(answer, source) == [verdict]


def test_the_task_and_calculations_are_sources_too() -> None:
    facts = extract_facts("price 40 EUR")
    assert [f.text for f in unsupported_figures("3 times 40 EUR is 120 EUR", facts)] == ["3 times", "120 EUR"]
    assert unsupported_figures("3 times 40 EUR is 120 EUR", facts, ["take 3", "3*40 = 120"]) == []


def test_verdict_names_the_source_text() -> None:
    (figure,) = check_figures("about 8.85 km", extract_facts("at 8848.86 m"))
    assert (figure.verdict, figure.support, figure.span) == ("rounded", "8848.86 m", (6, 13))
