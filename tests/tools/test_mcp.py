"""Tools of a real MCP server, started as a command, work like any other."""

import asyncio
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from carryforward.tools import ToolError, mcp
from carryforward.tools.mcp import MCPToolbox

SERVER = '''
from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("tides", log_level="CRITICAL")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def range_of(bay: str, year: int = 2020) -> str:
    """The tidal range of a bay."""
    return f"{bay} {year}: 16.3 m"

@server.tool()
def forget(bay: str) -> str:
    """Forget a bay."""
    raise ValueError(f"{bay} cannot be forgotten")

server.run()
'''


TWICE = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import ListToolsResult, Tool

async def list_tools(context, params):
    return ListToolsResult(tools=[Tool(name="x", input_schema={"type": "object"})] * 2)

async def main():
    server = Server("twice", on_list_tools=list_tools)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())

anyio.run(main)
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    script: Path = tmp_path_factory.mktemp("mcp") / "server.py"
    script.write_text(SERVER)
    return shlex.join([sys.executable, str(script)])


@pytest.fixture(scope="module")
def tools(command: str) -> Iterator[MCPToolbox]:
    with MCPToolbox(command) as tools:
        yield tools


def test_tools_are_listed_and_called_from_any_loop(tools: MCPToolbox):
    assert tools.names == ["range_of", "forget"]
    assert tools.get("range_of").description == "The tidal range of a bay."
    assert tools.call("range_of", {"bay": "Fundy", "year": "2021"}) == "Fundy 2021: 16.3 m"
    assert asyncio.run(tools.acall("range_of", {"bay": "Fundy"})) == "Fundy 2020: 16.3 m"


def test_errors_of_server_and_arguments_are_one_line(tools: MCPToolbox):
    with pytest.raises(ToolError, match="tool forget") as failed:
        tools.call("forget", {"bay": "Fundy"})
    assert "\n" not in str(failed.value)
    with pytest.raises(ToolError, match="'bay' is a required property"):
        tools.call("range_of", {})


def test_only_a_trusted_server_may_say_that_it_only_reads(command: str, tools: MCPToolbox):
    assert [tool.risk for tool in tools] == ["write", "write"]
    with MCPToolbox(command, trusted=True) as trusted:
        assert [tool.risk for tool in trusted] == ["read", "write"]
    with pytest.raises(ToolError, match="no longer connected"):
        trusted.call("range_of", {"bay": "Fundy"})


def test_a_server_that_cannot_be_started_is_one_line():
    for server in ("no-such-command-here", f"{sys.executable} -c pass", "http://127.0.0.1:1/mcp", " ", "'open"):
        with pytest.raises(ToolError, match="MCP server") as failed:
            MCPToolbox(server)
        assert "\n" not in str(failed.value)


def test_a_server_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mcp, "_START_SECONDS", 1)
    with pytest.raises(ToolError, match="did not answer within 1 s"):
        MCPToolbox("sleep 1733")
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 1733" not in running


def test_messages_name_a_server_without_its_keys():
    for server in ("env KEY=sk-000 no-such-command-here", "http://me:sk-000@127.0.0.1:1/mcp?key=sk-000"):
        with pytest.raises(ToolError) as failed:
            MCPToolbox(server)
        assert "sk-000" not in str(failed.value)


def test_a_server_with_two_tools_of_one_name_is_one_line(tmp_path: Path):
    script = tmp_path / "twice.py"
    script.write_text(TWICE)
    with pytest.raises(ToolError, match="two tools are named 'x'") as failed:
        MCPToolbox(shlex.join([sys.executable, str(script)]))
    assert "\n" not in str(failed.value)
