"""Tools of a real MCP server, started as a command, work like any other."""

import asyncio
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from carryforward.tools import ToolError
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
    for server in ("no-such-command-here", f"{sys.executable} -c pass", "http://127.0.0.1:1/mcp", " "):
        with pytest.raises(ToolError, match="MCP server") as failed:
            MCPToolbox(server)
        assert "\n" not in str(failed.value)
