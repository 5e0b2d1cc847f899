"""Approval: calls that may change something are asked about before they run.

Only tools of risk `read` run by themselves. Any other call becomes a `PendingAction`, which names the tool and
the exact arguments; the answer holds for these arguments and no others, and only until it expires. Question and
answer are entries of the journal, so an answer may come from another process, and a resumed run does not ask what
was answered before.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

from ..memory.journal import Journal
from .guards import canonical_json

Why = Literal["risk", "unknown_end"]


@dataclass(frozen=True, slots=True)
class PendingAction:
    """A call that waits for an answer.

    `why` is `risk` for a call that may change something, `unknown_end` for one that had begun when its run was
    interrupted, so that nobody knows whether it took effect. `id` is a hash over all else: another tool, other
    arguments or another time of asking is another action. Times are in seconds since 1970 (UTC).
    """

    id: str
    run_id: str
    call: str
    tool: str
    arguments: dict[str, Any]
    risk: str
    why: Why
    asked_at: float
    expires_at: float

    @classmethod
    def ask(
        cls,
        *,
        run_id: str,
        call: str,
        tool: str,
        arguments: Mapping[str, Any],
        risk: str,
        why: Why,
        at: float,
        lasts: float,
    ) -> PendingAction:
        """A new question; `lasts` is how many seconds an answer is accepted."""
        new = cls("", run_id, call, tool, json.loads(canonical_json(arguments)), risk, why, at, at + lasts)
        return replace(new, id=_digest(new))

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> PendingAction:
        """Read what `to_dict` wrote.

        Raises:
            ValueError: a part is missing, or the id does not fit: something was changed after it was shown.
        """
        try:
            action = cls(**raw)
        except TypeError as error:
            raise ValueError(f"not a pending action: {error}") from error
        if action.id != _digest(action):
            raise ValueError(f"pending action {action.id}: its id does not fit its content; ask again")
        return action

    def to_dict(self) -> dict[str, Any]:
        """The action as JSON values."""
        return asdict(self)

    def describe(self) -> str:
        """One line for a person who decides."""
        line = f"{self.tool} ({self.risk}) {json.dumps(self.arguments, ensure_ascii=False)}"
        if self.why == "unknown_end":
            return f"{line}: had begun when the run was interrupted and may have taken effect. Run it again?"
        return line


@dataclass(frozen=True, slots=True)
class Allow:
    """Run the call as shown."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run the call; the model is told the reason."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """Run the tool with these arguments instead; the model is told."""

    arguments: dict[str, Any]


Decision = Allow | Deny | Change
Approver = Callable[[PendingAction], Decision | bool | Awaitable[Decision | bool]]
"""Answers a pending action, at once or later; True allows it, False denies it."""
Allowed = Collection[str | tuple[str, Mapping[str, Any]]]
"""What runs unasked: a tool by name with any arguments, or a tool with exactly these arguments."""


class RunPaused(Exception):  # noqa: N818 - it steers the run, nothing went wrong
    """The run waits for an answer that another process gives (`answer`, `carryforward approve RUN`)."""

    def __init__(self, action: PendingAction) -> None:
        super().__init__(f"waits for approval {action.id}: {action.describe()}")
        self.action = action


class ApprovalError(ValueError):
    """An answer that fits no open question: unknown, answered before, or expired."""


class Gate:
    """Decides on the calls of one run: by the allow list, by an answer in the journal, or by asking.

    `approve` is a callback, `"terminal"` (asks the person at the keyboard), `"journal"` (leaves the question in the
    journal and pauses the run), or None: nobody is there to be asked, and the answer is no. `lasts` is how many
    seconds an answer is accepted.
    """

    def __init__(
        self,
        journal: Journal,
        run_id: str,
        approve: Approver | Literal["terminal", "journal"] | None,
        allow: Allowed = (),
        *,
        lasts: float = 3600.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._journal, self._run_id, self._lasts, self._clock = journal, run_id, lasts, clock
        self._approve: Approver | Literal["journal"] | None = ask_terminal if approve == "terminal" else approve
        self._names = {rule for rule in allow if isinstance(rule, str)}
        self._exact = {(rule[0], canonical_json(rule[1])) for rule in allow if not isinstance(rule, str)}
        self._asked = {_bound_to(action): (action, decision) for action, decision in _questions(journal, run_id)}

    def open_to(self, tool: str, risk: str, arguments: Mapping[str, Any]) -> bool:
        """Whether the call runs unasked. A rule with arguments fits equal arguments only, never longer ones."""
        return risk == "read" or tool in self._names or (tool, canonical_json(arguments)) in self._exact

    def question(
        self, call: str, tool: str, arguments: Mapping[str, Any], risk: str, why: Why = "risk"
    ) -> tuple[PendingAction, Decision | None]:
        """The question about a call, asked before or now, and the answer it has been given while it was valid."""
        action = PendingAction.ask(
            run_id=self._run_id,
            call=call,
            tool=tool,
            arguments=arguments,
            risk=risk,
            why=why,
            at=self._clock(),
            lasts=self._lasts,
        )
        before = self._asked.get(_bound_to(action))
        if before is not None and self._clock() < before[0].expires_at:
            return before
        self._journal.append(self._run_id, "approval", {"asked": action.to_dict()})
        self._asked[_bound_to(action)] = (action, None)
        return action, None

    async def decide(self, action: PendingAction) -> Decision:
        """Ask about the action, and record the answer.

        Raises:
            RunPaused: the answer is to come from another process.
            TypeError: the approver gave something that is no answer; the call is not run.
        """
        if self._approve is None:
            decision: Decision = Deny("it needs approval, and nobody is there to give it")
        elif self._approve == "journal":
            raise RunPaused(action)
        else:
            answered = self._approve(action)
            decision = _as_decision(await answered if inspect.isawaitable(answered) else answered)
        if self._clock() >= action.expires_at:
            decision = Deny("the approval came too late")
        self._journal.append(action.run_id, "approval", {"answered": action.id, **_decision_to_dict(decision)})
        return decision


def pending_actions(journal: Journal, run_id: str) -> list[PendingAction]:
    """The questions of a run that have no answer yet, expired ones included."""
    return [action for action, decision in _questions(journal, run_id) if decision is None]


def answer(
    journal: Journal, run_id: str, action_id: str, decision: Decision, *, clock: Callable[[], float] = time.time
) -> PendingAction:
    """Answer a question that a run left in the journal; `Agent.resume(run_id)` then goes on with it.

    Raises:
        ApprovalError: no such question, answered before, or expired (resume the run: it asks again).
    """
    found = {action.id: (action, decision) for action, decision in _questions(journal, run_id)}
    if action_id not in found:
        raise ApprovalError(f"run {run_id} has no question {action_id!r}; open ones: {', '.join(found) or 'none'}")
    action, before = found[action_id]
    if before is not None:
        raise ApprovalError(f"question {action_id} of run {run_id} was answered before")
    if clock() >= action.expires_at:
        raise ApprovalError(f"question {action_id} of run {run_id} has expired; resume the run, it asks again")
    journal.append(run_id, "approval", {"answered": action_id, **_decision_to_dict(decision)})
    return action


async def ask_terminal(action: PendingAction) -> Decision:
    """Ask the person at the keyboard: y, n, or changed arguments as JSON. Without a terminal the answer is no."""
    if not sys.stdin.isatty():
        return Deny("it needs approval, and there is no terminal to ask at")
    prompt = f"\n{action.describe()}\n[y]es, [n]o, or other arguments as a JSON object: "
    while True:
        reply = (await asyncio.to_thread(input, prompt)).strip()
        if reply.lower() in ("y", "yes", "是"):
            return Allow()
        if reply.lower() in ("", "n", "no", "否"):
            return Deny("the user said no")
        try:
            changed: Any = json.loads(reply)
        except ValueError:
            changed = None
        if isinstance(changed, dict):
            return Change(cast(dict[str, Any], changed))
        prompt = "Please answer y, n, or a JSON object: "


def _questions(journal: Journal, run_id: str) -> list[tuple[PendingAction, Decision | None]]:
    asked: dict[str, PendingAction] = {}
    answers: dict[str, Decision] = {}
    for entry in journal.entries(run_id, "approval"):
        if "asked" in entry.body:
            try:
                action = PendingAction.from_dict(entry.body["asked"])
            except ValueError:  # changed after it was shown (or a secret in it hidden): no answer can hold for it
                continue
            asked[action.id] = action
        elif "answered" in entry.body:
            answers.setdefault(entry.body["answered"], _decision_from_dict(entry.body))
    return [(action, answers.get(action.id)) for action in asked.values()]


def _bound_to(action: PendingAction) -> tuple[str, str, str, str]:
    return action.call, action.tool, canonical_json(action.arguments), action.why


def _as_decision(answer: object) -> Decision:
    if isinstance(answer, bool):
        return Allow() if answer else Deny()
    if isinstance(answer, Allow | Deny | Change):
        return answer
    raise TypeError(f"approve gave {answer!r:.80}: it must be Allow(), Deny(reason), Change(arguments), True or False")


def _decision_to_dict(decision: Decision) -> dict[str, Any]:
    match decision:
        case Allow():
            return {"decision": "allow"}
        case Deny(reason):
            return {"decision": "deny", "reason": reason}
        case Change(arguments):
            return {"decision": "change", "arguments": arguments}


def _decision_from_dict(body: Mapping[str, Any]) -> Decision:
    match body.get("decision"):
        case "allow":
            return Allow()
        case "change":
            return Change(dict(body["arguments"]))
        case _:
            return Deny(str(body.get("reason", "")))


def _digest(action: PendingAction) -> str:
    shown = canonical_json({**asdict(action), "id": ""})
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:16]
