"""Runs that are killed at random moments end as if nothing had been: no write twice, no entry lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from carryforward.agent.demo.errands import errands
from carryforward.agent.demo.scene import Scene, Turn
from carryforward.agent.demo.standin import Plan, StandIn

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the campaign waits for processes as Linux does")

CAMPAIGN = Path(__file__).with_name("kill_campaign.py")


@dataclass(frozen=True)
class Noting:
    """A plan of the stand-in that also writes down each of its calls: beside it in native calls, else a turn later."""

    plan: Plan

    def fits(self, scene: Scene) -> bool:
        return self.plan.fits(scene)

    def next_turn(self, scene: Scene) -> Turn:
        last = scene.last
        if last and scene.format != "tools" and last.tool != "note_down":
            return Turn("Write that down.", (self._noted(last.turn),))
        past = tuple(one for one in scene.past if one.tool != "note_down")
        turn = self.plan.next_turn(replace(scene, past=past))
        if scene.format != "tools" or turn.answer is not None:
            return turn
        return replace(turn, calls=(*turn.calls, self._noted(turn)))

    def _noted(self, turn: Turn) -> tuple[str, dict[str, str]]:
        tool, arguments = turn.calls[0]
        return "note_down", {"text": f"{turn.thought} {tool} {json.dumps(arguments, ensure_ascii=False)}"}


def killed(folder: Path, kills: int, *tasks: str, seed: int) -> dict[str, int]:
    """What came of a campaign over these tasks of the packaged suite, or over all of them."""
    with StandIn([Noting(plan) for plan in errands()]) as server:
        done = subprocess.run(
            [sys.executable, str(CAMPAIGN), str(folder), server.base_url, str(kills), ",".join(tasks), str(seed)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_runs_that_are_killed_end_as_if_nothing_had_been(tmp_path: Path) -> None:
    told = killed(tmp_path / "runs", 8, "product", "concurrency-note", seed=5)
    assert told["kills"] >= 8


@pytest.mark.soak
def test_hundreds_of_kills_over_the_suite_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    told = killed(tmp_path / "runs", 500, seed=7)
    print("\n{kills} kills of {runs} runs of {tasks} tasks in four formats,".format(**told))
    print("{in_writes} with a write begun and not ended; each run ended as undisturbed,".format(**told))
    print("no write happened twice ({asked} times it was asked), no entry was lost".format(**told))
    assert told["kills"] >= 500 and told["in_writes"] > 0 and told["asked"] > 0
