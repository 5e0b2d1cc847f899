"""What a replay needs to know about a transcript, found once and shared by all policies and budgets."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from ..facts import Fact, extract_facts
from ..messages import Message, MessageError, clean
from ..tokens import REPLY_PRIMING, TokenCounter
from .cost import INDEX, common_prefix, price
from .transcripts import Transcript
from .values import Searchable, shown_text, used_text, values

FAR = 4000  # tokens; a demand last seen at least so far back is a far one


class Seen:
    """One distinct message as contexts show it: counted and searched once, however often it is shown.

    Attributes:
        raw: a private copy of the dict, to know the message again by.
        tokens: with framing.
        fault: why no server would accept the message alone; empty where it would.
    """

    __slots__ = ("_searchable", "call_ids", "fault", "message", "raw", "tokens")

    def __init__(self, raw: dict[str, Any], counter: TokenCounter) -> None:
        self.raw = copy.deepcopy(raw)
        self.fault = ""
        try:
            self.message = Message.from_dict(raw)
        except MessageError as error:
            self.fault = str(error)
            self.message = Message("user", clean(repr(raw)))
        self.tokens = counter.message(self.message, by_line=True)
        self.call_ids = tuple(call.id for call in self.message.tool_calls)
        self._searchable: Searchable | None = None

    def holds(self, value: str) -> bool:
        """Whether the message shows a value."""
        if self._searchable is None:
            self._searchable = Searchable(shown_text(self.message))
        return self._searchable.holds(value)


@dataclass(frozen=True, slots=True)
class Demand:
    """A value that a step used and that only earlier messages could tell it.

    Attributes:
        value: as `values` reads it.
        source: index of the last observation that showed it.
        last_seen: index of the last message of any role that showed it.
        distance: tokens between the end of that message and the call.
    """

    value: str
    source: int
    last_seen: int
    distance: int

    @property
    def far(self) -> bool:
        return self.distance >= FAR


class Reading:
    """A transcript with its tokens, its demands and what its full history would cost.

    Attributes:
        ahead: `ahead[i]` is the tokens of the messages before message i.
    """

    def __init__(self, transcript: Transcript, counter: TokenCounter | None = None) -> None:
        self.transcript = transcript
        self.counter = counter or TokenCounter(encoding="cl100k_base")
        self._seen: dict[Any, Seen] = {}
        self._facts: dict[tuple[str, str], list[Fact]] = {}
        self.originals = [self.see(m.to_dict()) for m in transcript.messages]
        self.ahead = [0]
        for seen in self.originals:
            self.ahead.append(self.ahead[-1] + seen.tokens)

    def see(self, raw: Any) -> Seen:
        """The message in a context that this dict is; the same object for the same content."""
        fields = cast(dict[str, Any], raw) if isinstance(raw, dict) else {"role": repr(raw)}
        key = _key(fields)
        known = self._seen.get(key)
        if known is None:
            known = self._seen[key] = Seen(fields, self.counter)
        return known

    def see_all(self, context: list[Any], previous: list[Seen]) -> list[Seen]:
        """The messages of a context; those that stand where they stood in the previous one are known at a glance."""
        known = len(previous)
        return [previous[i] if i < known and raw == previous[i].raw else self.see(raw) for i, raw in enumerate(context)]

    def facts(self, text: str, *, source: str) -> list[Fact]:
        """`extract_facts`, each text read once for all replays: a message has the same ref in all of them."""
        known = self._facts.get((source, text))
        if known is None:
            known = self._facts[source, text] = extract_facts(text, source=source)
        return known

    def forget(self) -> None:
        """Drop what policies made (summaries, digests), so that it does not pile up over many replays."""
        self._seen = {_key(seen.raw): seen for seen in self.originals}

    @cached_property
    def head(self) -> frozenset[int]:
        """Indices of the system prompts and the task."""
        task = self.transcript.task_index
        systems = {i for i, m in enumerate(self.transcript.messages) if m.role in ("system", "developer")}
        return frozenset(systems if task is None else systems | {task})

    @property
    def head_tokens(self) -> int:
        return sum(self.originals[i].tokens for i in self.head)

    @cached_property
    def demands(self) -> dict[int, tuple[Demand, ...]]:
        """The demands of each step that has any, by step."""
        transcript, steps, head = self.transcript, set(self.transcript.steps), self.head
        observed: dict[str, int] = {}
        last_seen: dict[str, int] = {}
        found: dict[int, tuple[Demand, ...]] = {}
        for index, message in enumerate(transcript.messages):
            if index in head:
                continue
            if message.role != "assistant":
                shown = values(message.text)
                observed.update(dict.fromkeys(shown, index))
            else:
                used = values(used_text(message))
                if index in steps:
                    asked = sorted(v for v in used if v in observed and not self._told(index, v))
                    found[index] = tuple(
                        Demand(v, observed[v], last_seen[v], self.ahead[index] - self.ahead[last_seen[v] + 1])
                        for v in asked
                    )
                shown = used | values(message.text)
            last_seen.update(dict.fromkeys(shown, index))
        return {step: demands for step, demands in found.items() if demands}

    def _told(self, before: int, value: str) -> bool:
        return any(i < before and self.originals[i].holds(value) for i in self.head)

    def full_tokens(self, step: int) -> int:
        """Prompt tokens of a step when the whole history is sent."""
        return self.ahead[step] + REPLY_PRIMING

    @cached_property
    def full_cached(self) -> dict[int, int]:
        """Tokens of each step that the cache serves when the whole history is sent."""
        cached: dict[int, int] = {}
        common = 0
        for step in self.transcript.steps:
            cached[step] = INDEX.cached_tokens(common)
            common = self.ahead[step]
        return cached

    def full_price(self, steps: Iterable[int]) -> float:
        """The price of some steps when the whole history is sent."""
        known = list(steps)
        return price(sum(map(self.full_tokens, known)), sum(self.full_cached[step] for step in known))

    def common_tokens(self, previous: list[Seen], current: list[Seen]) -> int:
        """Tokens of the longest common beginning of two contexts.

        Inside the first message that differs, text is compared up to the last blank after a word before the
        difference, where byte-pair encodings always end a token; so the figure is never too high, and a word too low
        as a rule.
        """
        total = 0
        for before, now in zip(previous, current, strict=False):
            if before is not now:
                return total + self._common_inside(before, now)
            total += now.tokens
        return total

    def _common_inside(self, before: Seen, now: Seen) -> int:
        if before.message.role != now.message.role:
            return 0
        left, right = before.message.text, now.message.text
        same = common_prefix(left, right)
        if same < max(len(left), len(right)):
            same = left.rfind(" ", 0, same)
            while same > 0 and left[same - 1].isspace():
                same = left.rfind(" ", 0, same)
        return self.counter.count_by_line(left[:same]) if same > 0 else 0


def _key(raw: dict[str, Any]) -> Any:
    role, content, calls = raw.get("role"), raw.get("content"), raw.get("tool_calls")
    return (
        role if isinstance(role, str) else repr(role),
        content if isinstance(content, str) else _as_text(content) if content else "",
        tuple(map(_call_key, cast(list[Any], calls))) if isinstance(calls, list) else _as_text(calls),
        raw.get("tool_call_id") and str(raw["tool_call_id"]),
        raw.get("name") and str(raw["name"]),
    )


def _call_key(call: Any) -> Any:
    """A call's parts; its JSON where it has not the usual form."""
    fields = cast(dict[str, Any], call) if isinstance(call, dict) else {}
    function = fields.get("function")
    if isinstance(function, dict):
        named = cast(dict[str, Any], function)
        key = (fields.get("id"), named.get("name"), named.get("arguments"))
        if all(isinstance(part, str) for part in key):
            return key
    return _as_text(call)


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
