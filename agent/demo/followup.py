"""The plan for the demo's second task: a question that the outcome of the first one answers nearly alone.

With the first task's outcome recalled, two calculations are left. Without it the documents have to be read again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from . import moves
from .collecting import collect, seen
from .reading import last_number, plain
from .research import factor_expression, hours_of_a_year
from .scene import Past, Scene, Turn
from .stations import Record, figures, records, subject
from .wording import wording

_QUESTION = re.compile(
    r"\A.{0,80}?would (?P<weak>.+?) generate at the capacity factor of (?P<strong>.+?), "
    r"and .+? of the generation of (?P<other>.+?) would"
    r"|\A.{0,40}?如果(?P<zh_weak>.+?)达到(?P<zh_strong>.+?)的容量系数.+?相当于(?P<zh_other>.+?)年发电量的"
)
_STAGE = re.compile(r"\[(?P<stage>\w+)")


class FollowUp:
    """What one station would gain at the capacity factor of another, compared with a third."""

    def fits(self, scene: Scene) -> bool:
        """The task asks that question."""
        return _QUESTION.search(scene.task) is not None

    def next_turn(self, scene: Scene) -> Turn:
        """The next step towards the answer."""
        names = _names(scene.task)
        weak, strong, other = (_figures(scene, name) for name in names)
        last = scene.last
        stage = _STAGE.match(last.turn.thought) if last else None
        said = stage["stage"] if stage else ""
        if last and said == "save":
            return Turn(answer=str(last.turn.calls[0][1].get("body", "")))
        if last and said == "share":
            return self._save(scene, last, names)
        if not (weak and strong and other):
            return self._collect(scene, names)
        if last and said == "gain":
            return self._share(scene, last, other[1])
        factor = _factor(scene, names[1])
        if last and said == "factor":
            factor = last_number(last.results[-1])
        if factor is not None:
            return self._gain(scene, names[0], weak, factor)
        noted = "".join(seen(scene, name) for name in names)
        thought = f"[factor] {wording(scene.language).factor.format(names[1])}{noted}"
        return Turn(thought, (moves.calculate(factor_expression(scene, *strong)),))

    def _collect(self, scene: Scene, names: Sequence[str]) -> Turn:
        noted = "".join(seen(scene, name) for name in names)
        for at, name in enumerate(names, 1):
            head = f"[collect {at}/{len(names)}]"
            turn = None if _figures(scene, name) else collect(scene, name, head, noted)
            if turn:
                return turn
        return Turn(answer=wording(scene.language).missing.format(", ".join(names)))

    def _gain(self, scene: Scene, name: str, known: tuple[Decimal, Decimal], factor: Decimal) -> Turn:
        capacity, generation = map(plain, known)
        expression = f"round({capacity} * {hours_of_a_year(scene)} / 1000000 * {plain(factor)} / 100 - {generation}, 1)"
        return Turn(f"[gain] {wording(scene.language).gain.format(name)}", (moves.calculate(expression),))

    def _share(self, scene: Scene, last: Past, generation: Decimal) -> Turn:
        gain = last_number(last.results[-1]) or Decimal(0)
        expression = f"round({plain(gain)} / {plain(generation)} * 100, 1)"
        return Turn(f"[share] {wording(scene.language).share.format(plain(gain))}", (moves.calculate(expression),))

    def _save(self, scene: Scene, last: Past, names: Sequence[str]) -> Turn:
        words = wording(scene.language)
        gain = last_number(last.turn.thought)
        share = last_number(last.results[-1])
        text = words.gained.format(*names, gain, share)
        return Turn(f"[save] {words.note}", (moves.save_note(words.gained_title, text),))


def _names(task: str) -> list[str]:
    asked = _QUESTION.search(task)
    return [name for name in asked.groups() if name] if asked else []


def _record(scene: Scene, name: str) -> Record | None:
    """The record that an earlier task's outcome left of a station."""
    found = [record for record in records(scene.text).values() if re.search(subject(name), record.name)]
    return found[-1] if found else None


def _factor(scene: Scene, name: str) -> Decimal | None:
    record = _record(scene, name)
    return record.factor if record else None


def _figures(scene: Scene, name: str) -> tuple[Decimal, Decimal] | None:
    """A station's MW and TWh, if the context shows both."""
    record = _record(scene, name)
    if record:
        return record.capacity, record.generation
    capacity, generation = figures(name, scene.text)
    return (capacity, generation) if capacity is not None and generation is not None else None
