"""What one finished task leaves to long-term memory, and its exact form as JSON."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, cast, get_args

from ..facts.fact import Fact
from ..messages import clean
from .errors import OutcomeError

Status = Literal["succeeded", "failed", "abandoned"]
STATUSES: frozenset[str] = frozenset(get_args(Status))


def new_id() -> str:
    return uuid.uuid4().hex


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one task. Only `goal` and `result` have to be given.

    `summary` tells the way there, `facts` are the figures that mattered with their sources, `lessons` say what
    to do or avoid next time (for a failure: what went wrong and what to try instead). `steps` and `tokens` count
    what the run took. `metadata` is free JSON (None, lists, NaN and integers of any size come back as they were).
    `namespace` is None until the outcome is stored. Times without a zone are taken as UTC.

    Raises:
        OutcomeError: the status is unknown, there is no text at all, or a value has no exact JSON form.
    """

    goal: str
    result: str = ""
    status: Status = "succeeded"
    summary: str = ""
    facts: tuple[Fact, ...] = ()
    lessons: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    steps: int = 0
    tokens: int = 0
    started_at: datetime | None = None
    finished_at: datetime = field(default_factory=now)
    tags: tuple[str, ...] = ()
    id: str = field(default_factory=new_id)
    namespace: str | None = None
    run_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name in ("facts", "lessons", "tools", "tags"):
            value: object = getattr(self, name)
            if isinstance(value, str):
                raise OutcomeError(f"outcome {self.id!r}: {name} must be a list, got the text {value!r}")
            object.__setattr__(self, name, tuple(cast(Iterable[object], value)))
        for name in ("started_at", "finished_at"):
            moment: datetime | None = getattr(self, name)
            if moment is not None and moment.tzinfo is None:
                object.__setattr__(self, name, moment.replace(tzinfo=UTC))
        if self.status not in STATUSES:
            raise OutcomeError(
                f"outcome {self.id!r}: unknown status {self.status!r}; use one of {', '.join(sorted(STATUSES))}"
            )
        if not self.id.strip() or clean(self.id) != self.id:
            raise OutcomeError(f"unusable id {self.id!r}: give readable text, or leave it out to get a new one")
        if not any(part.strip() for part in self.texts()):
            raise OutcomeError(f"outcome {self.id!r} is empty: give at least a goal, a result, a summary or a lesson")
        check_json(self.metadata, f"metadata of outcome {self.id!r}")

    def texts(self) -> tuple[str, ...]:
        """The parts that are searched, the goal first."""
        return (self.goal, self.result, self.summary, *self.lessons)

    def to_dict(self) -> dict[str, Any]:
        """A dict of plain JSON values; `Outcome.from_dict` makes the equal outcome of it again."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return values | {
            "facts": [fact.to_dict() for fact in self.facts],
            "lessons": list(self.lessons),
            "tools": list(self.tools),
            "tags": list(self.tags),
            "started_at": self.started_at and self.started_at.isoformat(),
            "finished_at": self.finished_at.isoformat(),
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Outcome:
        """Read what `to_dict` wrote; keys this version does not know are refused, not lost.

        Raises:
            OutcomeError: a key is unknown or missing, or a value has the wrong shape.
        """
        try:
            values = dict(raw)
            values["facts"] = [Fact.from_dict(fact) for fact in values.get("facts", ())]
            for name in ("started_at", "finished_at"):
                if values.get(name) is not None:
                    values[name] = datetime.fromisoformat(values[name])
            return cls(**values)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise OutcomeError(f"this is not a stored outcome: {error}: {str(raw)[:200]}") from error

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Read one line of an export.

        Raises:
            OutcomeError: the text is not JSON, not an object, or not an outcome.
        """
        try:
            raw = json.loads(text)
        except ValueError as error:
            raise OutcomeError(f"this is not JSON: {error}: {text[:200]!r}") from error
        if not isinstance(raw, dict):
            raise OutcomeError(f"expected a JSON object, got {text[:200]!r}")
        return cls.from_dict(cast(dict[str, Any], raw))


def check_json(value: object, where: str) -> None:
    """Refuse what JSON would change silently (tuples, keys that are no strings) or cannot hold."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return
    if isinstance(value, list):
        for index, item in enumerate(cast(list[object], value)):
            check_json(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, item in cast(dict[object, object], value).items():
            if not isinstance(key, str):
                raise OutcomeError(f"{where}: the key {key!r} must be a string")
            check_json(item, f"{where}[{key!r}]")
    else:
        raise OutcomeError(
            f"{where} is a {type(value).__name__}, which JSON does not keep; "
            "store strings, numbers, booleans, None, lists or dicts of them"
        )
