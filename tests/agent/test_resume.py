"""Resume: killed at any point, a run goes on where its journal ends; nothing is done twice unasked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from carryforward.agent import Agent, Allow, Deny, PendingAction, RunResult, answer, pending_actions
from carryforward.agent.errors import ServerError
from carryforward.memory import Journal, JournalError, LongTermMemory, Memory, Outcome
from carryforward.tools import Tool

from .kill_campaign import HashedWords


class Killed(BaseException):
    """Stands for the end of the process."""


class DyingJournal(Journal):
    """Ends the process before or after its n-th entry is written."""

    def __init__(self, path: Path, dies_at: int, *, written: bool) -> None:
        super().__init__(path)
        self._left, self._written = dies_at, written

    def append(self, run: str, kind: str, body: Mapping[str, Any]) -> int:
        self._left -= 1
        if self._left <= 0 and not (self._written and self._left == 0):
            raise Killed
        seq = super().append(run, kind, body)
        if self._left <= 0:
            raise Killed
        return seq


class World:
    """What the tools see and change, whatever happens to the process."""

    def __init__(self) -> None:
        self.reads: list[str] = []
        self.writes: list[str] = []

    def tools(self) -> list[Tool]:
        def search(query: str) -> str:
            self.reads.append(query)
            return f"The {query} is {len(query)} m high."

        def save(text: str) -> str:
            self.writes.append(text)
            return "saved"

        return [_tool("search", search, "query"), _tool("save", save, "text", risk="write")]


def _tool(name: str, run: Callable[..., Any], *parameters: str, risk: Any = "read") -> Tool:
    properties = {one: {"type": "string"} for one in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return Tool(name, f"The tool {name}.", schema, run=run, risk=risk)


PLAN: list[Any] = [
    ("search", {"query": "tower"}),
    [("search", {"query": "bridge"}), ("save", {"text": "tower"}), ("search", {"query": "dam"})],
    ("serch", {"query": "typo"}),
    ("save", {"text": "bridge"}),
    "The tower is 5 m high.",
]
READING: list[Any] = [PLAN[0], [("search", {"query": "bridge"}), ("search", {"query": "dam"})], PLAN[2], PLAN[4]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def open_agent(model: Any, world: World, journal: Journal, **options: Any) -> Agent:
    options.setdefault("allow", ["save"])
    return Agent(model, world.tools(), memory=Memory(20_000, journal=journal), **options)


def killed_run(model: Any, world: World, journal: Journal, **options: Any) -> str:
    """Start a run that is killed; its id."""
    agent = open_agent(model, world, journal, **options)
    with pytest.raises(Killed):
        agent.run("How high is the tower?")
    journal.close()
    return agent.memory.run_id


def entries_of_a_whole_run(scripted: Any, plan: list[Any], path: Path) -> int:
    with Journal(path.with_name("whole.db")) as journal:
        run = open_agent(scripted(plan, by_context=True), World(), journal).run("How high is the tower?")
        return len(journal.entries(run.run_id))


@pytest.mark.parametrize("written", [True, False], ids=["after the entry", "before the entry"])
def test_killed_at_any_entry_a_run_ends_as_if_nothing_had_been(scripted: Any, path: Path, written: bool) -> None:
    total = entries_of_a_whole_run(scripted, PLAN, path)
    for dies_at in range(2 - written, total + 1):
        journal_path, world, asked = path.with_name(f"{dies_at}.db"), World(), list[PendingAction]()
        dying = DyingJournal(journal_path, dies_at, written=written)
        run_id = killed_run(scripted(PLAN, by_context=True), world, dying)

        def ask(action: PendingAction, world: World = world, asked: list[PendingAction] = asked) -> Allow | Deny:
            asked.append(action)
            return Deny("it was done") if action.arguments["text"] in world.writes else Allow()

        with Journal(journal_path) as journal:
            kept = journal.entries(run_id)
            resumed = open_agent(scripted(PLAN, by_context=True), world, journal, approve=ask)
            result = resumed.resume(run_id)
            assert (result.status, result.answer) == ("done", PLAN[-1]), dies_at
            assert sorted(world.writes) == ["bridge", "tower"], dies_at
            finished = {entry.body["call"] for entry in kept if entry.kind == "call_finished"}
            begun = [entry.body for entry in kept if entry.kind == "call_started"]
            cut = [call["name"] for call in begun if call["call"] not in finished]
            assert [action.why for action in asked] == ["unknown_end"] * cut.count("save"), dies_at
            assert 3 <= len(world.reads) <= 3 + cut.count("search"), dies_at
            assert journal.entries(run_id)[: len(kept)] == kept, "an entry was lost or changed"
            assert len(journal.entries(run_id, "outcome")) == 1
            before = list(world.writes)
            assert resumed.resume(run_id).answer == PLAN[-1]
            assert world.writes == before


@pytest.mark.parametrize("written", [True, False], ids=["after the entry", "before the entry"])
def test_the_contexts_after_a_resume_are_the_same_byte_for_byte(scripted: Any, path: Path, written: bool) -> None:
    whole = scripted(READING, by_context=True)
    with Journal(path) as journal:
        run_id = open_agent(whole, World(), journal).run("How high is the tower?").run_id
        total = len(journal.entries(run_id))
    for dies_at in range(2 - written, total):
        journal_path, world = path.with_name(f"{dies_at}.db"), World()
        first, second = scripted(READING, by_context=True), scripted(READING, by_context=True)
        run_id = killed_run(first, world, DyingJournal(journal_path, dies_at, written=written))
        with Journal(journal_path) as journal:
            open_agent(second, world, journal).resume(run_id)
        sent = [json.dumps(context) for context in [*first.sent, *second.sent]]
        assert list(dict.fromkeys(sent)) == [json.dumps(context) for context in whole.sent], dies_at


@pytest.mark.parametrize("written", [True, False], ids=["after the entry", "before the entry"])
def test_killed_at_any_entry_a_run_recalls_the_same_and_is_remembered_once(
    scripted: Any, path: Path, written: bool
) -> None:
    plan = [("search", {"query": "tower"}), "The tower is 5 m high."]

    def agent(place: Path, journal: Journal) -> Agent:
        long_term = LongTermMemory(place, embedder=HashedWords())
        if not len(long_term):
            long_term.remember(Outcome("How high is the tower?", "It was 4 m high once."))
        memory = Memory(20_000, journal=journal, long_term=long_term)
        return Agent(scripted(plan, by_context=True), World().tools(), memory=memory)

    with Journal(path) as journal:
        total = len(journal.entries(agent(path.with_name("whole"), journal).run("How high is the tower?").run_id))
    for dies_at in range(2 - written, total if written else total + 1):
        place, file = path.with_name(str(dies_at)), path.with_name(f"{dies_at}.db")
        with DyingJournal(file, dies_at, written=written) as journal, pytest.raises(Killed):
            agent(place, journal).run("How high is the tower?")
        with Journal(file) as journal:
            resumed = agent(place, journal)
            assert resumed.resume(journal.runs()[0].run).answer == plan[-1], dies_at
            task = next(m.text for _, m in resumed.memory.short_term.messages() if m.role == "user")
        assert "It was 4 m high once." in task, dies_at
        outcomes = LongTermMemory(place, embedder=HashedWords()).outcomes()
        assert sorted(outcome.result for outcome in outcomes) == ["It was 4 m high once.", plan[-1]], dies_at


def test_a_finished_call_is_not_run_again(scripted: Any, path: Path) -> None:
    world = World()
    with Journal(path) as journal:
        model = scripted([("save", {"text": "mail"}), ServerError("connection lost"), "done"])
        agent = open_agent(model, world, journal)
        broken = agent.run("go")
        assert broken.status == "error"
    with Journal(path) as journal:
        model = scripted(["done"])
        assert open_agent(model, world, journal).resume(broken.run_id).status == "done"
    assert world.writes == ["mail"]
    assert [m["content"] for m in model.sent[0] if m["role"] == "tool"] == ["saved"]


def killed_in_a_call(scripted: Any, path: Path, world: World, call: Any, secrets: tuple[str, ...] = ()) -> str:
    """A run whose process ended after the call took effect and before its end was written."""
    with Journal(path.with_name("count.db")) as journal:
        run = open_agent(scripted([call, "done"], by_context=True), World(), journal).run("How high is the tower?")
        kinds = [entry.kind for entry in journal.entries(run.run_id)]
    dying = DyingJournal(path, kinds.index("call_finished") + 1, written=False)
    model = scripted([call, "done"], by_context=True)
    model.secrets = secrets
    return killed_run(model, world, dying)


def test_a_read_whose_end_is_unknown_is_run_again(scripted: Any, path: Path) -> None:
    world = World()
    run_id = killed_in_a_call(scripted, path, world, ("search", {"query": "dam"}))
    with Journal(path) as journal:
        assert open_agent(scripted(["done"]), world, journal).resume(run_id).status == "done"
    assert world.reads == ["dam", "dam"]


def test_a_write_whose_end_is_unknown_is_never_repeated_unasked(scripted: Any, path: Path) -> None:
    world, model = World(), scripted(["done"])
    run_id = killed_in_a_call(scripted, path, world, ("save", {"text": "mail"}))
    with Journal(path) as journal:
        assert open_agent(model, world, journal, approve=None).resume(run_id).status == "done"
    assert world.writes == ["mail"]
    assert "not known whether it took effect" in model.sent[0][-2]["content"]


def test_a_write_whose_end_is_unknown_is_asked_about_and_each_time_anew(scripted: Any, path: Path) -> None:
    world, asked = World(), list[PendingAction]()
    run_id = killed_in_a_call(scripted, path, world, ("save", {"text": "mail"}))

    def allow(action: PendingAction) -> Allow:
        asked.append(action)
        return Allow()

    dying = DyingJournal(path, 4, written=False)  # asked, answered, begun, and killed before the end is written
    with pytest.raises(Killed):
        open_agent(scripted(["done"]), world, dying, approve=allow).resume(run_id)
    dying.close()
    with Journal(path) as journal:
        open_agent(scripted(["done"]), world, journal, approve=allow).resume(run_id)
    assert [action.why for action in asked] == ["unknown_end"] * 2 and asked[0].id != asked[1].id
    assert world.writes == ["mail"] * 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("search", {"query": "sk-4711-0815"}), "was not executed"),
        (("save", {"text": "key sk-4711-0815"}), "not known whether it took effect"),
    ],
)
def test_a_call_whose_secret_is_not_written_down_is_not_run_without_it(
    scripted: Any, path: Path, call: Any, said: str
) -> None:
    world, model = World(), scripted(["done"])
    run_id = killed_in_a_call(scripted, path, world, call, secrets=("sk-4711-0815",))
    done = (list(world.reads), list(world.writes))
    with Journal(path) as journal:
        assert open_agent(model, world, journal, approve=lambda _: True).resume(run_id).status == "done"
    assert (world.reads, world.writes) == done
    told = str(model.sent[0])
    assert said in told and "make the call again" in told


def test_a_question_left_in_the_journal_is_answered_once_and_not_asked_again(scripted: Any, path: Path) -> None:
    world, plan = World(), [("save", {"text": "draft"}), ("save", {"text": "mail"}), "sent"]
    options: dict[str, Any] = {"approve": "journal", "allow": [("save", {"text": "draft"})]}
    with Journal(path) as journal:
        paused = open_agent(scripted(plan, by_context=True), world, journal, **options).run("go")
        assert paused.status == "waiting" and world.writes == ["draft"]
        assert pending_actions(journal, paused.run_id) == list(paused.pending)
    with Journal(path) as journal:
        still = open_agent(scripted(plan, by_context=True), world, journal, **options).resume(paused.run_id)
        assert still.status == "waiting" and still.pending == paused.pending
    with Journal(path) as journal:
        answer(journal, paused.run_id, paused.pending[0].id, Allow())
    results: list[RunResult] = []
    for _ in range(2):
        with Journal(path) as journal:
            results.append(open_agent(scripted(plan, by_context=True), world, journal, **options).resume(paused.run_id))
            questions = [entry for entry in journal.entries(paused.run_id, "approval") if "asked" in entry.body]
    assert [(one.status, one.answer) for one in results] == [("done", "sent")] * 2
    assert world.writes == ["draft", "mail"] and len(questions) == 1


def test_of_two_agents_that_take_up_one_run_one_wins(scripted: Any, path: Path) -> None:
    world = World()
    with Journal(path) as journal:
        broken = open_agent(scripted([ServerError("lost")]), world, journal).run("go")

    async def both() -> tuple[RunResult, str]:
        began, go_on = asyncio.Event(), asyncio.Event()

        class Slow:
            async def complete(self, *args: Any, **options: Any) -> Any:
                began.set()
                await go_on.wait()
                return await scripted(["done"]).complete(*args, **options)

        with Journal(path) as one, Journal(path) as other:
            winner = asyncio.create_task(open_agent(Slow(), world, one).aresume(broken.run_id))
            await began.wait()
            with pytest.raises(JournalError, match=broken.run_id) as refused:
                await open_agent(scripted(["done"]), world, other).aresume(broken.run_id)
            go_on.set()
            return await winner, str(refused.value)

    result, error = asyncio.run(both())
    assert result.status == "done" and "another process" in error


def test_who_stops_reading_stops_the_run_and_it_can_be_taken_up(scripted: Any, path: Path) -> None:
    world = World()

    async def read_a_little(agent: Agent) -> None:
        events = agent.stream("How high is the tower?")
        async for event in events:
            if type(event).__name__ == "Observed":
                break
        await events.aclose()  # type: ignore[attr-defined]

    with Journal(path) as journal:
        agent = open_agent(scripted(PLAN, by_context=True), world, journal)
        asyncio.run(read_a_little(agent))
        assert agent.resume(agent.memory.run_id).answer == PLAN[-1]


def test_an_unknown_run_is_named(scripted: Any, path: Path) -> None:
    with Journal(path) as journal, pytest.raises(JournalError, match="no run nope"):
        open_agent(scripted([]), World(), journal).resume("nope")


def test_what_was_spent_before_counts_after(scripted: Any, path: Path) -> None:
    with Journal(path) as journal:
        first = scripted([("search", {"query": "a"}), ("search", {"query": "b"}), ServerError("lost")])
        broken = open_agent(first, World(), journal, max_steps=3).run("go")
        result = open_agent(scripted([("search", {"query": "c"}), "so far"]), World(), journal, max_steps=3).resume(
            broken.run_id
        )
    assert (result.status, result.steps, result.usage.prompt_tokens) == ("out_of_steps", 3, 40)
