"""The stand-in's plans for the packaged suite: which calls to make, and where in the messages the figures stand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from ..suite import OFFLINE_SUITE, load_suite
from . import moves
from .reading import last_number, plain
from .scene import Scene, Turn

_PLACE = re.compile(r"\[(\d+)\]")
_MAIN_ARGUMENT = {"calculator": "expression", "search": "query", "get_weather": "city", "read_manual": "topic"}


@dataclass(frozen=True, slots=True)
class Errand:
    """One task: its calls in order, the patterns of its figures, its answer, or another where a pattern is found."""

    task: str
    calls: Sequence[moves.Call]
    figures: Mapping[str, str]
    answer: str
    instead: tuple[str, str] | None = None

    def fits(self, scene: Scene) -> bool:
        """The task is this one."""
        return scene.task.startswith(self.task)

    def next_turn(self, scene: Scene) -> Turn:
        """The next call, or the answer; the place in the plan is read from the last thought."""
        last = scene.last
        place = _PLACE.match(last.turn.thought) if last else None
        done, result = int(place[1]) if place else 0, "\n".join(last.results) if last else ""
        known = _read(self.figures, scene.text)
        if last and last.tool == "fetch" and (page := moves.next_page(result)) and len(known) < len(self.figures):
            document = str(last.turn.calls[0][1].get("document"))
            return Turn(f"[{done}] It goes on.", (moves.fetch(document, page),))
        known["last"] = plain(last_number(result) or Decimal(0))
        if done == len(self.calls):
            found = self.instead is not None and re.search(self.instead[0], result)
            return Turn(f"[{done}]", answer=_filled(self.instead[1] if self.instead and found else self.answer, known))
        tool, arguments = self.calls[done]
        if tool == "fetch":
            arguments = {"document": moves.document_on(str(arguments["document"]), scene.text) or ""}
        return Turn(f"[{done + 1}]", ((tool, {name: _filled(value, known) for name, value in arguments.items()}),))


def errands() -> list[Errand]:
    """The plans for all tasks of the packaged suite."""
    import yaml

    plans: dict[str, Any] = yaml.safe_load((OFFLINE_SUITE.parent / "errands.yaml").read_text("utf-8"))
    return [_errand(task.task, plans[task.id]) for task in load_suite(OFFLINE_SUITE)]


def _errand(task: str, plan: Mapping[str, Any]) -> Errand:
    calls = [call for step in plan["do"] for tool, given in step.items() for call in _calls(tool, given)]
    instead = plan.get("instead")
    return Errand(task, calls, plan.get("read", {}), plan["say"], tuple(instead) if instead else None)


def _calls(tool: str, given: Any) -> list[moves.Call]:
    if tool == "chain":
        firsts = [str(given["start"]), *["{last}"] * (given["count"] - 1)]
        return [moves.calculate(f"{first} {given['sign']} {number}") for number, first in enumerate(firsts, 1)]
    if tool == "fetch":
        return [moves.fetch(given)]
    return [(tool, cast("dict[str, Any]", given) if isinstance(given, dict) else {_MAIN_ARGUMENT[tool]: str(given)})]


def _read(figures: Mapping[str, str], text: str) -> dict[str, str]:
    """The figures that the text shows, as a calculator takes them; the last one where there are several."""
    found = {name: re.findall(pattern, text) for name, pattern in figures.items()}
    return {name: hits[-1].replace(",", "") for name, hits in found.items() if hits}


def _filled(template: str, known: Mapping[str, str]) -> str:
    """The template with the figures in place; a question mark where one is not known."""
    return re.sub(r"\{(\w+)\}", lambda match: known.get(match[1], "?"), template)
