"""What the journal says of a run that is taken up again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..memory.journal import Entry
from .formats import FormatName, FormatProblem, Language
from .guards import Spent


@dataclass(frozen=True, slots=True)
class Observation:
    """What one call gave: its text for the model, and whether it is a failure or a denial."""

    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class PastCall:
    """A finished call of an earlier turn."""

    name: str
    arguments: dict[str, Any]
    observation: Observation


@dataclass(slots=True)
class OpenTurn:
    """The last assistant message, and how many messages already answer it."""

    ref: str
    message: dict[str, Any]
    problem: FormatProblem | None
    answered: int = 0


@dataclass(slots=True)
class Past:
    """The state of a run; of a new one, all is empty.

    `opening` holds the first messages, system prompt and task, where the run was cut off before they were added;
    `format` is None where it was cut off before that was noted. `started` holds the arguments of each time a call was
    begun, `finished` the result of each call that came to its end, both by the name of the call: the ref of its
    message and its place in it (`m7.0`).
    """

    task: str = ""
    format: FormatName | None = None
    language: Language = "en"
    opening: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    spent: Spent = field(default_factory=Spent)
    started: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    finished: dict[str, PastCall] = field(default_factory=dict[str, PastCall])
    open_turn: OpenTurn | None = None
    result: dict[str, Any] | None = None
    remembered: bool = False

    def turns(self) -> list[list[PastCall]]:
        """The finished calls of all turns but the open one, turn by turn."""
        turns: dict[str, list[PastCall]] = {}
        for call, done in self.finished.items():
            turns.setdefault(call.partition(".")[0], []).append(done)
        if self.open_turn is not None:
            turns.pop(self.open_turn.ref, None)
        return list(turns.values())


def read_past(entries: Sequence[Entry]) -> Past:
    """The state that the entries of a run leave behind."""
    past = Past()
    problem: FormatProblem | None = None
    for entry in entries:
        body = entry.body
        if entry.kind == "message" and past.opening:
            past.opening.pop(0)
        match entry.kind:
            case "run":
                roles = ("system", "user")
                past.task = body["task"]
                texts = (body["system"], past.task)
                past.opening = [{"role": r, "content": text} for r, text in zip(roles, texts, strict=True) if text]
            case "recall" if past.opening:
                past.opening[-1]["content"] += f"\n\n{body['notes']}"
            case "agent":
                past.format, past.language = body["format"], body["language"]
            case "reply":
                past.spent = Spent(**body["spent"])
                problem = FormatProblem(**body["problem"]) if body["problem"] else None
            case "message" if body["message"]["role"] == "assistant":
                past.open_turn = OpenTurn(body["ref"], body["message"], problem)
            case "message" if past.open_turn is not None:
                past.open_turn.answered += 1
            case "call_started":
                past.started.setdefault(body["call"], []).append(body["arguments"])
            case "call_finished":
                observation = Observation(body["result"], body["failed"])
                past.finished[body["call"]] = PastCall(body["name"], body["arguments"], observation)
            case "result":
                past.result = body
            case "outcome":
                past.remembered = True
            case _:
                pass
    return past
