"""Hard histories by a seeded generator: a short form here, the long campaign as soak."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest
from carryforward.memory import ShortTermMemory, TokenCounter

from .stress import cases, run_case

COUNTER = TokenCounter(encoding="cl100k_base")
CAMPAIGN, SHARE = 100_000, 500  # histories in all, and those that one process takes at a time


def faulty(seed: int, count: int, giant: int, first: int = 0) -> dict[str, set[str]]:
    """The cases in which any context was at fault."""
    found = {
        f"{number}: {case.kind} at {case.budget}": run_case(
            case, lambda budget: ShortTermMemory(budget, counter=COUNTER)
        )
        for number, case in enumerate(cases(seed, count, giant=giant, first=first), first)
    }
    return {name: faults for name, faults in found.items() if faults}


def test_no_fault_in_hard_histories() -> None:
    assert faulty(7, 150, 10_000) == {}


@pytest.mark.soak
def test_no_fault_in_giant_observations() -> None:
    assert faulty(8, 200, 300_000) == {}


@pytest.mark.soak
def test_no_fault_in_a_hundred_thousand_histories(capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, set[str]] = {}
    with ProcessPoolExecutor() as pool, capsys.disabled():
        shares = pool.map(partial(faulty, 9, SHARE, 3_000), range(0, CAMPAIGN, SHARE))
        for done, faults in enumerate(shares, 1):
            found |= faults
            print(f"{done * SHARE} histories, {len(found)} at fault", flush=True)
    assert found == {}
