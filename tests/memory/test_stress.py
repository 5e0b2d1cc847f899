"""Hard histories by a seeded generator: a short form here, the long campaign as soak."""

from __future__ import annotations

import pytest
from carryforward.memory import ShortTermMemory, TokenCounter

from .stress import cases, run_case

COUNTER = TokenCounter(encoding="cl100k_base")


def faulty(seed: int, count: int, giant: int) -> dict[str, set[str]]:
    """The cases in which any context was at fault."""
    found = {
        f"{number}: {case.kind} at {case.budget}": run_case(
            case, lambda budget: ShortTermMemory(budget, counter=COUNTER)
        )
        for number, case in enumerate(cases(seed, count, giant=giant))
    }
    return {name: faults for name, faults in found.items() if faults}


def test_no_fault_in_hard_histories() -> None:
    assert faulty(7, 150, 10_000) == {}


@pytest.mark.soak
def test_no_fault_in_giant_observations() -> None:
    assert faulty(8, 200, 300_000) == {}


@pytest.mark.soak
def test_no_fault_in_a_hundred_thousand_histories() -> None:
    assert faulty(9, 100_000, 3_000) == {}
