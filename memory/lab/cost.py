"""What contexts cost: a provider's prefix cache, and prices."""

from __future__ import annotations

from dataclasses import dataclass

from .transcripts import Transcript


@dataclass(frozen=True, slots=True)
class Pricing:
    """A provider's prompt cache and its prices in US dollars per million tokens.

    A prompt's longest common prefix with the previous one is read from the cache, in whole blocks and only from a
    minimum on; what is written to the cache is billed at `write`.
    """

    name: str
    input: float
    cached: float
    output: float
    write: float | None = None
    block: int = 64
    minimum: int = 0

    def cached_tokens(self, common: int) -> int:
        """Tokens of a common prefix that the cache serves."""
        floored = common // self.block * self.block
        return floored if floored >= self.minimum else 0

    def dollars(self, prompt_tokens: int, cached_tokens: int, output_tokens: int = 0) -> float:
        """The price of calls with these totals."""
        fresh = self.input if self.write is None else self.write
        paid = (prompt_tokens - cached_tokens) * fresh + cached_tokens * self.cached + output_tokens * self.output
        return paid / 1e6


# The unit of `price_index`: an uncached token costs 1, a cached one 0.1; blocks of 64 as DeepSeek has them
# (https://api-docs.deepseek.com/guides/kv_cache).
INDEX = Pricing("index", input=1.0, cached=0.1, output=0.0)

# List prices of November 2026, for prompts of usual length; they change, so give your own `Pricing` for a bill.
#   https://developers.openai.com/api/docs/pricing, …/guides/prompt-caching (gpt-6.1-sol: up to 272,000 tokens)
#   https://platform.claude.com/docs/en/about-claude/pricing, …/build-with-claude/prompt-caching
#   https://api-docs.deepseek.com/quick_start/pricing (at peak hours; at others, half of it)
PROVIDERS: dict[str, Pricing] = {
    pricing.name: pricing
    for pricing in (
        Pricing("gpt-6.1-sol", input=2.0, cached=0.1, output=10.0, write=2.5, block=128, minimum=1024),
        Pricing("gpt-4.1", input=2.0, cached=0.5, output=8.0, block=128, minimum=1024),
        Pricing("claude-sonnet-5-5", input=2.0, cached=0.1, output=10.0, write=2.5, block=1, minimum=1024),
        Pricing("deepseek-flash", input=0.3, cached=0.006, output=1.2),
    )
}


def price(prompt_tokens: int, cached_tokens: int) -> float:
    """The price in tokens that `price_index` compares: uncached + 0.1 x cached."""
    return prompt_tokens - cached_tokens + INDEX.cached * cached_tokens


def common_prefix(left: str, right: str) -> int:
    """Length in characters of the longest common beginning of two texts."""
    low, high = 0, min(len(left), len(right))
    while low < high:  # by halves: comparing slices runs at the speed of memory
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class UsageCheck:
    """The cache model against what a provider reported, in the provider's tokens."""

    calls: int
    prompt: int
    cached_reported: int
    cached_modelled: int

    @property
    def error(self) -> float:
        """Relative error of the modelled total of cached tokens."""
        return self.cached_modelled / self.cached_reported - 1 if self.cached_reported else 0.0


def check_usage(transcript: Transcript, message_tokens: list[int], pricing: Pricing = INDEX) -> UsageCheck:
    """Model the cache of a run that was sent in full, and set it beside the reported figures.

    The provider counts with its own tokenizer, so a prompt's common prefix is taken as its share of the prompt in
    `message_tokens`, times the prompt tokens that the provider reported.

    Args:
        message_tokens: tokens of each message, by any one tokenizer.
    """
    ahead = [0]
    for tokens in message_tokens:
        ahead.append(ahead[-1] + tokens)
    calls = prompt = reported = modelled = 0
    previous: int | None = None
    for usage in transcript.usage:
        if usage.cached is None or not 0 < usage.message < len(ahead):
            continue
        common = 0 if previous is None else ahead[previous] / ahead[usage.message] * usage.prompt
        previous = usage.message
        calls += 1
        prompt += usage.prompt
        reported += usage.cached
        modelled += pricing.cached_tokens(int(common))
    return UsageCheck(calls, prompt, reported, modelled)
