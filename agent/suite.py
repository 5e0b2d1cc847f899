"""Suites: tasks for an agent with what makes their answers right, read from YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib import import_module
from pathlib import Path
from runpy import run_path
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
    in any unit, is within `tolerance` of the wanted one. `regex`: found in the answer. `function`: `module:name` or
    `file.py:name`, called with the answer; what it returns is taken as true or false.
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
                return bool(_function(self.wanted)(answer))


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a suite.

    `calls` are tool calls that a right run makes, as (tool, arguments); arguments that are not named may be any, and
    one that is `{"regex": …}` has to be found in the given one.
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

    `answer` is `{exact: …}`, `{number: …, tolerance: …}`, `{regex: …}` or `{function: "module:name"}`; a function may
    also stand in a file beside the suite, `{function: "file.py:name"}`. It is imported here.

    Raises:
        SuiteError: the file can't be read or holds something else; the text names file, task and line.
    """
    import yaml

    try:
        text = Path(path).read_text("utf-8")
        raw: Any = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SuiteError(f"suite {path}: {' '.join(str(error).split())}") from error
    items: Any = cast(dict[str, Any], raw).get("tasks") if isinstance(raw, dict) else None
    if not isinstance(items, list) or not items:
        raise SuiteError(f"suite {path}: it has no list of `tasks`")
    lines = _lines(cast(Any, yaml).compose(text, yaml.SafeLoader))
    tasks: list[Task] = []
    for number, item in enumerate(cast(list[Any], items), 1):
        try:
            tasks.append(_task(item, Path(path).parent))
            _check_order(tasks)
        except (KeyError, TypeError, ValueError, re.error) as error:
            name = repr(cast(dict[str, Any], item).get("id", number)) if isinstance(item, dict) else number
            raise SuiteError(f"suite {path}, line {lines[number - 1]}, task {name}: {_said(error)}") from error
    return tasks


def _lines(document: Any) -> list[int]:
    """The line on which each task of a suite begins, from the nodes of its YAML."""
    tasks = next(value for key, value in document.value if key.value == "tasks")
    return [task.start_mark.line + 1 for task in tasks.value]


def _said(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" .。").casefold()


def _numbers(answer: str) -> list[Decimal]:
    facts = extract_facts(answer)
    return [value for fact in facts for value in (fact.value, fact.low, fact.high) if value is not None]


def _task(raw: Any, folder: Path) -> Task:
    if not isinstance(raw, dict):
        raise ValueError(f"a task is an object, not {raw!r:.60}")
    item = cast(dict[str, Any], raw)
    if unknown := set(item) - _TASK_KEYS:
        raise ValueError(f"unknown key {', '.join(sorted(unknown))}; known: {', '.join(sorted(_TASK_KEYS))}")
    if not str(item["task"]).strip():
        raise ValueError("the task is empty")
    calls = tuple(_call(call) for call in item.get("calls", ()))
    return Task(str(item["id"]), str(item["task"]), _check(item["answer"], folder), calls, item.get("after"))


def _call(raw: Any) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(raw, dict) or not isinstance(arguments := cast(Any, raw).get("arguments") or {}, dict):
        raise ValueError(f"a call is an object with `tool` and `arguments`, not {raw!r:.60}")
    wanted = cast(dict[str, Any], arguments)
    for value in wanted.values():
        if isinstance(value, dict):
            re.compile(str(cast(dict[str, Any], value)["regex"]))
    return str(cast(dict[str, Any], raw)["tool"]), wanted


def _check(raw: Any, folder: Path) -> Check:
    given = cast(dict[str, Any], raw) if isinstance(raw, dict) else {"exact": raw}
    kinds: list[CheckKind] = [kind for kind in _CHECKS if kind in given]
    if len(kinds) != 1 or set(given) - {*kinds, "tolerance"}:
        raise ValueError(f"an answer is one of {', '.join(_CHECKS)}, not {raw!r:.60}")
    kind, wanted = kinds[0], str(given[kinds[0]])
    if kind == "number":
        wanted = str(_decimal(wanted))
    elif kind == "regex":
        re.compile(wanted)
    elif kind == "function":
        wanted = str(folder.resolve() / wanted) if ".py:" in wanted else wanted
        _function(wanted)
    return Check(kind, wanted, _decimal(given.get("tolerance", 0)))


def _decimal(value: Any) -> Decimal:
    try:
        return Decimal(str(value))
    except InvalidOperation as error:
        raise ValueError(f"{value!r} is no number") from error


def _function(place: str) -> Callable[[str], Any]:
    """The function that `module:name` or `file.py:name` names.

    Raises:
        ValueError: it can't be loaded; the text says why.
    """
    where, _, name = place.rpartition(":")
    try:
        return (run_path(where) if where.endswith(".py") else vars(import_module(where)))[name]
    except KeyError as error:
        raise ValueError(f"{where} has no function {name!r}") from error
    except (ImportError, ValueError, SyntaxError, OSError) as error:
        raise ValueError(f"the function {place} can't be loaded: {error}") from error


def _check_order(tasks: Sequence[Task]) -> None:
    """Raises ValueError when the last task has an id that is taken, or comes after one that is not above it."""
    *above, task = tasks
    seen = {one.id for one in above}
    if task.id in seen:
        raise ValueError(f"two tasks have the id {task.id!r}")
    if task.after is not None and task.after not in seen:
        raise ValueError(f"`after` names {task.after!r}, which is no task above it")
