"""Summaries of steps that leave the context.

A summary is updated, never written anew from nothing: the old one and the steps that leave now give the new one,
inside a size that never grows. Figures are not its business: they come from the working facts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from .messages import Message
from .tokens import TokenCounter

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_HEADING = re.compile(r"[:：]\s*`*\s*$|^`{3,}")
_NOISE = re.compile(r"</?\w+>|^\W+|\s+")


Step = Sequence[tuple[str, Message]]  # the messages of one step, each with its ref


class Summarizer(Protocol):
    """Makes one summary of the old one and the steps that leave."""

    def summarize(self, previous: str, steps: Sequence[Step], max_tokens: int) -> str: ...


class Guarded:
    """A summarizer that cannot fail: where it raises, `on_failure` is told why and the extractive one stands in."""

    def __init__(self, own: Summarizer, stand_in: Summarizer, on_failure: Callable[[dict[str, str]], object]) -> None:
        self._own, self._stand_in, self._on_failure = own, stand_in, on_failure

    def summarize(self, previous: str, steps: Sequence[Step], max_tokens: int) -> str:
        """The summary of its own, or the one that stands in."""
        try:
            return self._own.summarize(previous, steps, max_tokens)
        except Exception as error:  # noqa: BLE001 - the summarizer is the user's: whatever it raises, the run goes on
            self._on_failure({"why": f"{type(error).__name__}: {error}"})
            return self._stand_in.summarize(previous, steps, max_tokens)


class ExtractiveSummarizer:
    """One line a step: what was said or called, and how it came out. No model, deterministic, any language.

    When the lines no longer fit, the oldest are thinned first: every second one leaves, so that the whole run stays
    in sight, the recent part closest.
    """

    def __init__(self, counter: TokenCounter | None = None, *, said: int = 24, came_out: int = 16) -> None:
        self._counter = counter or TokenCounter()
        self._said, self._came_out = said, came_out

    def summarize(self, previous: str, steps: Sequence[Step], max_tokens: int) -> str:
        """The new summary in at most `max_tokens` tokens."""
        lines = [line for line in previous.split("\n") if line]
        lines += [text for step in steps if (text := self._step(step))]
        while lines and self._counter.count_by_line("\n".join(lines)) > max_tokens:
            if len(lines) < 4:
                lines.pop(0)
            else:
                older = len(lines) // 2
                lines = lines[:older:2] + lines[older:]
        return "\n".join(lines)

    def _step(self, step: Step) -> str:
        ref, head = step[0]
        called = "; ".join(
            f"{call.name} {self._short(arguments_text(call.arguments), self._said)}" for call in head.tool_calls
        )
        came = "; ".join(self._short(_gist(m.text, last=True), self._came_out) for _, m in step[1:])
        if called:
            return f"{ref} {called} → {came}" if came else f"{ref} {called}"
        said = self._short(_gist(head.text), self._said)
        return f"{ref} {head.role}: {said}" if said else ""

    def _short(self, text: str, tokens: int) -> str:
        return text if self._counter.count(text) <= tokens else self._counter.truncate(text, tokens - 1) + "…"


def arguments_text(arguments: str) -> str:
    """Call arguments in one line: the values of a flat object, or the JSON as it is."""
    try:
        value: Any = json.loads(arguments)
    except ValueError:
        return _NOISE.sub(" ", arguments).strip()
    if isinstance(value, dict):
        given = cast(dict[str, Any], value).values()
        values = [v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in given]
        return _NOISE.sub(" ", ", ".join(values)).strip()
    return _NOISE.sub(" ", arguments).strip()


def _gist(text: str, *, last: bool = False) -> str:
    """The first (or last) sentence with a word in it; what only opens the next line is passed over."""
    parts = [p for p in _SENTENCE.split(text[-2000:] if last else text[:2000]) if re.search(r"\w{2}", p)]
    parts = [p for p in parts if not _HEADING.search(p)] or parts
    return _NOISE.sub(" ", parts[-1 if last else 0]).strip() if parts else ""


def messages_text(messages: Sequence[Message]) -> str:
    """Messages as plain text, for a model that summarises them."""
    out: list[str] = []
    for m in messages:
        calls = "".join(f"\n{call.name}({call.arguments})" for call in m.tool_calls)
        out.append(f"{m.role}: {m.text}{calls}")
    return "\n\n".join(out)
