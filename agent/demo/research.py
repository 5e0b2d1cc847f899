"""The plan for the demo's first task: collect two figures for each station, calculate, add up, note, answer.

Where the run stands is said in the stand-in's own last thought, as in `[calculate 3/14]`; the figures are not kept
there until they are calculated with. What was collected has to come out of the context again, forty steps later: from
the carried-forward facts, by a look-up, or by reading the document anew.
"""

from __future__ import annotations

import re
from decimal import Decimal

from . import moves
from .collecting import collect, look_up
from .reading import NUMBER, last_number, plain, written
from .scene import Past, Scene, Turn
from .stations import Record, figures, records, table
from .wording import Wording, wording

_STATIONS = re.compile(r"\A[^.。:：]{0,40}(?:stations|水电站)[:：]\s*(.+?)[.。]\s", re.DOTALL)
_STAGE = re.compile(r"\[(?P<stage>\w+)(?: (?P<at>\d+)/\d+)?\]")
_HOURS = re.compile(rf"({NUMBER})\s*(?:hours|小时)")


def station_names(task: str) -> list[str]:
    """The stations that a task names, in its order."""
    named = _STATIONS.search(task)
    return [name.strip() for name in re.split(r"[;；]", named[1])] if named else []


def hours_of_a_year(scene: Scene) -> str:
    """The hours that the task counts for a year, as a calculator takes them."""
    said = _HOURS.search(scene.task)
    return said[1].replace(",", "") if said else "0"


def factor_expression(scene: Scene, capacity: Decimal, generation: Decimal) -> str:
    """What gives a capacity factor in percent, to one decimal place, of MW and TWh a year."""
    return f"round({plain(generation)} * 1000000 / ({plain(capacity)} * {hours_of_a_year(scene)}) * 100, 1)"


class Comparison:
    """Compares the stations that the task names; with a recalled table of all of them it only adds up again."""

    def fits(self, scene: Scene) -> bool:
        """The task names stations."""
        return bool(station_names(scene.task))

    def next_turn(self, scene: Scene) -> Turn:
        """The next step of the comparison."""
        last = scene.last
        found = _STAGE.match(last.turn.thought) if last else None
        if last is None or found is None:
            recalled = records(scene.task)
            known = {name: recalled[name] for name in station_names(scene.task) if name in recalled}
            return _add(scene, known) if len(known) == len(station_names(scene.task)) else _collect(scene, 1)
        stage, at = found["stage"], int(found["at"] or 0)
        match stage:
            case "collect":
                return _collect(scene, at)
            case "calculate" | "again":
                return _calculate(scene, *_calculated(scene, last, at))
            case "add":
                return _overall(scene, last)
            case "overall":
                return _note(scene, last)
            case _:
                return Turn(answer=str(last.turn.calls[0][1].get("body", "")))


def _collect(scene: Scene, at: int) -> Turn:
    """Bring the documents into sight, one after the other; the figures are left to the memory."""
    names = station_names(scene.task)
    for number, name in enumerate(names[at - 1 :], at):
        turn = collect(scene, name, f"[collect {number}/{len(names)}]")
        if turn:
            return turn
    return _calculate(scene, 1, {})


def _calculate(scene: Scene, at: int, done: dict[str, Record]) -> Turn:
    """Calculate with a station's figures if the context shows them; else look them up, read again, or go on without."""
    names, so_far = station_names(scene.task), _so_far(scene, done)
    for number, name in enumerate(names[at - 1 :], at):
        capacity, generation = figures(name, scene.text)
        place = f"{number}/{len(names)}]"
        if capacity is not None and generation is not None:
            said = _words(scene).calculate.format(name, written(capacity), written(generation))
            expression = factor_expression(scene, capacity, generation)
            return Turn(f"[calculate {place} {said}{so_far}", (moves.calculate(expression),))
        again = scene.last is not None and scene.last.turn.thought.startswith(f"[again {place}")
        turn = None if again else look_up(scene, name, f"[calculate {place}", so_far)
        turn = turn or collect(scene, name, f"[again {place}", so_far)
        if turn:
            return turn
    return _add(scene, done)


def _calculated(scene: Scene, last: Past, at: int) -> tuple[int, dict[str, Record]]:
    """The station to calculate next, and the records of those that are done."""
    done = _done(scene, last)
    if last.tool != "calculator":
        return at, done
    name, value = station_names(scene.task)[at - 1], last_number("\n".join(last.results))
    used = _words(scene).calculated_with.search(last.turn.thought)
    if used and value is not None:
        capacity, generation = (Decimal(number.replace(",", "")) for number in used.groups())
        done[name] = Record(name, capacity, generation, value)
    return at + 1, done


def _add(scene: Scene, done: dict[str, Record]) -> Turn:
    if not done:
        return Turn(answer=_words(scene).missing.format(", ".join(station_names(scene.task))))
    capacity = " + ".join(plain(record.capacity) for record in done.values())
    generation = " + ".join(plain(record.generation) for record in done.values())
    thought = f"[add] {_words(scene).add}{_so_far(scene, done)}"
    return Turn(thought, (moves.calculate(capacity), moves.calculate(generation)))


def _overall(scene: Scene, last: Past) -> Turn:
    capacity, generation = (last_number(result) or Decimal(0) for result in last.results[:2])
    said = _words(scene).total.format(written(capacity), written(generation))
    thought = f"[overall] {said}{_so_far(scene, _done(scene, last))}"
    return Turn(thought, (moves.calculate(factor_expression(scene, capacity, generation)),))


def _note(scene: Scene, last: Past) -> Turn:
    words, done = _words(scene), _done(scene, last)
    totals, overall = words.calculated_with.search(last.turn.thought), last_number("\n".join(last.results))
    best, worst = max(done.values(), key=lambda r: r.factor), min(done.values(), key=lambda r: r.factor)
    lines = [words.title, table(done.values())]
    if totals and overall is not None:
        lines.append(words.totals.format(*totals.groups(), overall))
    lines.append(words.ranking.format(best.name, best.factor, worst.name, worst.factor))
    missing = [name for name in station_names(scene.task) if name not in done]
    if missing:
        lines.append(words.missing.format(", ".join(missing)))
    return Turn(f"[note] {words.note}", (moves.save_note(words.title.rstrip(":："), "\n".join(lines)),))


def _done(scene: Scene, last: Past) -> dict[str, Record]:
    return records(last.turn.thought.partition(_words(scene).so_far)[2])


def _so_far(scene: Scene, done: dict[str, Record]) -> str:
    return f"\n{_words(scene).so_far}{'; '.join(map(str, done.values()))}" if done else ""


def _words(scene: Scene) -> Wording:
    return wording(scene.language)
