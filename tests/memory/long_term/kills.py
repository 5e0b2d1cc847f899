"""Writers that are killed at random moments, and what must be left: all they acknowledged, in a store that is whole.

    python -m tests.memory.long_term.kills FOLDER --kills 1000

Writers and checks are forked from a process that has everything imported and never opens a store itself, which
makes a kill cost about a second. `FOLDER` must not exist; every ten rounds go on in a new folder inside it.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path

import chromadb  # noqa: F401  (imported before the forks, not in each of them)
import numpy as np
from carryforward.memory.long_term import LongTermMemory, Outcome, vector_index
from carryforward.memory.long_term.terms import terms
from carryforward.memory.long_term.vector_index import VectorIndex

from .conftest import HashedWords

Versions = dict[str, int | None]
"""id -> version of the outcome, None for forgotten."""
FORK = multiprocessing.get_context("fork")
ROUNDS_PER_FOLDER = 10
NORMAL_BATCH = vector_index.TAIL
# Seconds: how long a writer lives that is not aimed at anything, and about how long it takes what it may be aimed at.
LONGEST_LIFE = 1.2
AIMS = {"opening": 0.2, "one": 0.003, "many": 0.5, "update": 0.004, "forget": 0.002, "reopen": 0.2, "reindex": 0.5}
AIMS["handing over to Chroma"] = 0.5
# In every second folder Chroma is given smaller batches, and so more of them.
SMALL_BATCH = 150


def outcome(identifier: str, version: int) -> Outcome:
    """What is stored under this id: words of its own, so that no other outcome fits its goal."""
    digest = hashlib.sha256(f"{identifier} {version}".encode()).hexdigest()
    goal = " ".join(digest[at : at + 5] for at in range(0, 30, 5))
    result = f"{digest[30:40]} {digest[40:50]}" if version % 2 else ""
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=version)
    return Outcome(goal, result, id=identifier, steps=version, finished_at=moment)


def open_folder(folder: Path, model: str) -> LongTermMemory:
    return LongTermMemory(folder, embedder=HashedWords(model))


# ---------------------------------------------------------------------- the process that is killed


def write(folder: Path, model: str, name: str, owned: dict[str, int], seed: int, told: Connection) -> None:
    """Change the store for ever; before and after each change, tell what it is: ("begin", what, versions)."""
    chance = random.Random(seed)
    hand_over = VectorIndex._advance

    def watched(index: VectorIndex, enough: int) -> None:
        told.send(("inside", "handing over to Chroma", {}))
        hand_over(index, enough)
        told.send(("inside", "after handing over", {}))

    VectorIndex._advance = watched
    told.send(("inside", "opening", {}))
    memory = open_folder(folder, model)
    next_version = 1 + max(owned.values(), default=0)
    for number in range(10**9):
        known = list(owned)
        what = chance.choices(["one", "many", "update", "forget", "reopen", "reindex"], [35, 15, 25, 20, 3, 4])[0]
        if what in ("update", "forget") and not known:
            continue
        changes: Versions = {}
        next_version += 1
        if what == "one":
            changes[f"{name}-{number}"] = next_version
        elif what == "many":
            changes = {f"{name}-{number}-{n}": next_version for n in range(chance.randrange(2, 150))}
            changes |= dict.fromkeys(chance.sample(known, min(20, len(known))), next_version)
        elif what == "update":
            changes[chance.choice(known)] = next_version
        elif what == "forget":
            changes[chance.choice(known)] = None
        elif what == "reindex":
            model = f"model {seed} {number}"
        told.send(("begin", f"reindex:{model}" if what == "reindex" else what, changes))
        match what:
            case "one" | "many":
                memory.remember_many(outcome(key, version) for key, version in changes.items() if version)
            case "update":
                ((key, version),) = changes.items()
                new = outcome(key, next_version)
                memory.update(key, goal=new.goal, result=new.result, steps=version, finished_at=str(new.finished_at))
            case "forget":
                assert memory.forget(*changes) == 1
            case "reopen":
                memory.close()
                memory = open_folder(folder, model)
            case _:
                memory.reindex(HashedWords(model), drop_old=chance.random() < 0.5)
        told.send(("done", what, changes))
        for key, version in changes.items():
            if version is None:
                owned.pop(key)
            else:
                owned[key] = version


# ---------------------------------------------------------------------- what must be left


def check(folder: Path, model: str, resume: bool, seed: int, answer: Connection) -> None:
    """Open the store as a user would; answer with the versions it holds. Raises when it is not whole."""
    chance = random.Random(seed)
    with open_folder(folder, model) as memory:
        if resume:
            memory.reindex(HashedWords(model))
        found = {stored.id: stored for stored in memory.outcomes()}
        assert len(memory) == len(found)
        for key, stored in found.items():
            assert stored.to_dict() == outcome(key, stored.steps).to_dict() | {"namespace": "default"}, key
        assert memory.stats()["not_embedded"] == 0
        for key in chance.sample(sorted(found), min(20, len(found))):
            (recall,) = memory.recall(found[key].goal, k=1)
            assert recall.outcome.id == key
            assert recall.cosine is not None
            assert abs(recall.cosine - 1) < 1e-3
            assert set(terms(found[key].goal)) <= set(recall.matched)
        if found:
            # Asked for everything, Chroma and the newest vectors beside it give every record.
            somewhere = np.full(64, 1 / 8, dtype=np.float32)
            rows = memory._index.search(somewhere, 3 * len(found))
            assert len(rows) == len(found), f"{len(rows)} of {len(found)} records have a vector that is found"
    assert not list(folder.glob("*broken*"))
    answer.send({key: stored.steps for key, stored in found.items()})


class Victim:
    """A writer with the moment at which it is killed.

    That is some time after it started, or after it told that it began what it is aimed at: most changes are so
    short that they would hardly ever be hit otherwise.
    """

    def __init__(self, process: multiprocessing.process.BaseProcess, chance: random.Random) -> None:
        self.process = process
        self.told: list[tuple[str, str, Versions]] = []
        self.killed = False
        self._chance = chance
        self._aim = chance.choice(["", *AIMS])
        self._aim_from = time.monotonic() + chance.choice([0, chance.uniform(0, LONGEST_LIFE / 2)])
        self.until = time.monotonic() + (LONGEST_LIFE * 3 if self._aim else chance.uniform(0, LONGEST_LIFE))

    def hear(self, message: tuple[str, str, Versions]) -> None:
        self.told.append(message)
        step, what, _ = message
        if step != "done" and what.partition(":")[0] == self._aim and time.monotonic() > self._aim_from:
            self.until = min(self.until, time.monotonic() + self._chance.uniform(0, AIMS[self._aim]))

    def kill_if_due(self) -> None:
        if not self.killed and time.monotonic() >= self.until:
            self.killed = True
            self.until += 60  # the end of its pipe is heard long before
            self.process.kill()
            self.process.join()


@dataclass
class Store:
    """What the test knows of a folder: the versions that were acknowledged, and those that were on their way."""

    folder: Path
    model: str = "model"
    reindexing: bool = False
    """A reindex was begun in the last round, and may have been cut off: it has to be called again."""
    kept: dict[str, int] = field(default_factory=dict[str, int])
    in_flight: Versions = field(default_factory=Versions)
    killed_during: Counter[str] = field(default_factory=Counter[str])

    def round(self, name: str, writers: int, chance: random.Random) -> None:
        """Start writers, each with outcomes of its own, and kill each at a moment of its own."""
        running: dict[Connection, Victim] = {}
        for at in range(writers):
            mine = dict(sorted(self.kept.items())[at::writers])
            ours, theirs = FORK.Pipe(duplex=False)
            arguments = (self.folder, self.model, f"{name}{'abc'[at]}", mine, chance.randrange(10**9), theirs)
            process = FORK.Process(target=write, args=arguments)
            process.start()
            theirs.close()
            running[ours] = Victim(process, chance)
        while running:
            left = min(victim.until for victim in running.values()) - time.monotonic()
            for end in connection.wait(running, max(0, left)):
                assert isinstance(end, Connection)
                try:
                    running[end].hear(end.recv())
                except EOFError:
                    victim = running.pop(end)
                    assert victim.killed, "a writer ended by itself"
                    self._note(victim.told)
            for victim in running.values():
                victim.kill_if_due()

    def _note(self, messages: list[tuple[str, str, Versions]]) -> None:
        """Read what one writer told before it was killed."""
        at, begun = "starting", Versions()
        for step, what, changes in messages:
            at = what.partition(":")[0]
            if step == "begin":
                begun = changes
                if what.startswith("reindex:"):
                    self.model, self.reindexing = what.partition(":")[2], True
            elif step == "done":
                at, begun = "between two changes", {}
                for key, version in changes.items():
                    if version is None:
                        del self.kept[key]
                    else:
                        self.kept[key] = version
        self.in_flight |= begun
        self.killed_during[at] += 1

    def check(self, chance: random.Random) -> None:
        ours, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(
            target=check, args=(self.folder, self.model, self.reindexing, chance.randrange(10**9), theirs)
        )
        process.start()
        theirs.close()
        try:
            found: dict[str, int] = ours.recv()
        except EOFError:
            raise AssertionError(f"{self.folder} is not whole") from None
        process.join()
        assert process.exitcode == 0
        for key in {*self.kept, *self.in_flight, *found}:
            allowed = {self.kept.get(key)} | ({self.in_flight[key]} if key in self.in_flight else set())
            assert found.get(key) in allowed, f"{self.folder}: {key} is {found.get(key)}, expected {allowed}"
        self.kept, self.in_flight, self.reindexing = found, {}, False


def campaign(folder: Path, kills: int, seed: int) -> Iterator[Counter[str]]:
    """Kill so many writers (one to three at a time); gives the tally of what they were at after each folder."""
    done = 0
    while done < kills:
        chance = random.Random(seed)
        store = Store(folder / f"seed-{seed}")
        vector_index.TAIL = SMALL_BATCH if seed % 2 else NORMAL_BATCH
        for number in range(ROUNDS_PER_FOLDER):
            if done >= kills:
                break
            writers = min(chance.choice([1, 2, 3]), kills - done)
            store.round(f"r{number}", writers, chance)
            done += writers
            store.check(chance)
        yield store.killed_during
        shutil.rmtree(store.folder)
        seed += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir()
    total: Counter[str] = Counter()
    start = time.monotonic()
    for tally in campaign(options.folder, options.kills, options.seed):
        total += tally
        print(f"{total.total()} kills in {time.monotonic() - start:.0f} s, nothing lost: {dict(total)}", flush=True)


if __name__ == "__main__":
    main()
