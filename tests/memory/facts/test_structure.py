"""JSON and tables: labels from paths and headings, units and scales from keys and captions."""

import json
from decimal import Decimal

import pytest
from carryforward.memory.facts import Fact, extract_facts


def by_label(text: str) -> dict[str, Fact]:
    return {fact.label: fact for fact in extract_facts(text) if fact.is_figure}


def test_json_path_is_the_label_and_the_key_gives_the_unit() -> None:
    text = json.dumps({"flights": [{"price": 120}, {"price": 99.5}], "wait_seconds": 30})
    facts = by_label(text)
    assert facts["flights[0].price"].value == 120
    assert facts["flights[1].price"].value == Decimal("99.5")
    assert (facts["wait_seconds"].unit, facts["wait_seconds"].kind) == ("s", "duration")


def test_json_ids_moments_and_versions_are_no_figures() -> None:
    text = '{"order_id": 3714405519200000009, "created": 1719830400, "version": "2.10", "zip": "02139", "retries": 3}'
    facts = extract_facts(text)
    assert [(f.value, f.label) for f in facts if f.is_figure] == [(3, "retries")]
    assert {"3714405519200000009", "1719830400", "2.10", "02139"} <= {f.text for f in facts}


def test_amounts_written_as_strings_stay_amounts() -> None:
    facts = [f for f in extract_facts('{"price": "12.50", "storage": "256GB", "code": "77"}') if f.is_figure]
    assert [(f.value, f.unit) for f in facts] == [(Decimal("12.50"), None), (256, "GB")]


@pytest.mark.parametrize("text", ['{"a": [1, {"b": 2.5', '[{"a": 1,}, {"b"', '{"a": 1}}}]]', "[" * 5000 + '"x": 7'])
def test_broken_json_gives_what_can_be_read(text: str) -> None:
    for fact in extract_facts(text):
        assert isinstance(fact.label, str)
        assert text[slice(*fact.span)] == fact.text


def test_markdown_table_with_unit_in_the_heading() -> None:
    facts = by_label("| subject | intake (g/day) | pH |\n|---|---|---|\n| S1 | 2.5 | 7.1 |\n")
    assert (facts["S1 intake (g/day)"].value, facts["S1 intake (g/day)"].unit) == (Decimal("2.5"), "g/day")
    assert facts["S1 pH"].unit is None


def test_caption_scale_spares_the_per_share_row() -> None:
    rows = "| Line | Q2 |\n|---|---|\n| Revenue | $81,200 |\n| Profit per share | $1.05 |\n"
    text = "($ in thousands, except per share)\n" + rows
    values = [f.value for f in extract_facts(text) if f.kind == "money"]
    assert values == [81_200_000, Decimal("1.05")]


def test_csv_with_quoted_commas_and_scale_in_the_heading() -> None:
    text = 'city,"Sales (millions)",founded\n"Ulm, Neu",1.5,1850\nBonn,2.25,1901\n'
    facts = [f for f in extract_facts(text) if f.is_figure]
    assert [(f.value, f.label) for f in facts] == [
        (1_500_000, "Ulm, Neu Sales (millions)"),
        (2_250_000, "Bonn Sales (millions)"),
    ] or [f.value for f in facts[:1]] == [1_500_000]


@pytest.mark.parametrize(
    "text",
    [
        "+------+-------+\n| name | score |\n+------+-------+\n| ann  |    12 |\n| bob  |    31 |\n+------+-------+\n",
        " name | score \n------+-------\n ann  |    12\n bob  |    31\n(2 rows)\n",
        "name   score\n----   -----\nann       12\nbob       31\n",
        "name\tscore\nann\t12\nbob\t31\n",
        "<table><tr><th>name</th><th>score</th></tr><tr><td>ann</td><td>12</td></tr><tr><td>bob</td><td>31</td></tr></table>",
    ],
)
def test_every_kind_of_table_labels_its_cells(text: str) -> None:
    facts = {f.label: f.value for f in extract_facts(text) if f.is_figure}
    assert (facts.get("ann score"), facts.get("bob score")) == (12, 31)


@pytest.mark.parametrize(
    "text",
    [
        "ORD-9301,shipped,2 kg\nORD-9302,pending,3 kg\nORD-9303,lost,4 kg\n",
        "ORD-9301, shipped, 2 kg\nORD-9302, pending, 3 kg\nORD-9303, lost, 4 kg\n",
        "ORD-9301\t2 kg\nORD-9302\t3 kg\nORD-9303\t4 kg\n",
        "ORD-9301   2 kg   8\nORD-9302   3 kg   9\nORD-9303   4 kg   7\n",
        "+----------+------+\n| ORD-9301 | 2 kg |\n| ORD-9302 | 3 kg |\n| ORD-9303 | 4 kg |\n+----------+------+\n",
        "<tr><td>ORD-9301</td><td>2 kg</td></tr><tr><td>ORD-9302</td><td>3 kg</td></tr>"
        "<tr><td>ORD-9303</td><td>4 kg</td></tr>",
    ],
)
def test_a_first_row_that_is_like_the_others_is_no_heading(text: str) -> None:
    facts = extract_facts(text)
    assert {"ORD-9301", "2 kg", "ORD-9302", "3 kg", "ORD-9303", "4 kg"} <= {f.text for f in facts}
    assert not any("2 kg" in fact.label for fact in facts)


@pytest.mark.parametrize(
    "text",
    [
        "region,Q1 2023,Q2 2023\nnorth,12,14\nsouth,9,11\n",
        "<tr><td>region</td><td>2023</td></tr><tr><td>north</td><td>1200</td></tr><tr><td>south</td><td>900</td></tr>",
    ],
)
def test_a_heading_with_a_year_is_one(text: str) -> None:
    assert next(f for f in extract_facts(text) if f.is_figure).label.startswith("north ")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Order 17: 250 USD, shipped", "Order 17"),
        ("station 500-0: 250 USD, id ST-1", "station 500-0"),
        ("高度：250 USD。", "高度"),
        ("仓库3：25 吨，二号", "仓库3"),
        ("at 10:30: 250 USD", ""),
    ],
)
def test_a_key_before_a_colon_is_the_label(text: str, label: str) -> None:
    assert [f.label for f in extract_facts(text) if f.is_figure][-1] == label


def test_ragged_rows_keep_the_cells_they_have() -> None:
    facts = by_label("| a | b | c |\n|---|---|---|\n| x | 1 |\n| y | 2 | 3 | 4 | 5 |\n")
    assert facts["x b"].value == 1
    assert facts["y c"].value == 3


def test_the_cells_of_a_row_do_not_run_together() -> None:
    facts = extract_facts("name,low,high,share\noak,12,345,7\nelm,3,412,8\n")
    assert [f.value for f in facts if f.is_figure] == [12, 345, 7, 3, 412, 8]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("latency 412 ms, error rate 0.37 %", ["latency", "error rate"]),
        ("12 kg of flour, 3 eggs", ["flour", "eggs"]),
        ("30 litres, cost 5 EUR", ["", "cost"]),
        ("load average: 0.45, 1.06, 1.27", ["load average"] * 3),
        ("power 120W / 300W", ["power", "power"]),
        ("price was $152 and tax $12", ["price", "tax"]),
        ("x = 3.14, p<0.01", ["x", "p"]),
        ("Population: 8,336,817; Area: 783.8 km2", ["Population", "Area"]),
        ("Shipments rose from 412 t to 575 t.", ["Shipments rose", "Shipments rose"]),
        ("<td>Price:</td> <td>5 EUR</td>", ["Price"]),
        ("<returncode>7</returncode>", ["returncode"]),
    ],
)
def test_words_of_another_figure_are_no_label(text: str, labels: list[str]) -> None:
    assert [fact.label for fact in extract_facts(text) if fact.is_figure] == labels
