"""What a run tells while it goes on: one small frozen object for each thing that happens (`Agent.stream`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..memory.messages import redacted_value
from .approval import PendingAction
from .guards import Spent

if TYPE_CHECKING:
    from .result import RunResult

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began, or was taken up again (`resumed`)."""

    run_id: str
    task: str
    resumed: bool


@dataclass(frozen=True, slots=True)
class Recalled:
    """Outcomes of earlier tasks that were shown to the model: `carryforward.memory.Recall` objects."""

    recalls: Sequence[Any]


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The context of a model call is ready: its size against the budget, both in tokens, and its messages."""

    step: int
    tokens: int
    limit: int
    messages: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """The context was shortened: why, and its tokens before and after."""

    step: int
    reason: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """A reply came: its text and reasoning, what this call used, what the run has used so far."""

    step: int
    text: str
    reasoning: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    seconds: float
    spent: Spent


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool is called, or its kept result used (`cached`). `call` names the call within the run."""

    step: int
    call: str
    name: str
    arguments: Mapping[str, Any]
    cached: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """What a call gave: the whole text, whether it is a failure, and the seconds it took."""

    step: int
    call: str
    name: str
    text: str
    failed: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class ApprovalNeeded:
    """A call waits for an answer, or is denied because nobody can give one."""

    step: int
    action: PendingAction


@dataclass(frozen=True, slots=True)
class Warned:
    """Something a person may want to know: a loop, a reply that could not be read, a server's oddity."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over; always the last event."""

    result: RunResult


Event = (
    RunStarted
    | Recalled
    | StepStarted
    | Compacted
    | ModelReplied
    | ToolCalled
    | Observed
    | ApprovalNeeded
    | Warned
    | Finished
)


def redacted(value: T, hide: Callable[[str], str]) -> T:
    """The value with every text in it as `hide` gives it: an event, or whatever an event holds.

    What holds no secret comes back as the same object.
    """
    shown: Any = value
    kind: Any = type(value)
    if isinstance(value, str):
        shown = hide(value)
    elif isinstance(value, int | float):
        shown = redacted_value(value, hide)
    elif isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        shown = {redacted(key, hide): redacted(one, hide) for key, one in items}
    elif isinstance(value, list | tuple):
        shown = kind(redacted(one, hide) for one in cast(Sequence[Any], value))
    elif is_dataclass(value) and not isinstance(value, type):
        held = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        told = {name: redacted(one, hide) for name, one in held.items()}
        shown = replace(value, **told) if told != held else value
    return shown
