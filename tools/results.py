"""Search results as a model reads them: at most five, short, with a last line on what was left out."""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_HITS = 5
MAX_SNIPPET = 200


@dataclass(frozen=True)
class Hit:
    """One result; `source` is what to fetch: a document id or an address."""

    title: str
    snippet: str
    source: str


def write_hits(query: str, hits: Sequence[Hit], found: int, fetch: str) -> str:
    """The first five hits as text; `found` is how many there are in all, `fetch` the tool that reads one."""
    if not hits:
        return f"Nothing was found for {query[:80]!r}. Try other or fewer words, or the other language."
    shown = hits[:MAX_HITS]
    blocks = [
        f"{place}. {one_line(hit.title, 100)} [{hit.source}]\n   {one_line(hit.snippet, MAX_SNIPPET)}"
        for place, hit in enumerate(shown, 1)
    ]
    left_out = found - len(shown)
    last = f"{left_out} more left out; use narrower words to see them." if left_out > 0 else "Nothing was left out."
    return "\n".join([*blocks, f"{last} Read one with {fetch}."])


def one_line(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
