"""Suites: tasks for an agent with what makes their answers right, read from YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast

from ..memory import extract_facts

CheckKind = Literal["exact", "number", "regex", "function"]
_CHECKS: tuple[CheckKind, ...] = ("exact", "number", "regex", "function")
_TASK_KEYS = {"id", "task", "answer", "calls", "after", "why"}


class SuiteError(ValueError):
    """A suite that can't be used: which file, which task, what is wrong in it."""


OFFLINE_SUITE = Path(__file__).parent / "suites" / "offline.yaml"
"""The packaged suite: thirty tasks that need nothing from the network."""


@dataclass(frozen=True, slots=True)
class Check:
    """What makes an answer right.

    `exact`: the same text, but for case, white space and a full stop. `number`: a number of the answer, as written and
    in any unit, is within `tolerance` of the wanted one. `regex`: found in the answer. `function`: `module:name`,
    called with the answer.
    """

    kind: CheckKind
    wanted: str
    tolerance: Decimal = Decimal(0)

    def passes(self, answer: str) -> bool:
        """Whether the answer is right."""
        match self.kind:
            case "exact":
                return _plain(answer) == _plain(self.wanted)
            case "number":
                wanted = Decimal(self.wanted)
                return any(abs(value - wanted) <= self.tolerance for value in _numbers(answer))
            case "regex":
                return re.search(self.wanted, answer) is not None
            case "function":
                module, _, name = self.wanted.partition(":")
                return bool(getattr(import_module(module), name)(answer))


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a suite.

    `calls` are tool calls that a right run makes, as (tool, arguments); arguments that are not named may be any.
    `after` is the task that has to be done before by the same agent, because its outcome is needed.
    """

    id: str
    task: str
    check: Check
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    after: str | None = None


def load_suite(path: str | Path) -> list[Task]:
    """Read a suite: a YAML file with `tasks`, each with `id`, `task`, `answer` and, if need be, `calls`, `after` and
    `why` (for readers only).

    `answer` is `{exact: …}`, `{number: …, tolerance: …}`, `{regex: …}` or `{function: "module:name"}`.

    Raises:
        SuiteError: the file can't be read or holds something else.
    """
    import yaml

    try:
        raw: Any = yaml.safe_load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SuiteError(f"suite {path}: {' '.join(str(error).split())}") from error
    if not isinstance(raw, dict) or not isinstance(cast(dict[str, Any], raw).get("tasks"), list):
        raise SuiteError(f"suite {path}: it has no list of `tasks`")
    tasks: list[Task] = []
    for number, item in enumerate(cast(list[Any], raw["tasks"]), 1):
        try:
            tasks.append(_task(item))
        except (KeyError, TypeError, ValueError, InvalidOperation, re.error) as error:
            raise SuiteError(f"suite {path}, task {number}: {type(error).__name__}: {error}") from error
    _check_order(tasks, path)
    return tasks


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" .。").casefold()


def _numbers(answer: str) -> list[Decimal]:
    facts = extract_facts(answer)
    return [value for fact in facts for value in (fact.value, fact.low, fact.high) if value is not None]


def _task(raw: Any) -> Task:
    if not isinstance(raw, dict):
        raise ValueError(f"a task is an object, not {raw!r:.60}")
    item = cast(dict[str, Any], raw)
    if unknown := set(item) - _TASK_KEYS:
        raise ValueError(f"unknown key {', '.join(sorted(unknown))}; known: {', '.join(sorted(_TASK_KEYS))}")
    calls = tuple(
        (str(call["tool"]), cast(dict[str, Any], call.get("arguments") or {})) for call in item.get("calls", ())
    )
    return Task(str(item["id"]), str(item["task"]), _check(item["answer"]), calls, item.get("after"))


def _check(raw: Any) -> Check:
    given = cast(dict[str, Any], raw) if isinstance(raw, dict) else {"exact": raw}
    kinds: list[CheckKind] = [kind for kind in _CHECKS if kind in given]
    if len(kinds) != 1 or set(given) - {*kinds, "tolerance"}:
        raise ValueError(f"an answer is one of {', '.join(_CHECKS)}, not {raw!r:.60}")
    check = Check(kinds[0], str(given[kinds[0]]), Decimal(str(given.get("tolerance", 0))))
    if check.kind == "number":
        Decimal(check.wanted)
    elif check.kind == "regex":
        re.compile(check.wanted)
    return check


def _check_order(tasks: Sequence[Task], path: str | Path) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise SuiteError(f"suite {path}: two tasks have the id {task.id!r}")
        if task.after is not None and task.after not in seen:
            raise SuiteError(f"suite {path}, task {task.id!r}: `after` names {task.after!r}, which is no task above it")
        seen.add(task.id)
