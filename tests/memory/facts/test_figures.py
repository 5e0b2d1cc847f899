"""Figures in running text: notations, units, bounds and what is no figure."""

from decimal import Decimal

import pytest
from carryforward.memory.facts import Fact, extract_facts


def figures(text: str) -> list[Fact]:
    return [fact for fact in extract_facts(text) if fact.is_figure]


def only(text: str) -> Fact:
    found = figures(text)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("The dam holds 3 180 000 t of water.", "3180000", "t"),
        ("Der Motor leistet 77,5 kW", "77.5", "kW"),
        ("paid 1,204,567.250 USD", "1204567.25", "USD"),
        ("Dosis 0,025 g", "0.025", "g"),
        ("a force of 4.2×10^3 N", "4200", "N"),
        ("mass 9.1e-31 kg", "9.1E-31", "kg"),
        ("about 12,34,567 rupees", "1234567", "rupee"),
        ("a 12'500 m run", "12500", "m"),
        ("it takes 2 1/2 hours", "2.5", "h"),
        ("¾ cup", "0.75", "cup"),
        ("the fleet drove 5M miles", "5000000", "mi"),
        ("at 180 K outside", "180", "K"),
        ("losses of -$23.50", "-23.50", "$"),
        ("cash flow was negative $7.5 million", "-7500000", "$"),
        ("a growth of 0.4 per mille", "0.4", "‰"),
        ("seven 8-hour shifts", "8", "h"),
        ("speed 90km/h", "90", "km/h"),
        ("glucose at 95 mg/dL", "95", "mg/dL"),
        ("acceleration 9.81 m/s²", "9.81", "m/s^2"),
        ("uses 15.2 kWh/100 km", "15.2", "kWh/100 km"),
        ("twenty-one kilometres", "21", "km"),
        ("half a million euros", "500000", "EUR"),
        ("a dozen litres", "12", "L"),
        ("two and a half miles", "2.5", "mi"),
        ("价格为三千二百元", "3200", "CNY"),
        ("规模达1.2万亿元", "1200000000000", "CNY"),
        ("海拔8848.86米", "8848.86", "m"),
        ("下跌百分之三点五", "3.5", "%"),
        ("完成了七成", "70", "%"),
        ("打八五折", "85", "%"),
        ("用时半小时", "0.5", "h"),
        ("走了一个半小时", "1.5", "h"),
        ("提高1.5个百分点", "1.5", "pp"),
        ("每平方公里有120人/平方公里", "120", "people/km^2"),
        ("重２５公斤", "25", "kg"),
        ("花了USD 40", "40", "USD"),
        ("costs 3.500 ₫", "3500", "VND"),
    ],
)
def test_value_and_unit(text: str, value: str, unit: str) -> None:
    fact = figures(text)[-1] if text.startswith("seven") else only(text)
    assert (fact.value, fact.unit) == (Decimal(value), unit)


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("Use 5-6 litres of paint", "5", "6", "L"),
        ("between 30 and 45 mg", "30", "45", "mg"),
        ("from -12 °C to -3 °C", "-12", "-3", "°C"),
        ("4k-9k visitors", "4000", "9000", None),
        ("$5-7 million", "5000000", "7000000", "$"),
    ],
)
def test_range_is_one_fact_with_a_shared_unit(text: str, low: str, high: str, unit: str | None) -> None:
    fact = only(text)
    assert (fact.value, fact.low, fact.high, fact.unit) == (None, Decimal(low), Decimal(high), unit)


def test_two_amounts_share_a_unit_without_being_a_range() -> None:
    first, second = figures("They were given 45 and 50 mg.")
    assert (first.value, first.unit) == (45, "mg")
    assert (second.value, second.unit) == (50, "mg")


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("at least 30 items", ">="),
        ("no more than 30 items", "<="),
        ("fewer than 30 items", "<"),
        ("up to 30 items", "<="),
        ("超过30台", ">"),
        ("30台以上", ">="),
    ],
)
def test_bound_is_kept(text: str, bound: str) -> None:
    fact = only(text)
    assert (fact.value, fact.bound) == (30, bound)


@pytest.mark.parametrize("text", ["<code>30</code>", "<td class='x'>30</td>", "<br>30"])
def test_a_tag_before_a_number_is_no_bound_and_its_end_no_path(text: str) -> None:
    fact = only(text)
    assert (fact.value, fact.bound) == (30, None)


@pytest.mark.parametrize("text", ["about 40 km", "~40 km", "约40公里", "roughly 40 km"])
def test_approximation_is_kept(text: str) -> None:
    assert only(text).approx


def test_plus_minus_is_the_uncertainty() -> None:
    fact = only("9.83e-3 ± 1e-5 km")
    assert (fact.value, fact.uncertainty) == (Decimal("0.00983"), Decimal("0.00001"))


@pytest.mark.parametrize(
    "text",
    [
        "Ring +1-212-555-0187 now",
        "host 192.168.1.17:9090",
        "upgrade to v2.14.3",
        "chapter 7, page 12",
        "see 第5章",
        "the 9th of May 2019",
        "on 3 August 2016",
        "at 10:45 pm",
        "founded in 1987",
        "order #W7712044",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "call me tomorrow at seven twenty or at 8",
        "全国统一，队伍收拾好了，十分满意",
        "上午九点半出发",
        "2019年3月4日",
        "that one is really good",
        "account number 12345678",
        "12. a list item",
        "word[12] and more.[3]",
        "rst.py:66",
    ],
)
def test_is_no_figure(text: str) -> None:
    assert figures(text) == []


def test_ambiguous_currency_signs_stay_as_they_are() -> None:
    assert [f.unit for f in figures("$5, ¥6, US$7, CN¥8")] == ["$", "¥", "USD", "CNY"]


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        ("user mia_li_3668 asked", "identifier", "mia_li_3668"),
        ("order #W2378156", "identifier", "#W2378156"),
        ("booking 4WQ150", "identifier", "4WQ150"),
        ("in /testbed/astropy/io/ascii/rst.py", "path", "/testbed/astropy/io/ascii/rst.py"),
        ("at rst.py:66", "identifier", "rst.py:66"),
        ("run test_header_rows", "identifier", "test_header_rows"),
        ("the Russo-Japanese War", "name", "Russo-Japanese"),
        ("run AB-CD again", "identifier", "AB-CD"),
        ("mail ann.b@example.com", "email", "ann.b@example.com"),
        ("see https://example.com/a?b=1&c=2.", "url", "https://example.com/a?b=1&c=2"),
        ("in April 2015", "date", "April 2015"),
        ("2024-05-21T08:30:00Z", "date", "2024-05-21T08:30:00Z"),
        ("at 14:05", "time", "14:05"),
        ("十月八日", "date", "十月八日"),
    ],
)
def test_names_have_kinds_of_their_own(text: str, kind: str, word: str) -> None:
    assert (kind, word) in [(f.kind, f.text) for f in extract_facts(text)]


def test_label_is_read_beside_the_value() -> None:
    assert only("Cash flow was $48.2 million").label == "Cash flow"
    assert only("Total: 5 EUR").label == "Total"
    assert only("人口约为1200万人").label == "人口"
    assert only("产量由20吨").label == "产量"
    assert extract_facts("截至2023年底")[0].label == ""
    assert only("64 GB RAM").label == "RAM"


def test_a_number_glued_to_a_name_by_a_colon_is_read() -> None:
    assert [(f.value, f.text) for f in figures("connect(host, timeout:30)")] == [(30, "30")]
    assert [f.text for f in figures("width:12,height:4")] == ["12", "4"]


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("2026-03-04 12:33:01,123 INFO processed 17 of 20", ["17", "20"]),
        ("[12:33] queue depth 14", ["14"]),
        ("10:00 温度 21", ["21"]),
        ("-rw-r--r-- 1 root root 1999 Mar  4 12:33 a.txt", ["1", "1999"]),
        ("from 9 to 10:30, or at 5 on Monday", []),
        ("the week after Friday 7", []),
    ],
)
def test_a_number_beside_a_clock_time_is_a_figure_unless_it_is_one_itself(text: str, figures: list[str]) -> None:
    assert [fact.text for fact in extract_facts(text) if fact.is_figure] == figures


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("Shipments rose from 412 000 t to 575 000 t.", [(412000, "t"), (575000, "t")]),
        ("fell from 20 °C to 5 °C", [(20, "°C"), (5, "°C")]),
        ("GPU 120W / 300W", [(120, "W"), (300, "W")]),
        ("5 g / 100 g", [(5, "g"), (100, "g")]),
        ("5 mg / 100 mL", [(5, "mg/100 mL")]),
        ("memory 512Mi", [(512, "MiB")]),
        ("PM2.5：35微克/立方米", [(35, "μg/m^3")]),
        ("仓库3：12 吨", [(3, None), (12, "t")]),
    ],
)
def test_two_values_are_not_taken_for_one(text: str, figures: list[tuple[int, str | None]]) -> None:
    assert [(fact.value, fact.unit) for fact in extract_facts(text) if fact.is_figure] == figures


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("BP 120/80 mmHg", [("BP", 120), ("BP", 80)]),
        ("min/avg = 11.6/12.3/14.0 ms", [("min/avg", 11.6), ("min/avg", 12.3), ("min/avg", 14.0)]),
        ("500/500 [00:45<00:00, 11.02it/s, loss=0.345]", [("", 500), ("", 500), ("", 11.02), ("loss", 0.345)]),
        ("icmp_seq=1 ttl=56 time=11.632 ms", [("icmp_seq", 1), ("ttl", 56), ("time", 11.632)]),
        ("3×4×5厘米", [("", 3), ("", 4), ("", 5)]),
        ("中国队 3:1 韩国队", [("中国队", 3), ("韩国队", 1)]),
        ("a piece of 1/2 cup", [("piece", 0.5)]),
    ],
)
def test_joined_numbers_are_read_one_by_one(text: str, figures: list[tuple[str, float]]) -> None:
    found = [(fact.label, float(fact.value or 0)) for fact in extract_facts(text) if fact.is_figure]
    assert found == figures
