"""Kills agents at random moments, takes their runs up again, and checks what is left of them. Run by `test_kills`.

The process imports all there is to import and then forks: each child is one attempt at one run of the packaged suite,
and is killed by SIGKILL after a random part of the time that the run takes undisturbed. What the children write down as
acknowledged, and what their tools have written, is compared with the journal after each death.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from carryforward.agent import Agent, Allow, ChatModel, Deny, PendingAction
from carryforward.agent.demo.standin import MODEL
from carryforward.agent.suite import OFFLINE_SUITE, Task, load_suite
from carryforward.memory import Journal, Memory
from carryforward.memory.journal import Entry
from carryforward.memory.long_term import LongTermMemory
from carryforward.tools import Tool
from carryforward.tools.calculator import calculator
from carryforward.tools.corpus import corpus_tools
from carryforward.tools.examples import get_weather, read_manual
from carryforward.tools.notes import note_tools
from numpy.typing import NDArray

FORMATS = ("tools", "react", "bracket", "json")
MOST_KILLS = 6  # of one run; then it is left to end
_LONGEST = 120.0  # seconds after which a run that is left alone counts as one that hangs
_SLOW = 0.008  # seconds before and after the effect of a write, so that many kills come between effect and entry


@dataclass(frozen=True, eq=False)
class Case:
    """One task of the suite in one format, after those that it needs."""

    tasks: tuple[Task, ...]
    format: Any


@dataclass(frozen=True)
class Left:
    """What a run leaves: status and answer of its tasks, the lines its tool wrote, how often somebody was asked."""

    results: list[list[str]]
    written: list[str]
    asked: int


class HashedWords:
    """An embedder that loads no model: each word adds one to a place of the vector."""

    name, dimension, revision = "hashed-words", 64, ""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[int(hashlib.md5(word.encode()).hexdigest(), 16) % self.dimension] += 1
        return vectors


class TellingJournal(Journal):
    """Writes down, beside the journal, which entries were acknowledged."""

    def append(self, run: str, kind: str, body: Mapping[str, Any]) -> int:
        seq = super().append(run, kind, body)
        add_line(Path(self.path).with_name("acknowledged"), fingerprint(Entry(run, seq, kind, "", dict(body))))
        return seq


def fingerprint(entry: Entry) -> str:
    body = json.dumps(entry.body, sort_keys=True)
    return f"{entry.run} {entry.seq} {entry.kind} {hashlib.sha256(body.encode()).hexdigest()}"


def add_line(path: Path, line: str) -> None:
    """One write, which a kill leaves whole or not made."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\n".encode())
    os.close(file)


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


def attempt(case: Case, folder: Path, base_url: str) -> None:
    """Do the tasks of a case, or go on with them where the journal in the folder ends."""
    written = folder / "written"

    def note_down(text: str) -> str:
        time.sleep(_SLOW)
        add_line(written, text)
        time.sleep(_SLOW)
        return "noted"

    def ask(action: PendingAction) -> Allow | Deny:
        add_line(folder / "asked", action.why)
        if action.tool == "note_down":
            done = action.arguments["text"] in lines_of(written)
        else:
            done = any((folder / "notes").glob("*.md"))
        return Deny("it was done") if done else Allow()

    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    notes = [tool for tool in note_tools(folder / "notes") if tool.name == "save_note"]
    writer = Tool("note_down", "Writes a line.", text, run=note_down, risk="write")
    journal = TellingJournal(folder / "journal.db")
    memory = Memory(24_000, journal=journal, long_term=LongTermMemory(folder / "long-term", embedder=HashedWords()))
    agent = Agent(
        ChatModel(MODEL, base_url=base_url, api_key=""),
        [calculator, *corpus_tools(), get_weather, read_manual, *notes, writer],
        memory=memory,
        format=case.format,
        max_steps=200,
        allow=["note_down", "save_note"],
        approve=ask,
    )
    begun = {entry.body["task"]: info.run for info in journal.runs() for entry in journal.entries(info.run, "run")}
    for task in case.tasks:
        result = agent.resume(begun[task.task]) if task.task in begun else agent.run(task.task)
        add_line(folder / "results", json.dumps([task.id, result.status, result.answer]))


def left_by(case: Case, folder: Path) -> Left:
    """What a run that has ended has left.

    Raises:
        AssertionError: it did not end, an entry is lost, a write happened twice or was not asked about.
    """
    last = {json.loads(line)[0]: json.loads(line) for line in lines_of(folder / "results")}
    results = [last[task.id] for task in case.tasks]
    written = lines_of(folder / "written")
    assert len(written) == len(set(written)), f"{folder}: written twice: {written}"
    with Journal(folder / "journal.db") as journal:
        runs = [journal.entries(info.run) for info in journal.runs()]
    assert len(runs) == len(case.tasks), f"{folder}: {len(runs)} runs for {len(case.tasks)} tasks"
    observed = [entry.body["result"] for entries in runs for entry in entries if entry.kind == "call_finished"]
    assert not any(text.startswith("replaced the note") for text in observed), f"{folder}: a note was saved twice"
    memory = LongTermMemory(folder / "long-term", embedder=HashedWords())
    remembered = [outcome.goal for outcome in memory.outcomes()]
    assert sorted(remembered) == sorted(task.task for task in case.tasks), f"{folder}: remembered {remembered}"
    asked = lines_of(folder / "asked")
    assert set(asked) <= {"unknown_end"}, f"{folder}: asked about {asked}"
    return Left(results, written, len(asked))


def check_nothing_is_lost(folder: Path) -> None:
    """What was acknowledged before the death is in the journal, and its entries are numbered without a gap."""
    if not (folder / "journal.db").exists():
        return
    with Journal(folder / "journal.db") as journal:
        runs = [journal.entries(info.run) for info in journal.runs()]
    for entries in runs:
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1)), f"{folder}: a gap"
    kept = {fingerprint(entry) for entries in runs for entry in entries}
    lost = [line for line in lines_of(folder / "acknowledged") if line not in kept]
    assert not lost, f"{folder}: lost {lost}"


def writes_cut_off(folder: Path) -> int:
    """Calls that may have changed something and whose end is not in the journal."""
    if not (folder / "journal.db").exists():
        return 0
    with Journal(folder / "journal.db") as journal:
        entries = [entry for info in journal.runs() for entry in journal.entries(info.run)]
    begun = {(e.run, e.body["call"]) for e in entries if e.kind == "call_started" and e.body["risk"] == "write"}
    return len(begun - {(e.run, e.body["call"]) for e in entries if e.kind == "call_finished"})


def forked(case: Case, folder: Path, base_url: str, seconds: float) -> bool:
    """An attempt in a process of its own, which is killed after so many seconds; whether it was."""
    assert threading.active_count() == 1, "a process with threads must not be forked"
    folder.mkdir(exist_ok=True)
    child = os.fork()
    if child == 0:
        try:
            attempt(case, folder, base_url)
        finally:
            if failure := sys.exc_info()[1]:
                traceback.print_exception(failure)
            os._exit(failure is not None)
    watch = os.pidfd_open(child)
    select.select([watch], [], [], seconds)
    os.close(watch)
    os.kill(child, signal.SIGKILL)  # nothing, where it has ended by itself
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or os.waitstatus_to_exitcode(status) == 0, f"{folder}: an attempt failed"
    check_nothing_is_lost(folder)
    return killed


def cases(only: Sequence[str]) -> list[Case]:
    suite = {task.id: task for task in load_suite(OFFLINE_SUITE)}
    found: list[Case] = []
    for task in suite.values():
        tasks = [task]
        while tasks[0].after is not None:
            tasks.insert(0, suite[tasks[0].after])
        found += [Case(tuple(tasks), format) for format in FORMATS if not only or task.id in only]
    return found


def campaign(folder: Path, base_url: str, wanted: int, only: Sequence[str], seed: int) -> dict[str, int]:
    """Runs of all cases in turn until so many kills are made; what came of them."""
    dice = random.Random(seed)
    everything = cases(only)
    attempt(everything[0], folder / "warm", base_url)  # all that is imported from here on is imported once
    undisturbed: dict[Case, tuple[Left, float]] = {}
    told = {"kills": 0, "runs": 0, "tasks": len(everything) // len(FORMATS), "in_writes": 0, "asked": 0}
    while told["kills"] < wanted:
        for number, case in enumerate(dice.sample(everything, len(everything))):
            if case not in undisturbed:
                began = time.monotonic()
                place = folder / f"whole-{number}"
                assert not forked(case, place, base_url, _LONGEST), f"{place}: a run hangs"
                undisturbed[case] = left_by(case, place), time.monotonic() - began
            whole, seconds = undisturbed[case]
            place = folder / f"{told['runs']}"
            kills = 0
            while kills < MOST_KILLS and forked(case, place, base_url, dice.random() * seconds):
                kills += 1
                told["in_writes"] += writes_cut_off(place)
            if kills == MOST_KILLS:
                assert not forked(case, place, base_url, _LONGEST), f"{place}: a run hangs"
            left = left_by(case, place)
            assert left.results == whole.results, f"{place}: {left.results} instead of {whole.results}"
            assert sorted(left.written) == sorted(whole.written), f"{place}: {left.written}"
            told["kills"] += kills
            told["runs"] += 1
            told["asked"] += left.asked
            if told["kills"] >= wanted:
                break
    return told


if __name__ == "__main__":
    where, url, kills, tasks, dice_seed = sys.argv[1:]
    (Path(where) / "warm").mkdir(parents=True)
    print(json.dumps(campaign(Path(where), url, int(kills), tasks.split(",") if tasks else [], int(dice_seed))))
