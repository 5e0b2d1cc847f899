"""The plan for the demo's first task: collect two figures for each station, calculate, add up, note, answer.

Where the run stands is said in the stand-in's own last thought, as in `[calculate 3/14]`; the figures are not kept
there until they are calculated with. What was collected has to come out of the context again, forty steps later: from
the carried-forward facts, or by a look-up.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from . import moves
from .collecting import collect
from .reading import last_number, plain, written
from .scene import Past, Scene, Turn
from .stations import CAPACITY, GENERATION, Record, figures, records, table
from .wording import Wording, wording

_STATIONS = re.compile(r"(?:stations|水电站)[:：]\s*(.+?)[.。]\s", re.DOTALL)
_STAGE = re.compile(r"\[(?P<stage>\w+)(?: (?P<at>\d+)/\d+)?\]")
_HOURS = "8.76"  # thousand hours of a year


def station_names(task: str) -> list[str]:
    """The stations that a task names, in its order."""
    named = _STATIONS.search(task)
    return [name.strip() for name in re.split(r"[;；]", named[1])] if named else []


def factor_expression(capacity: Decimal, generation: Decimal) -> str:
    return f"round({plain(generation)} * 1000 / ({plain(capacity)} * {_HOURS}) * 100, 1)"


class Comparison:
    """Compares the stations that the task names."""

    def fits(self, scene: Scene) -> bool:
        """The task names stations."""
        return bool(station_names(scene.task))

    def next_turn(self, scene: Scene) -> Turn:
        """The next step of the comparison."""
        names, last = station_names(scene.task), scene.last
        stage = _STAGE.match(last.turn.thought) if last else None
        if last is None or stage is None:
            return self._collect(scene, names, 1)
        at = int(stage["at"] or 0)
        steps: dict[str, Callable[[], Turn]] = {
            "collect": lambda: self._collect(scene, names, at),
            "calculate": lambda: self._calculated(scene, last, names, at),
            "add": lambda: self._overall(scene, last),
            "overall": lambda: self._note(scene, last),
            "note": lambda: self._answer(scene, last),
        }
        return steps[stage["stage"]]()

    def _collect(self, scene: Scene, names: list[str], at: int) -> Turn:
        """Bring the documents into sight, one after the other; the figures are left to the memory."""
        for number, name in enumerate(names[at - 1 :], at):
            turn = collect(scene, name, f"[collect {number}/{len(names)}]")
            if turn:
                return turn
        return self._calculate(scene, names, 1, {}, tried="")

    def _calculate(self, scene: Scene, names: list[str], at: int, done: dict[str, Record], tried: str) -> Turn:
        """Calculate with a station's figures if the context shows them; else look them up, then give up on it."""
        if at > len(names):
            return self._add(scene, done)
        words, name = _words(scene), names[at - 1]
        capacity, generation = figures(name, scene.text)
        head, so_far = f"[calculate {at}/{len(names)}] ", self._so_far(scene, done)
        if capacity is not None and generation is not None:
            said = words.calculate.format(name, written(capacity), written(generation))
            return Turn(f"{head}{said}{so_far}", (moves.calculate(factor_expression(capacity, generation)),))
        missing = CAPACITY if capacity is None else GENERATION
        if missing.name not in tried:
            label = words.labels[missing.name]
            said = words.look_up.format(label, name)
            return Turn(f"{head}{said}{so_far}", (moves.lookup(f"{label} {name}"),))
        return self._calculate(scene, names, at + 1, done, tried="")

    def _calculated(self, scene: Scene, last: Past, names: list[str], at: int) -> Turn:
        done = records(last.turn.thought.partition(_words(scene).so_far)[2])
        if last.tool != "calculator":
            tried = " ".join(name for name, label in _words(scene).labels.items() if label in str(last.turn.calls))
            return self._calculate(scene, names, at, done, tried)
        name, value = names[at - 1], last_number("\n".join(last.results))
        used = _words(scene).calculated_with.search(last.turn.thought)
        if used and value is not None:
            capacity, generation = (Decimal(number.replace(",", "")) for number in used.groups())
            done[name] = Record(name, capacity, generation, value)
        return self._calculate(scene, names, at + 1, done, tried="")

    def _so_far(self, scene: Scene, done: dict[str, Record]) -> str:
        return f"\n{_words(scene).so_far}{'; '.join(map(str, done.values()))}" if done else ""

    def _add(self, scene: Scene, done: dict[str, Record]) -> Turn:
        capacity = " + ".join(plain(record.capacity) for record in done.values())
        generation = " + ".join(plain(record.generation) for record in done.values())
        thought = f"[add] {_words(scene).add}{self._so_far(scene, done)}"
        return Turn(thought, (moves.calculate(capacity), moves.calculate(generation)))

    def _overall(self, scene: Scene, last: Past) -> Turn:
        capacity, generation = (last_number(result) or Decimal(0) for result in last.results[:2])
        words = _words(scene)
        said = words.total.format(written(capacity), written(generation))
        thought = f"[overall] {said}{self._so_far(scene, records(last.turn.thought.partition(words.so_far)[2]))}"
        return Turn(thought, (moves.calculate(factor_expression(capacity, generation)),))

    def _note(self, scene: Scene, last: Past) -> Turn:
        words = _words(scene)
        done = records(last.turn.thought.partition(words.so_far)[2])
        totals = words.calculated_with.search(last.turn.thought)
        overall = last_number("\n".join(last.results))
        best, worst = max(done.values(), key=lambda r: r.factor), min(done.values(), key=lambda r: r.factor)
        lines = [words.title.format(len(done)), table(done.values())]
        if totals and overall is not None:
            lines.append(words.totals.format(*totals.groups(), overall))
        lines.append(words.ranking.format(best.name, best.factor, worst.name, worst.factor))
        missing = [name for name in station_names(scene.task) if name not in done]
        if missing:
            lines.append(words.missing.format(", ".join(missing)))
        return Turn(f"[note] {words.note}", (moves.save_note("\n".join(lines)),))

    def _answer(self, scene: Scene, last: Past) -> Turn:
        return Turn(answer=str(last.turn.calls[0][1].get("text", "")))


def _words(scene: Scene) -> Wording:
    return wording(scene.language)
