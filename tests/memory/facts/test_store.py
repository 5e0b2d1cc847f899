"""The store: sources, history, disagreement, use, tables, corrections, rendering."""

from decimal import Decimal

import pytest
from carryforward.memory.facts import Fact, ModelExtractor, WorkingFacts


def test_rendered_value_stands_as_in_the_source_with_its_ref_and_tool() -> None:
    store = WorkingFacts()
    store.observe("Order #W2378156: total 1,250.00 USD", "m12", call="get_order")
    assert store.render(60).startswith("m12 get_order: ")
    assert "total 1,250.00 USD" in store.render(60)
    assert "#W2378156" in store.render(60)


def test_new_value_of_the_same_tool_supersedes_and_keeps_history() -> None:
    store = WorkingFacts()
    store.observe("CPU temperature is 71 °C", "m2", call="sensors")
    store.observe("CPU temperature is 75 °C", "m8", call="sensors")
    assert "75 °C (was 71 °C)" in store.render(60)
    assert [f.text for f in store.history("CPU temperature")] == ["71 °C", "75 °C"]
    assert len(store) == 1


def test_two_tools_that_disagree_are_both_shown_and_marked() -> None:
    store = WorkingFacts()
    store.observe("Boiling point is 78.4 °C", "m2", call="handbook")
    store.observe("Boiling point is 80.1 °C", "m4", call="wiki")
    shown = store.render(80)
    assert "78.4 °C (≠ m4 80.1 °C)" in shown
    assert "80.1 °C (≠ m2 78.4 °C)" in shown


def test_json_of_another_object_supersedes_nothing() -> None:
    store = WorkingFacts()
    store.observe('{"order_id": "W100", "total": 10.5}', "m2", call="get_order")
    store.observe('{"order_id": "W200", "total": 99.5}', "m4", call="get_order")
    assert "was" not in store.render(80)
    assert [f.value for f in store.history("total")] == [Decimal("10.5"), Decimal("99.5")]


def test_large_table_is_one_line_with_shape_and_extremes() -> None:
    store = WorkingFacts()
    rows = "\n".join(f"item{i},{i * 3}.5,{i % 7}" for i in range(200))
    store.observe("name,price,stock\n" + rows, "m3", call="read_file")
    store.observe("The budget is 400 EUR", "m4", call="ask")
    shown = store.render(120)
    assert "table 200x3 (name, price, stock): price 0.5 to 597.5, stock 0 to 6" in shown
    assert "400 EUR" in shown


def test_thousands_of_numbers_do_not_drown_one_order_number() -> None:
    store = WorkingFacts()
    store.observe("Reservation 4WQ150 costs $310", "m1", call="book")
    store.observe("\n".join(f"step {i}: loss = 0.{i:04d}" for i in range(3000)), "m2", call="train")
    assert "4WQ150" in store.render(80, "cancel the reservation")


def test_facts_used_in_an_action_come_first() -> None:
    store = WorkingFacts()
    store.observe("\n".join(f"record_{i:03d}" for i in range(50)), "m1", call="search")
    store.use('{"id": "record_031"}', "m2")
    assert "record_031" in store.render(8)


def test_only_sources_that_left_are_shown() -> None:
    store = WorkingFacts()
    store.observe("alpha_1 weighs 5 kg", "m1")
    store.observe("beta_2 weighs 7 kg", "m2")
    shown = store.render(60, sources={"m1"})
    assert "5 kg" in shown
    assert "7 kg" not in shown
    store.observe("alpha_1 again", "m3")
    assert "alpha_1" not in store.render(60, sources={"m1"}).replace("weighs", "")


def test_a_value_in_sight_is_not_repeated() -> None:
    facts = WorkingFacts()
    facts.observe("Load 47 kN, order ORD-9301, span 12 m", "m1")
    shown = facts.render(100, visible="The order ORD-9301 spans 12 m.")
    assert "47 kN" in shown
    assert "ORD-9301" not in shown
    assert "12 m" not in shown


def test_deferred_observations_are_read_when_asked_for() -> None:
    store = WorkingFacts()
    store.defer("latency 412 ms", "m5", call="bench")
    assert [f.text for f in store] == ["412 ms"]
    assert store.find("latency")[0].source == "m5"


def test_pin_correct_and_delete() -> None:
    store = WorkingFacts()
    store.observe("limit 10 kg; spare 20 kg; other 30 kg", "m1")
    store.pin("30 kg")
    assert "30 kg" in store.render(6)
    corrected = store.correct("10 kg", Decimal(12), "12 kg")
    assert corrected.value == 12
    assert "12 kg (was 10 kg)" in store.render(60)
    store.delete("20 kg")
    assert "20 kg" not in store.render(60)
    assert len(store) == 2
    with pytest.raises(KeyError, match="no fact '99 kg' is known"):
        store.pin("99 kg")


def test_find_ranks_the_best_match_first() -> None:
    store = WorkingFacts()
    store.observe("median latency 412 ms, worst latency 900 ms", "m1")
    assert store.find("worst latency")[0].text == "900 ms"


def test_a_fact_needs_a_source() -> None:
    with pytest.raises(ValueError, match="has no source"):
        WorkingFacts().add(Fact("name", "Ann", (0, 3)))


def test_model_facts_are_believed_only_with_a_true_quote() -> None:
    text = "After a long talk the board chose Vendor B for the pilot."
    reply = (
        'Here: [{"label": "chosen vendor", "value": "Vendor B", "quote": "the board chose Vendor B"},'
        ' {"label": "price", "value": "12 EUR", "quote": "costs 12 EUR"},'
        ' {"label": "board", "value": "Vendor C", "quote": "the board chose"}]'
    )
    extractor = ModelExtractor(lambda messages: reply)
    (fact,) = extractor.extract(text, source="m9")
    assert (fact.text, fact.label, text[slice(*fact.span)]) == ("Vendor B", "chosen vendor", "Vendor B")
    assert [reason for _, reason in extractor.refused] == [
        "the quote does not stand in the text",
        "the quote does not hold the value",
    ]
    store = WorkingFacts()
    store.add(fact, call="notes")
    assert "chosen vendor Vendor B" in store.render(40)


@pytest.mark.parametrize("reply", ["no list", "[1, 2]", "[{]", '{"value": 1}', "[" * 3000])
def test_a_reply_that_is_no_list_gives_no_facts(reply: str) -> None:
    assert ModelExtractor(lambda messages: reply).extract("some text", source="m1") == []


def test_a_fact_knows_which_actions_used_it() -> None:
    store = WorkingFacts()
    store.observe("Order W2378156 costs 1,250.00 USD", "m3", call="search")
    store.use('{"order_id": "W2378156"}', "m4")
    store.use("W2378156 it is", "m9")
    assert store.used_by("W2378156") == ["m4", "m9"]
    assert store.used_by("1,250.00 USD") == []
    assert [fact.text for fact in store.used()] == ["W2378156"]
