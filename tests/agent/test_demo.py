"""The packaged demo as a whole: real tools, real memory, real HTTP, and a model that knows only what it is shown."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from carryforward.agent.demo.followup import FollowUp
from carryforward.agent.demo.report import History, full_history, missing_figures
from carryforward.agent.demo.research import Comparison
from carryforward.agent.demo.run import BUDGET, Place, run_demo, work
from carryforward.agent.demo.standin import MODEL, Received, StandIn
from carryforward.agent.demo.stations import records
from carryforward.agent.demo.tasks import comparison, follow_up
from carryforward.agent.model import ChatModel
from carryforward.agent.result import RunResult
from carryforward.memory.memory import Memory
from carryforward.memory.short_term import ShortTermMemory
from carryforward.tools.corpus import PACKAGED
from rich.console import Console

RIGHT = {
    "Itaipu": ("14000", "91.8", "74.9"),
    "Hoover Dam": ("2080", "4.2", "23.1"),
    "Grand Coulee": ("6809", "21", "35.2"),
    "Glen Canyon": ("1320", "5", "43.2"),
    "Robert-Bourassa": ("5616", "26.5", "53.9"),
    "Churchill Falls": ("5428", "35", "73.6"),
    "Krasnoyarsk": ("6000", "18.4", "35"),
    "Sayano-Shushenskaya": ("6400", "23.5", "41.9"),
    "Aswan High Dam": ("2100", "10", "54.4"),
    "Three Gorges (三峡)": ("22500", "88.2", "44.7"),
    "Baihetan (白鹤滩)": ("16000", "62.443", "44.6"),
    "Xiluodu (溪洛渡)": ("13860", "57.12", "47"),
    "Wudongde (乌东德)": ("10200", "38.91", "43.5"),
    "Xiangjiaba (向家坝)": ("6400", "30.747", "54.8"),
}
"""MW, TWh a year and percent, worked out by hand from the documents."""

SHORT_TASK = (
    "Compare these hydropower stations: Hoover Dam; Itaipu.\n"
    "Find installed capacity and average annual generation, and calculate the capacity factors in percent, with "
    "8,760 hours a year."
)


@dataclass
class Done:
    """A run, what the server received of it, and what its tools were asked."""

    result: RunResult
    requests: list[Received]
    history: History
    printed: str

    def calls_of(self, tool: str) -> int:
        calls = [call for request in self.requests for call in request.reply.get("tool_calls", ())]
        return sum(call["function"]["name"] == tool for call in calls)


def run(task: str, memory: Memory, place: Place) -> Done:
    printed = io.StringIO()
    with StandIn([FollowUp(), Comparison()]) as standin:
        chat = ChatModel(MODEL, base_url=standin.base_url, api_key="none")
        result = work(chat, task, memory, place.tools(memory), "tools", Console(file=printed, width=200))
    return Done(result, standin.requests, full_history(memory, result.run_id), printed.getvalue())


@pytest.fixture(scope="module")
def two_tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Done]:
    place = Place(tmp_path_factory.mktemp("demo"))
    memory = place.memory(BUDGET)
    first, second = (run(task.text, memory, place) for task in (comparison("en"), follow_up("en")))
    memory.close()
    return first, second


def test_all_figures_of_the_long_task_are_right(two_tasks: tuple[Done, Done]) -> None:
    first, _ = two_tasks
    assert first.result.status == "done"
    found = records(first.result.answer)
    values = {name: (record.capacity, record.generation, record.factor) for name, record in found.items()}
    assert {name: tuple(f"{value.normalize():f}" for value in three) for name, three in values.items()} == RIGHT
    assert "Total: 118,713 MW, 512.82 TWh, capacity factor 49.3 %." in first.result.answer
    assert missing_figures(first.result.answer, comparison("en").expected(PACKAGED)) == []


def test_every_figure_of_both_answers_has_a_source(two_tasks: tuple[Done, Done]) -> None:
    for done in two_tasks:
        assert [figure.text for figure in done.result.unsupported] == []


def test_the_long_task_is_long_and_each_request_stays_in_the_budget(two_tasks: tuple[Done, Done]) -> None:
    first, second = two_tasks
    assert first.result.steps >= 40
    assert first.history.last > 30_000
    assert max(request.prompt_tokens for request in first.requests + second.requests) <= BUDGET
    assert first.result.usage.prompt_tokens == sum(request.prompt_tokens for request in first.requests)
    assert first.result.usage.prompt_tokens < first.history.total / 5


def test_the_second_task_recalls_the_first_and_takes_far_fewer_steps(two_tasks: tuple[Done, Done]) -> None:
    first, second = two_tasks
    assert second.result.status == "done"
    assert [recall.outcome.run_id for recall in second.result.recalled] == [first.result.run_id]
    assert second.result.steps < first.result.steps / 3
    assert second.calls_of("fetch") == 0
    assert "9.2 TWh" in second.result.answer
    assert "10 %" in second.result.answer


def test_the_run_is_printed_while_it_goes_on(two_tasks: tuple[Done, Done]) -> None:
    first, second = two_tasks
    sizes = re.findall(r"([\d,]+) of 3,000 tokens in \d+ messages", first.printed)
    assert [int(size.replace(",", "")) for size in sizes] == [request.prompt_tokens for request in first.requests]
    for said in (
        "clamped m",
        "folded m",
        "carried m",
        "calculator round(4.2 * 1000000 / (2080 * 8760) * 100, 1) → 23.1",
    ):
        assert said in first.printed
    assert "recalled Compare these hydropower stations" in second.printed


def test_without_the_first_outcome_the_second_task_reads_the_documents_again(
    tmp_path: Path, two_tasks: tuple[Done, Done]
) -> None:
    place = Place(tmp_path)
    alone = run(follow_up("en").text, place.memory(BUDGET, long_term=False), place)
    assert alone.calls_of("fetch") >= 3
    assert alone.result.steps > two_tasks[1].result.steps
    assert missing_figures(alone.result.answer, follow_up("en").expected(PACKAGED)) == []


def test_an_altered_document_gives_an_altered_answer(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    shutil.copytree(PACKAGED, documents)
    hoover = documents / "hoover-dam.md"
    hoover.write_text(hoover.read_text().replace("of Hoover Dam is 2,080 MW", "of Hoover Dam is 1,040 MW"))
    answers = [short_run(tmp_path / str(at), folder).result.answer for at, folder in enumerate([PACKAGED, documents])]
    assert [str(records(answer)["Hoover Dam"].factor) for answer in answers] == ["23.1", "46.1"]
    assert [str(records(answer)["Itaipu"].factor) for answer in answers] == ["74.9", "74.9"]


def test_lost_figures_are_looked_up_and_not_known_by_heart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = short_run(tmp_path / "whole", PACKAGED, budget=20_000)
    assert whole.calls_of("lookup") == 0
    lossy = run_without_documents(tmp_path / "lossy", monkeypatch)
    assert lossy.calls_of("lookup") > 0
    assert records(lossy.result.answer) == {}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("example", "figures"),
    [("weather", ["25", "28", "3"]), ("everest", ["8848.86", "8844.43", "4.43"]), ("manual", ["128", "320"])],
)
def test_walk_throughs(example: str, figures: Sequence[str], language: str, tmp_path: Path) -> None:
    printed = io.StringIO()
    assert run_demo(example=example, language=language, data_dir=tmp_path, console=Console(file=printed)) == 0
    answer = printed.getvalue().partition("Answer")[2].partition("every figure")[0].replace(",", "")
    for figure in figures:
        assert figure in answer
    assert ("save_note" in printed.getvalue()) == (example == "manual")


def test_manual_example_leaves_its_note(tmp_path: Path) -> None:
    run_demo(example="manual", data_dir=tmp_path, console=Console(file=io.StringIO()))
    (note,) = (tmp_path / "notes").glob("*.md")
    assert "320" in note.read_text()


def test_the_chinese_demo_works_and_works_again_on_what_it_remembers(tmp_path: Path) -> None:
    runs = [io.StringIO(), io.StringIO()]
    for printed in runs:
        assert run_demo(language="zh", data_dir=tmp_path, console=Console(file=printed, width=200)) == 0
    first, second = (len(re.findall(r"^step", printed.getvalue(), re.MULTILINE)) for printed in runs)
    assert second < first
    for number, printed in enumerate(runs, 1):
        assert "三峡: 22,500 MW, 88.2 TWh, 44.7 %" in printed.getvalue()
        assert printed.getvalue().count("remembered") == 2 * number


def test_a_server_that_is_not_there_ends_the_demo_with_what_to_do(tmp_path: Path) -> None:
    printed = io.StringIO()
    url = "http://127.0.0.1:9/v1"
    assert run_demo(base_url=url, model="m", data_dir=tmp_path, console=Console(file=printed, width=300)) == 1
    assert "cannot be reached" in printed.getvalue()
    assert printed.getvalue().count("Answer") == 1


def test_an_unknown_example_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no example 'moon': use one of weather, everest, manual"):
        run_demo(example="moon")


def short_run(data: Path, documents: Path, budget: int = BUDGET) -> Done:
    place = Place(data, documents)
    data.mkdir()
    return run(SHORT_TASK, place.memory(budget, long_term=False), place)


def run_without_documents(data: Path, monkeypatch: pytest.MonkeyPatch) -> Done:
    """A run whose memory loses every observation: nothing is shown, carried forward or found again."""
    join = ShortTermMemory.add

    def forget(self: ShortTermMemory, message: dict[str, str]) -> str:
        return join(self, {**message, "content": "(lost)"} if message["role"] == "tool" else message)

    monkeypatch.setattr(ShortTermMemory, "add", forget)
    return short_run(data, PACKAGED)
