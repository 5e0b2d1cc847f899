"""Short-term memory: a journal, a policy and a budget give the context of the next call."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast
from uuid import uuid4

from . import lookup
from .calibration import Calibration
from .carry import block
from .facts import WorkingFacts
from .journal import Entry, Journal, JournalError
from .messages import Message, MessageError, ToolCall
from .model_summary import Written
from .policies import Desk, Policy, Tiered
from .policies.guarantee import fit
from .repair import Admitted, Intake
from .rules import merge_turns
from .summaries import ExtractiveSummarizer, Guarded, Summarizer
from .tokens import REPLY_PRIMING, Budget, BudgetError, TokenCounter
from .view import Compaction, View

log = logging.getLogger("carryforward.short_term")

CARRY_SHARE = 0.5  # of the room: the block of summary and facts
SUMMARY_SHARE = 0.06  # of the room: the summary inside the block, less what makes none worth while in a small room
PAGE_SHARE = 0.2  # of the room: a page of `lookup`
MIN_FREED = 0.1  # of the room: a compaction that would free less is not made
LEAST_ROOM = 0.25  # of the budget: what policies reckon with when system prompt and task take nearly all of it
CONTINUE = {"role": "user", "content": "Continue."}
_CONTINUE_TOKENS = 8
_LEAST_SUMMARY = 40


class ShortTermMemory:
    """The message list of one run, shortened to a token budget.

    `context()` is valid for an OpenAI-compatible server and within the budget, whatever was added. What leaves it
    stays in the journal and can be read by its ref with `lookup`.

    Args:
        budget: tokens of the context, or a `Budget`.
        policy: decides what leaves; `Tiered()` by default.
        counter: counts tokens; by default `TokenCounter()`.
        facts: the store of working facts; a new one by default.
        journal: the record; in memory by default.
        tools: tool schemas that are sent with each call; they count.
        run: the run's id in the journal; a new one by default.
        summarizer: writes the summary of folded steps; extractive by default.
        alternate: merge neighbouring turns of one role, for servers that insist on alternation.
    """

    def __init__(
        self,
        budget: int | Budget,
        *,
        policy: Policy | None = None,
        counter: TokenCounter | None = None,
        facts: WorkingFacts | None = None,
        journal: Journal | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        run: str | None = None,
        summarizer: Summarizer | None = None,
        alternate: bool = False,
    ) -> None:
        if not isinstance(cast(object, budget), int | Budget):
            raise TypeError(f"the budget must be a number of tokens or a Budget, got {budget!r}")
        self.budget = budget if isinstance(budget, Budget) else Budget(budget)
        self.policy: Policy = policy or Tiered()
        self.counter = counter or TokenCounter()
        self.facts = facts if facts is not None else WorkingFacts()
        self.journal = journal or Journal()
        self.run = run or uuid4().hex[:12]
        self.facts.on_edit = partial(self.journal.append, self.run, "fact")  # no circle: what is dropped is freed
        self.compactions: list[Compaction] = []
        self.alternate = alternate
        self.calibration = Calibration()
        extractive = ExtractiveSummarizer(self.counter)
        self._failed = partial(self.journal.append, self.run, "summary_failed")
        self._summarizer = Guarded(summarizer, extractive, self._failed) if summarizer else extractive
        self._write: Callable[..., Awaitable[Written]] | None = getattr(summarizer, "write", None)
        self._intake = Intake()
        self._messages: dict[str, Message] = {}  # every message as it came, by its ref
        self._numbered = 0  # the number of the last ref
        self._calls: dict[str, ToolCall] = {}  # by id, the latest where ids are used again
        self._reread: set[str] = set()  # refs of what `lookup` brought back
        self._futile = 0  # tokens under which a compaction would free too little, as the last attempt showed
        self._system_tokens = 0
        overhead = REPLY_PRIMING + self.counter.tools(tools)
        self._view = View(self.counter, overhead=overhead, tokens=overhead)

    # Adding ---------------------------------------------------------------------------------------

    def add(self, message: Message | Mapping[str, Any]) -> str:
        """Add the next message and return its ref. The message is copied, repaired if needed, and never changed.

        Raises:
            MessageError: the message has an unknown role or an unreadable shape; nothing was added.
            JournalError: the message can't be written down; nothing was added.
        """
        try:
            m = Message.from_dict(message.to_dict() if isinstance(message, Message) else message)
        except MessageError as error:
            raise MessageError(self.journal.redacted(str(error))) from None  # it names what it can't take
        if self.journal.has_secrets:
            m = m.redacted(self.journal.redacted)
        intake = self._intake.copy()  # takes the place of the old one when the message is written down
        before, own = intake.admit(m)
        mended = [a.mended for a in (*before, own) if a is not None and a.mended]
        if own is None:
            mended.append("left out of the context")
        ref = f"m{self._numbered + len(before) + 1}"
        self.journal.append(self.run, "message", {"ref": ref, "message": m.to_dict(), "mended": mended})
        self._intake = intake
        self._take(m, before, own)
        return ref

    def extend(self, messages: Iterable[Message | Mapping[str, Any]]) -> list[str]:
        """Add several messages in order; returns their refs."""
        return [self.add(message) for message in messages]

    def _take(
        self, message: Message, before: Sequence[Admitted], own: Admitted | None, *, shorten: bool = True
    ) -> None:
        """Number a message and what must join before it, and let them join."""
        joining = [(self._new_ref(a.message), a) for a in before]
        ref = self._new_ref(message)
        if own is not None:
            joining.append((ref, own))
        for each, admitted in joining:
            self._join(each, admitted, shorten=shorten)

    def _new_ref(self, message: Message) -> str:
        self._numbered += 1
        ref = f"m{self._numbered}"
        self._messages[ref] = message
        return ref

    def _join(self, ref: str, admitted: Admitted, *, shorten: bool = True) -> None:
        """Append a message to the view, read its facts, and let the policy shorten it."""
        message = admitted.message
        line = self._view.append(ref, message, may_be_task=not admitted.is_stray)
        if self._view.is_opening(line):
            self._system_tokens += line.tokens
        elif ref == self._view.task:
            return
        elif message.role == "assistant":
            self._calls.update((call.id, call) for call in message.tool_calls)
            self.facts.use("\n".join([message.text, *(call.arguments for call in message.tool_calls)]), ref)
        else:
            call = self._calls.get(message.tool_call_id or "")
            if call is not None and call.name == lookup.TOOL:
                self._reread.add(ref)
            else:
                asked = (call.name, call.arguments) if call is not None else (None, None)
                self.facts.defer(message.text, ref, call=asked[0], asked=asked[1])
            if shorten:
                before = self._view.tokens
                self.policy.arrive(self._view, line, self._desk())
                try:
                    self._record("arrival", before)
                except JournalError as error:  # the message itself is written down
                    log.warning("%s; what was shortened is written with the next compaction", error)

    # Reading --------------------------------------------------------------------------------------

    def context(self) -> list[dict[str, Any]]:
        """The messages to send now: valid, and within the budget. The dicts are shared between calls: don't edit them.

        Raises:
            BudgetError: system prompt and tool schemas alone leave no room for a task.
        """
        if not self._intake.is_whole:
            self.journal.append(self.run, "repair", {"what": "open calls closed"})
            self._settle()
        self._shrink()
        messages = self._view.messages()
        if self.alternate:
            messages = merge_turns(messages)
        if self._messages and (self._view.last_user is None or messages[-1]["role"] == "assistant"):
            messages.append(dict(CONTINUE))
        return messages

    @property
    def tokens(self) -> int:
        """Tokens of the context as it stands, tool schemas and reply priming counted."""
        return self._view.tokens

    @property
    def limit(self) -> int:
        """Tokens that the context may take by this counter, after calibration by the server's own counts."""
        return int(self.budget.limit / self.calibration.ratio)

    def messages(self) -> list[tuple[str, Message]]:
        """Every message of the run as it came, with its ref, whether it is in the context or not."""
        return list(self._messages.items())

    def lookup(self, ref_or_words: str, *, page: int = 1) -> str:
        """Read again what has left the context: a message by its ref (`m21`), or the messages that hold some words."""
        size = int(self._desk().room * PAGE_SHARE)
        return lookup.read_again(self._messages, self._reread, self.facts, ref_or_words, page, size)

    def learn_usage(self, prompt_tokens: int) -> None:
        """Tell what the server counted for the last context, so that the budget holds by its tokenizer too."""
        warning = self.calibration.learn(self.tokens, prompt_tokens)
        if warning:
            log.warning(warning)
        self.journal.append(self.run, "usage", {"counted": self.tokens, "reported": prompt_tokens, "warning": warning})

    def shrink(self, share: float) -> None:
        """Work within this share of the present context from now on: the server found it too long."""
        present = min(self.budget.limit, self.tokens * self.calibration.ratio)
        budget = Budget(max(1, int(present * share)))
        self.journal.append(self.run, "budget", {"limit": budget.limit})
        self.budget = budget

    # Compacting -----------------------------------------------------------------------------------

    async def compact(self) -> None:
        """Make the compaction that is due, and let the summariser's model write the summary.

        Nothing happens while results of calls are still to come: their calls must not leave before them.
        """
        if not self._intake.is_whole:
            return
        folded = len(self._view.gone)
        previous = self._view.summary
        self._shrink()
        room = self._desk().summary_room
        if self._write is None or not room or len(self._view.gone) == folded:
            return
        left = [(ref, self._messages[ref]) for ref in self._view.gone[folded:]]
        written = await self._write(previous, left, room)
        if written.failure:
            self._failed({"why": written.failure})
            return
        before = self._view.tokens
        with self._or_as_it_was():
            self._view.summary = written.text
            self._carry()
            self._record("summary", before)

    def _shrink(self) -> None:
        """Compact if the high mark is passed; at least until the context fits."""
        limit = self.limit - _CONTINUE_TOKENS
        room = self._desk().room
        high = self._fixed() + int(room * self.policy.high) - _CONTINUE_TOKENS
        before = self._view.tokens
        if before <= min(high, limit) or self._futile > before <= limit:
            return
        with self._or_as_it_was() as kept:
            self._edit(limit, room)
            if before > limit or before - self._view.tokens >= MIN_FREED * room:
                self._record("high mark" if before <= limit else "over budget", before)
                return
        self._view = kept
        futile = before + int(MIN_FREED * room)
        self.journal.append(self.run, "futile", {"below": futile})
        self._futile = futile

    @contextmanager
    def _or_as_it_was(self) -> Generator[View]:
        """Edits of the view that are undone where they fail or can't be written down; gives the view as it was."""
        kept = self._view.copy()
        try:
            yield kept
        except (BudgetError, JournalError):
            self._view = kept
            raise

    def _edit(self, limit: int, room: int) -> None:
        """Let the policy edit the view, then the guarantee, then carry forward what has left."""
        self._view.carry("")
        goal = self._fixed() + int(room * self.policy.low) - int(room * CARRY_SHARE)
        self.policy.compact(self._view, goal, self._desk())
        fit(self._view, limit, self.counter)
        self._carry()

    def _carry(self) -> None:
        """Set the carried-forward block, as large as its share and the budget allow."""
        self._view.carry("")
        limit = self.limit - _CONTINUE_TOKENS
        free = min(int(self._desk().room * CARRY_SHARE), limit - self._view.tokens)
        self._view.carry(block(self._view, self.facts, free, self._about()))
        if self._view.tokens > limit:  # a token more where task and block join
            self._view.carry(block(self._view, self.facts, free - 8, self._about()))

    def _record(self, reason: str, before: int) -> None:
        if self._view.edits:
            compaction = Compaction(reason, before, self._view.tokens, tuple(self._view.edits), self._view.summary)
            self.journal.append(self.run, "compaction", compaction.to_dict())
            self._view.edits.clear()
            self.compactions.append(compaction)

    def _settle(self) -> None:
        for admitted in self._intake.settle():
            self._join(self._new_ref(admitted.message), admitted)

    def _fixed(self) -> int:
        """Tokens that no policy can free."""
        return self._view.overhead + self._system_tokens + self._view.task_tokens

    def _desk(self) -> Desk:
        limit = self.limit
        room = max(limit - self._fixed(), int(limit * LEAST_ROOM))
        return Desk(
            self.counter,
            self.facts,
            self._summarizer,
            room,
            self._about(),
            max(0, int(room * SUMMARY_SHARE) - _LEAST_SUMMARY),
        )

    def _about(self) -> str:
        return self._messages[self._view.task].text if self._view.task else ""

    # Resuming -------------------------------------------------------------------------------------

    def restore(self, entries: Iterable[Entry]) -> None:
        """Take up a run where its journal ends: the same context as before, byte for byte.

        Only for a memory to which nothing was added yet, with the budget, policy and counter of the run. Where entries
        are lost, the others keep their refs, and the context is shortened anew: old edits may not fit what is left.
        """
        kept = list(entries)
        is_whole = [entry.seq for entry in kept] == list(range(1, len(kept) + 1))
        for entry in kept:
            if entry.kind == "message":
                message = Message.from_dict(entry.body["message"])
                before, own = self._intake.admit(message)
                self._numbered = max(self._numbered, int(entry.body["ref"][1:]) - len(before) - 1)
                self._take(message, before, own, shorten=False)
            elif entry.kind == "repair":
                for admitted in self._intake.settle():
                    self._join(self._new_ref(admitted.message), admitted, shorten=False)
            elif entry.kind == "compaction" and is_whole:
                compaction = Compaction.from_dict(entry.body)
                self._view.apply(compaction)
                self.compactions.append(compaction)
            elif entry.kind == "usage":
                self.calibration.learn(entry.body["counted"], entry.body["reported"])
            elif entry.kind == "budget":
                self.budget = Budget(entry.body["limit"])
            elif entry.kind == "fact":
                self.facts.redo(entry.body)
            elif entry.kind == "futile":
                self._futile = entry.body["below"]
