import pytest
from carryforward.memory import Message
from carryforward.memory.lab.values import Searchable, shown_text, used_text, values
from hypothesis import given
from hypothesis import strategies as st
from lab_keepers import call

TEXTS = st.text(st.sampled_from("abcXYZ0123456789_./@:,-# \n中é٣"), max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("total 1,234,567 parcels", {"1234567"}),
        ("[12345,67890]", {"12345", "67890"}),
        ("/testbed/astropy/io/rst.py:12: error", {"testbed/astropy/io/rst.py"}),
        ("order #W8665881, please.", {"W8665881"}),
        ("at 10:30:00 on 2024-05-15", {"10:30:00", "2024-05-15"}),
        ("订单AB_12345的总价是8848.86米", {"AB_12345", "8848.86"}),
        ("write to ann.lee@example.com.", {"ann.lee@example.com"}),
        ("well-known words and 1234", set()),
    ],
)
def test_values_of_a_text(text, expected):
    assert values(text) == expected


@given(TEXTS)
def test_a_text_holds_all_its_values(text):
    searchable = Searchable(text)
    assert all(searchable.holds(value) for value in values(text))


@pytest.mark.parametrize(
    ("value", "text", "holds"),
    [
        ("12345", "id 12345.", True),
        ("12345", "id 123456", False),
        ("12345", "x12345", False),
        ("12345", "12345.5", False),
        ("12345", "sum 12,345 kg", True),
        ("8848.86", "8848.861 m", False),
        ("src/a.py", "see /src/a.py:7", True),
        ("a_user", "an_a_user", False),
    ],
)
def test_a_value_is_found_as_a_whole(value, text, holds):
    assert Searchable(text).holds(value) is holds


def test_used_text_is_what_the_agent_acts_on():
    assert used_text(call("c", "f", '{"a": {"b": ["x_100", 20000]}, "n": null}')) == "x_100\n20000"
    assert used_text(call("c", "f", "not json 12345")) == "not json 12345"
    react = Message("assistant", "Thought: maybe id_99999\nAction: get\nAction Input: id_12345")
    assert values(used_text(react)) == {"id_12345"}
    assert used_text(Message("assistant", "The answer is 12345.")) == "The answer is 12345."


def test_shown_text_has_arguments_decoded():
    assert Searchable(shown_text(call("c", "f", '{"text": "one\\nid_12345"}'))).holds("id_12345")
