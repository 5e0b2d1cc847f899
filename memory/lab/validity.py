"""Whether a context is one that an OpenAI-compatible server accepts and that still says what the task is.

The rules for calls and results are those of the chat completions API
(https://platform.openai.com/docs/api-reference/chat/create): each call is answered once, directly after its message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .reading import Reading, Seen

# A shortened task must begin as the task does, for this many characters and tokens (whichever is less) …
_BEGINNING_CHARACTERS, _BEGINNING_TOKENS = 100, 40
# … and say that it was shortened.
_MARK = re.compile(
    r"…|\.\.\.|shorten|truncat|omitted|\bcut\b|trimmed|summar|compress|省略|截断|缩短|摘要", re.IGNORECASE
)


class Validity:
    """Checks the contexts of one replay, one after the other; of a context that has only grown, only what is new."""

    def __init__(self, reading: Reading) -> None:
        self._task = reading.transcript.task
        start = self._task[:_BEGINNING_CHARACTERS]
        self._beginning = reading.counter.truncate(start, _BEGINNING_TOKENS)
        self._has_user = reading.transcript.task_index is not None
        self._states: dict[Seen, str] = {}
        self._reset()

    def _reset(self) -> None:
        self._length = 0
        self._found: list[str] = []
        self._asked: tuple[str, ...] = ()  # calls of the running block, and those of them without a result
        self._open: set[str] = set()
        self._user_seen = False
        self._task_seen: set[str] = set()

    def faults(self, context: Sequence[Seen], *, grown: bool) -> tuple[str, ...]:
        """What is wrong with a context, in words; empty where nothing is.

        Args:
            grown: the context begins with the whole of the one checked before.
        """
        if not grown:
            self._reset()
        for seen in context[self._length :]:
            self._take(seen)
        self._length = len(context)
        if not context:
            return ("the context is empty",)
        return (*self._found, *_unanswered(self._open), *(self._task_faults() if self._has_user else ()))

    def _take(self, seen: Seen) -> None:
        message = seen.message
        if fault := seen.fault or _fault(seen):
            self._found.append(fault)
        if message.role == "tool":
            answers = message.tool_call_id or ""
            if answers in self._open:
                self._open.discard(answers)
            elif answers in self._asked:
                self._found.append(f"second result of {answers!r}")
            else:
                self._found.append(f"result of {answers!r} without its call")
            return
        self._found += _unanswered(self._open)
        self._asked, self._open = seen.call_ids, set(seen.call_ids)
        if message.role != "assistant":
            self._user_seen = self._user_seen or message.role == "user"
            self._task_seen.add(self._state(seen))

    def _task_faults(self) -> list[str]:
        found = [] if self._user_seen else ["no user message"]
        if "shown" not in self._task_seen:
            found.append("the task was cut without a mark" if "cut" in self._task_seen else "the task is gone")
        return found

    def _state(self, seen: Seen) -> str:
        known = self._states.get(seen)
        if known is None:
            known = self._states[seen] = self._look(seen.message.text)
        return known

    def _look(self, text: str) -> str:
        if self._task in text:
            return "shown"
        at = text.find(self._beginning)
        if at < 0:
            return "absent"
        return "shown" if _MARK.search(text, at + len(self._beginning)) or _MARK.search(text[:at]) else "cut"


def _fault(seen: Seen) -> str:
    message = seen.message
    if message.content is None and not message.tool_calls:
        return f"{message.role} message without content"
    if len(set(seen.call_ids)) != len(seen.call_ids) or not all(seen.call_ids):
        return "calls without an id of their own"
    return ""


def _unanswered(calls: set[str]) -> list[str]:
    return [f"call {call!r} without a result" for call in sorted(calls)]
