"""The three memories as one: what an agent, ours or anyone's, talks to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .facts import Fact, Figure, WorkingFacts, unsupported_figures
from .journal import Journal, JournalError
from .messages import Message
from .policies import Policy
from .short_term import ShortTermMemory
from .summaries import ExtractiveSummarizer, Summarizer
from .tokens import Budget, TokenCounter

if TYPE_CHECKING:
    from .long_term import LongTermMemory, Outcome, Recall
    from .long_term.outcome import Status

RECALL_SHARE = 0.1  # of the budget: notes from earlier tasks
OUTCOME_SUMMARY_TOKENS = 400
OUTCOME_FACTS = 40


class Memory:
    """Short-term memory, working facts and long-term memory of one run at a time.

    `begin` opens a run, `add` and `context` carry it, `finish` stores its outcome.

    Args:
        budget: tokens of one call's context, or a `Budget`.
        policy: decides what leaves the context; `Tiered()` by default.
        long_term: where outcomes are kept and recalled from; none by default.
        journal: the record, or the path of one; in memory by default.
        counter: counts tokens; by default `TokenCounter()`.
        summarizer: writes summaries of folded steps; extractive by default.
        recall_k: outcomes recalled at most for a new task.
        recall_tokens: tokens they may take; by default a tenth of the budget.
        alternate: merge neighbouring turns of one role.
    """

    def __init__(
        self,
        budget: int | Budget,
        *,
        policy: Policy | None = None,
        long_term: LongTermMemory | None = None,
        journal: Journal | str | Path | None = None,
        counter: TokenCounter | None = None,
        summarizer: Summarizer | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        recall_k: int = 3,
        recall_tokens: int | None = None,
        alternate: bool = False,
    ) -> None:
        self.budget = budget if isinstance(budget, Budget) else Budget(budget)
        self.long_term = long_term
        self.journal = journal if isinstance(journal, Journal) else Journal(journal or ":memory:")
        self.counter = counter or TokenCounter()
        self.recalled: list[Recall] = []
        self.task = ""
        self._notes = ""  # the recalled outcomes as they were shown
        self._policy = policy
        self.summarizer = summarizer  # of the runs that begin from now on
        self._tools = self._own_tools = tools
        self._alternate = alternate
        self._recall_k = recall_k
        self._recall_tokens = recall_tokens or int(self.budget.limit * RECALL_SHARE)
        self._outcome_id = ""  # chosen when the run begins, so that one finished twice leaves one outcome
        self._open = False  # whether a run was begun or resumed, and not finished
        self._tags: tuple[str, ...] = ()
        self._started_at = datetime.now(UTC)
        self._tokens_sent = 0
        self.short_term = self._new_run(uuid4().hex[:12])

    @property
    def run_id(self) -> str:
        return self.short_term.run

    @property
    def facts(self) -> WorkingFacts:
        return self.short_term.facts

    def begin(
        self,
        task: str,
        *,
        system: str | None = None,
        run_id: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tags: Iterable[str] = (),
    ) -> list[Recall]:
        """Open a run: system prompt and task are added, and relevant outcomes of earlier tasks are shown once.

        Returns the recalls that were shown, best first.

        Raises:
            JournalError: the run exists already, or another process works on it.
            ValueError: the task is empty.
        """
        if not task.strip():
            raise ValueError("the task is empty: say what is to be done")
        task = self.journal.redacted(task)
        run = run_id or uuid4().hex[:12]
        if self.journal.entries(run, "run"):
            raise JournalError(f"run {run} exists already: resume it, or begin another")
        self.journal.release(self.run_id)  # the run that was open here can be resumed
        self.journal.claim(run)
        self._tools = tools if tools is not None else self._own_tools
        self.short_term = self._new_run(run)
        self._open = True
        self.task, self._tags, self._started_at, self._tokens_sent = task, tuple(tags), datetime.now(UTC), 0
        self._outcome_id = uuid4().hex
        told = {"task": task, "system": system, "tools": self._tools, "tags": self._tags, "outcome": self._outcome_id}
        self.journal.append(run, "run", told)
        self.recalled, self._notes = [], ""
        self._notes = self._recall(task)
        if system:
            self.add({"role": "system", "content": system})
        self.add({"role": "user", "content": f"{task}\n\n{self._notes}" if self._notes else task})
        return self.recalled

    def add(self, message: Message | Mapping[str, Any]) -> str:
        """Add the next message of the run; returns its ref."""
        return self.short_term.add(message)

    def context(self) -> list[dict[str, Any]]:
        """The messages to send now, valid and within the budget."""
        messages = self.short_term.context()
        self._tokens_sent += self.short_term.tokens
        return messages

    async def compact(self) -> None:
        """Let a compaction that is due be made with the summariser's model; without one, `context` does all."""
        await self.short_term.compact()

    def learn_usage(self, prompt_tokens: int) -> None:
        """Tell how many prompt tokens the server counted for the last context."""
        self.short_term.learn_usage(prompt_tokens)

    def shrink(self, share: float) -> None:
        """Work within this share of the present context from now on: the server found it too long."""
        self.short_term.shrink(share)

    def lookup(self, ref_or_words: str, *, page: int = 1) -> str:
        """Read again what has left the context."""
        return self.short_term.lookup(ref_or_words, page=page)

    def recall(self, goal: str, *, k: int | None = None) -> list[Recall]:
        """Outcomes of earlier tasks that are relevant for a goal; empty where there is no long-term memory."""
        return self.long_term.recall(goal, k=k or self._recall_k) if self.long_term is not None else []

    def unsupported(self, text: str) -> list[Figure]:
        """The figures of a text that no observation, the task, a recalled outcome or a calculation accounts for.

        A bare number (`pier 7`) is accounted for where it stands anywhere in what was read.
        """
        found = unsupported_figures(text, self.facts.readings(), also=[self.task, self._notes])
        bare = [f for f in found if f.fact.unit is None and f.fact.kind == "quantity"]
        if not bare:
            return found
        read = "\n".join(m.text for _, m in self.short_term.messages() if m.role in ("user", "tool"))
        stands = {f.text for f in bare if re.search(rf"(?<![\w.]){re.escape(f.text)}(?![\w]|\.\d)", read)}
        return [f for f in found if f.text not in stands or f not in bare]

    def finish(self, result: str, status: Status = "succeeded", *, lessons: Sequence[str] = ()) -> Outcome:
        """Close the run and keep its outcome. `status` is one of succeeded, failed, abandoned.

        Made by rules from the journal: no model is asked. What was recalled for this run is not part of it, nor are
        the secrets that the journal hides. Where a process dies before the journal says that the outcome was kept, the
        run is finished again, and its outcome takes the place of the first.

        Raises:
            JournalError: no run is open.
        """
        if not self._open:
            raise JournalError("no run is open: begin or resume one before you finish it")
        from .long_term import Outcome

        messages, hide = self.short_term.messages(), self.journal.redacted
        result = hide(result)
        outcome = Outcome(
            goal=self.task,
            result=result,
            status=status,
            summary=self._summary(messages),
            facts=tuple(self._facts_that_mattered(result)),
            lessons=tuple(map(hide, lessons)),
            tools=tuple(sorted({call.name for _, m in messages for call in m.tool_calls})),
            steps=sum(m.role == "assistant" for _, m in messages),
            tokens=self._tokens_sent,
            started_at=self._started_at,
            finished_at=datetime.now(UTC),
            tags=self._tags,
            id=self._outcome_id,
            run_id=self.run_id,
        )
        if self.long_term is not None:
            self.long_term.remember(outcome)
        self.journal.append(self.run_id, "outcome", {"id": outcome.id, "status": status, "result": result})
        self.journal.release(self.run_id)
        self._open = False
        return outcome

    def resume(self, run_id: str) -> None:
        """Take up an unfinished run where its journal ends; the context is the same as before, byte for byte.

        Raises:
            JournalError: there is no such run, it is finished, or another process works on it.
        """
        entries = self.journal.entries(run_id)
        opening = next((e for e in entries if e.kind == "run"), None)
        if opening is None and entries:
            raise JournalError(f"run {run_id} in {self.journal.path} can't be resumed: its first entry is damaged")
        if opening is None:
            known = ", ".join(info.run for info in self.journal.runs()[-5:]) or "none"
            raise JournalError(f"there is no run {run_id} in {self.journal.path}; the last ones are: {known}")
        if any(e.kind == "outcome" for e in entries):
            raise JournalError(f"run {run_id} is finished; begin a new one")
        self.journal.claim(run_id)
        self._tools = opening.body["tools"]
        self.task, self._tags = opening.body["task"], tuple(opening.body["tags"])
        self._outcome_id = opening.body.get("outcome") or uuid4().hex
        self._started_at, self._tokens_sent, self.recalled = datetime.fromisoformat(opening.at), 0, []
        self._notes = next((e.body["notes"] for e in entries if e.kind == "recall"), "")
        self.short_term = self._new_run(run_id)
        self._open = True
        if not any(e.kind in ("message", "recall") for e in entries):  # it was cut off before it could recall
            self._notes = self._recall(self.task)
        self.short_term.restore(entries)

    def close(self) -> None:
        """Close journal and long-term memory."""
        self.journal.close()
        if self.long_term is not None:
            self.long_term.close()

    def _new_run(self, run: str) -> ShortTermMemory:
        return ShortTermMemory(
            self.budget,
            policy=self._policy,
            counter=self.counter,
            journal=self.journal,
            tools=self._tools,
            run=run,
            summarizer=self.summarizer,
            alternate=self._alternate,
        )

    def _recall(self, task: str) -> str:
        """Find relevant outcomes; returns them as the notes that are shown, and records what was shown."""
        if self.long_term is None:
            return ""
        from .long_term import format_recalls

        self.recalled = self.long_term.recall(task, k=self._recall_k, budget_tokens=self._recall_tokens)
        if not self.recalled:
            return ""
        notes = format_recalls(self.recalled, self._recall_tokens, self.counter.count)
        self.journal.append(self.run_id, "recall", {"shown": [r.outcome.id for r in self.recalled], "notes": notes})
        return notes

    def _summary(self, messages: Sequence[tuple[str, Message]]) -> str:
        """The way to the result, a line a step; the task and what was recalled with it left out."""
        steps: list[list[tuple[str, Message]]] = []
        for ref, message in messages:
            if message.role == "tool" and steps:
                steps[-1].append((ref, message))
            elif message.role == "assistant":
                steps.append([(ref, message)])
        return ExtractiveSummarizer(self.counter).summarize("", steps, OUTCOME_SUMMARY_TOKENS)

    def _facts_that_mattered(self, result: str) -> list[Fact]:
        """The facts whose words stand in the result, and the ones that actions used, newest first."""
        in_result = [fact for fact in self.facts.readings() if fact.text in result]
        used = [fact for fact in self.facts.used() if fact.text not in result]
        return (in_result[::-1] + used[::-1])[:OUTCOME_FACTS]
