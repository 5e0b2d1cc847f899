"""Small keepers for the tests of the lab; in a module of their own, so that worker processes can import them."""

import os
from dataclasses import dataclass
from pathlib import Path

from carryforward.memory import Message, ToolCall


class Everything:
    """The full history."""

    def __init__(self, budget):
        self.messages = []

    def add(self, message):
        self.messages.append(message)

    def context(self):
        return list(self.messages)


class HeadAndLastTwo(Everything):
    """The first two messages and the last two."""

    def context(self):
        return self.messages[:2] + self.messages[2:][-2:]


class WithLookup(HeadAndLastTwo):
    """The same, with refs: the task says which messages left."""

    def add(self, message):
        super().add(message)
        return f"m{len(self.messages) - 1}"

    def context(self):
        shown = super().context()
        task = {**shown[1], "content": shown[1]["content"] + " [left out, look up: m2-m5]"}
        return [shown[0], task, *shown[2:]]

    def lookup(self, ref):
        return str(self.messages[int(ref[1:])]["content"])


class RaisesAtTheThirdCall(Everything):
    """Breaks in the middle of a run."""

    calls = 0

    def context(self):
        self.calls += 1
        if self.calls == 3:
            raise RuntimeError("no more room")
        return super().context()


@dataclass(frozen=True)
class KillsItsWorkerOnce:
    """A factory whose keeper ends the process that runs it, if the file is not there yet."""

    marker: Path
    label: str = "killer"

    def __call__(self, budget):
        if not self.marker.exists():
            self.marker.touch()
            os._exit(9)
        return Everything(budget)


def call(id, name, arguments):
    return Message("assistant", None, tool_calls=(ToolCall(id, name, arguments),))


def result(id, text):
    return Message("tool", text, tool_call_id=id)


def parcels():
    """A run whose demands can be read off: one at message 4, one at 6, two at 8; `D_0001` is told by the task."""
    return [
        Message("system", "You count parcels. " * 40),
        Message("user", "How many parcels are in depot D_0001?"),
        call("c1", "shelves", "{}"),
        result("c1", "depot D_0001 holds the shelves S_88231 and S_88232"),
        call("c2", "count", '{"shelf": "S_88231"}'),
        result("c2", "S_88231: 12,500 parcels"),
        call("c3", "count", '{"shelf": "S_88232"}'),
        result("c3", "S_88232: 11250 parcels"),
        Message("assistant", "D_0001 holds 12500 + 11250 parcels."),
    ]
