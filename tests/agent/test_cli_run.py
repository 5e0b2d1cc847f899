"""`carryforward run`: which tools its options give, over a scripted model server and a real MCP server."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from carryforward.agent.cli import app
from carryforward.agent.cli.run_tools import chosen_tools, hide_secrets
from carryforward.memory import Journal
from carryforward.tools import ToolError, sandbox
from carryforward.tools.sandbox import isolation, run_python
from typer.testing import CliRunner, Result

from .scripted_server import Entry, ScriptedServer, answer

TIDES = '''
from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("tides", log_level="CRITICAL")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def range_of(bay: str) -> str:
    """The tidal range of a bay."""
    return f"{bay}: 16.3 m"

@server.tool()
def search(query: str) -> str:
    """Search the bays."""
    return f"found {query}"

server.run()
'''


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own, and neither model server nor search service in the environment."""
    monkeypatch.setenv("CARRYFORWARD_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    names = ("OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY", "LLM_URL", "LLM_MODEL")
    for name in (*names, "SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def tides(tmp_path: Path) -> str:
    script = tmp_path / "tides.py"
    script.write_text(TIDES)
    return shlex.join([sys.executable, str(script)])


def run(script: list[Entry], *arguments: str) -> tuple[Result, list[dict[str, Any]]]:
    """The command's result, and what the model was sent."""
    with ScriptedServer(script) as server:
        common = ["--base-url", server.base_url, "--model", "m", "--no-remember", "--format", "tools"]
        result = CliRunner().invoke(app, ["run", "How high is the tide?", *common, *arguments])
        return result, [request.body for request in server.requests]


def names(**options: Any) -> list[str]:
    with ExitStack() as stack:
        return [tool.name for tool in chosen_tools(stack, notes=Path("notes"), **options)]


def last_observation(sent: list[dict[str, Any]]) -> str:
    return [message["content"] for message in sent[-1]["messages"] if message["role"] == "tool"][-1]


def test_the_first_line_names_the_tools_and_which_are_asked_about() -> None:
    result, sent = run([answer("fine")])
    assert result.exit_code == 0
    first = result.stdout.splitlines()[0]
    assert first == "tools: search, fetch, calculator, convert, now, read_notes | asked about first: save_note"
    offered = [tool["function"]["name"] for tool in sent[0]["tools"]]
    assert offered == ["search", "fetch", "calculator", "convert", "now", "save_note", "read_notes", "lookup"]
    line = run([answer("fine")], "--allow", "save_note")[0].stdout.splitlines()[0]
    assert line == "tools: search, fetch, calculator, convert, now, save_note, read_notes"
    assert "| refused: save_note" in run([answer("fine")], "--ask", "never")[0].stdout


def test_an_unknown_tool_is_not_allowed_silently() -> None:
    result, sent = run([], "--allow", "save_notes")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert "no tool 'save_notes'. Did you mean 'save_note'?" in line
    assert sent == []


def test_an_mcp_server_is_asked_about_unless_it_is_trusted(tides: str) -> None:
    call = answer(calls=[("range_of", {"bay": "Fundy"})])
    result, sent = run([call, answer("unknown")], "--mcp", tides, "--ask", "never")
    assert result.stdout.splitlines()[0].endswith("| refused: save_note, range_of, search_2")
    assert "was not executed" in last_observation(sent)
    result, sent = run([call, answer("16.3 m")], "--mcp", tides, "--ask", "never", "--trust-mcp")
    assert ", read_notes, range_of | refused: save_note, search_2" in result.stdout.splitlines()[0]
    assert "Fundy: 16.3 m" in last_observation(sent)


def test_a_tool_whose_name_is_taken_gets_a_number_and_still_calls_its_own_server(tides: str) -> None:
    script = [answer(calls=[("search_2", {"query": "Fundy"})]), answer("found")]
    result, sent = run(script, "--mcp", tides, "--mcp", tides, "--allow", "search_2")
    assert "asked about first: save_note, range_of, range_of_2, search_3" in result.stdout.splitlines()[0]
    assert "found Fundy" in last_observation(sent)


def test_an_mcp_server_that_cannot_be_used_is_one_line() -> None:
    result, sent = run([], "--mcp", "env KEY=sk-000 no-such-command-here")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert "the MCP server 'env' cannot be used" in line
    assert "sk-000" not in line
    assert sent == []


@pytest.mark.skipif(sys.platform == "win32", reason="code is run on Linux and macOS only")
def test_python_is_asked_about_and_its_isolation_said() -> None:
    call = answer(calls=[("python", {"code": "6 * 7"})])
    result, sent = run([call, answer("no")], "--python")
    assert result.stdout.splitlines()[0].endswith(f"save_note, python | isolation of python: {isolation()}")
    assert "was not executed" in last_observation(sent)  # there is no terminal to ask at
    _, sent = run([call, answer("42")], "--python", "--allow", "python")
    assert f"42\n(isolation: {isolation()}" in last_observation(sent)


def test_a_call_that_waits_for_an_answer_goes_on_after_it(home: Path, tides: str) -> None:
    script = [answer(calls=[("range_of", {"bay": "Fundy"})]), answer("16.3 m")]
    with ScriptedServer(script) as server:
        common = ["--base-url", server.base_url, "--model", "m", "--no-remember", "--format", "tools", "--mcp", tides]
        result = CliRunner().invoke(app, ["run", "How high is the tide?", "--ask", "journal", *common])
        assert result.exit_code == 0
        run_id = result.stdout.split("carryforward approve ")[1].split()[0]
        assert 'range_of (write) {"bay": "Fundy"}' in CliRunner().invoke(app, ["approve", run_id, "--yes"]).stdout
        result = CliRunner().invoke(app, ["run", "--resume", run_id, *common])
        assert "16.3 m" in result.stdout
        assert "Fundy: 16.3 m" in last_observation([request.body for request in server.requests])


def test_the_web_is_searched_by_the_service_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tides.md").write_text("# Tides\n\nThe tide of Fundy rises 16.3 m.\n")
    call = answer(calls=[("web_search", {"query": "tide of Fundy"})])
    result, sent = run([call, answer("16.3 m")], "--web", "--documents", str(tmp_path))
    assert "web_search, fetch_page" in result.stdout.splitlines()[0]
    assert "rises 16.3 m" in last_observation(sent)
    monkeypatch.setenv("SEARXNG_URL", "http://127.0.0.1:9")
    _, sent = run([call, answer("unknown")], "--web")
    assert "SearXNG does not answer" in last_observation(sent)


def test_files_are_offered_for_a_folder(tmp_path: Path) -> None:
    assert {"read_file", "list_files", "search_files"} <= set(names(files=[tmp_path]))
    assert "read_file" not in names()


@pytest.mark.parametrize(
    ("extra", "module", "options"),
    [("web", "trafilatura", {"web": True}), ("mcp", "mcp", {"mcp": ["some-server"]})],
)
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, extra: str, module: str, options: dict[str, Any]
) -> None:
    for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with pytest.raises(ToolError, match=rf"pip install 'carryforward\[{extra}\]'"):
        names(**options)


def test_keys_of_the_environment_stay_out_of_the_journal(tmp_path: Path) -> None:
    environment = {"BRAVE_API_KEY": "brave-000111", "GITHUB_TOKEN": "ghp_000222", "PATH": "/usr/bin", "FLAG_KEY": "1"}
    with Journal(tmp_path / "journal.sqlite3") as journal:
        hide_secrets(journal, environment)
        journal.append("r", "note", {"text": "brave-000111 and ghp_000222 in /usr/bin, 1"})
        assert journal.entries("r")[0].body == {"text": "[secret] and [secret] in /usr/bin, 1"}


def test_a_key_in_a_file_reaches_neither_the_model_nor_the_journal(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-test-000111")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "settings.txt").write_text("key = sk-test-000111\n")
    script = [answer(calls=[("read_file", {"path": "settings.txt"})]), answer("The key is sk-test-000111")]
    _, sent = run(script, "--files", str(folder))
    assert "key = [secret]" in last_observation(sent)
    assert "sk-test-000111" not in json.dumps(sent)
    assert b"sk-test-000111" not in b"".join(
        file.read_bytes() for file in home.glob("journal.sqlite3*") if file.is_file()
    )


def test_the_help_tells_of_every_option() -> None:
    text = CliRunner().invoke(app, ["run", "--help"]).stdout
    for option in ("--files", "--web", "--python", "--mcp", "--trust-mcp", "--allow", "--ask"):
        assert option in text


def test_doctor_says_where_things_are_and_how_code_is_shut_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def doctor() -> str:
        return CliRunner().invoke(app, ["doctor", "--no-embed"]).stdout

    text = doctor()
    assert f"data                   {home}" in text
    assert f"isolation of python    {'namespaces' if isolation() == 'namespaces' else 'own process only'}: " in text
    monkeypatch.setattr(sandbox, "isolation", lambda: "process")
    assert "this machine refuses namespaces, so files and network are open to the code" in doctor()


def test_on_windows_no_code_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.sys, "platform", "win32")
    with pytest.raises(NotImplementedError, match="Linux and macOS only"):
        run_python("1")
