"""What is in sight is what a plain search would find, however the texts change."""

from carryforward.memory.facts.sight import Sight
from hypothesis import given
from hypothesis import strategies as st

words = st.text("ab1", min_size=1, max_size=4)


@given(st.lists(st.tuples(st.lists(words), st.lists(words))))
def test_a_value_is_in_sight_where_a_text_holds_it(looks) -> None:
    sight = Sight()
    for texts, values in looks:
        sight.look(texts)
        for value in values:
            assert (value in sight) == any(value in text for text in texts)
