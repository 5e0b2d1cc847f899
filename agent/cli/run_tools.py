"""The tools of `carryforward run`: which ones its options choose, and what its opening line says of them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ...memory.journal import Journal
from ...tools import Tool, Toolbox

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD)S?$", re.IGNORECASE)
_SHORTEST_SECRET = 8  # characters: hiding values such as `true` or `1234` would spoil what the model reads


def chosen_tools(
    stack: ExitStack,
    *,
    notes: Path,
    documents: Path | None = None,
    files: Sequence[Path] = (),
    web: bool = False,
    python: bool = False,
    mcp: Sequence[str] = (),
    trust_mcp: bool = False,
) -> list[Tool]:
    """The tools; MCP servers end with the stack. A tool whose name is taken gets a number behind it.

    Raises ToolError when an extra is missing or an MCP server cannot be used, FileNotFoundError for a missing folder.
    """
    from ...tools.calculator import calculator
    from ...tools.convert import convert_tool
    from ...tools.corpus import corpus_tools
    from ...tools.files import file_tools
    from ...tools.notes import note_tools
    from ...tools.now import now_tool

    tools = [*corpus_tools(documents), calculator, convert_tool, now_tool, *note_tools(notes)]
    tools += file_tools(files) if files else []
    tools += _web_tools(documents) if web else []
    tools += [_python()] if python else []
    for server in mcp:
        from ...tools.mcp import MCPToolbox

        tools += stack.enter_context(MCPToolbox(server, trusted=trust_mcp))
    return _with_names_of_their_own(tools)


def _web_tools(documents: Path | None) -> list[Tool]:
    from ...tools.corpus import Corpus
    from ...tools.extras import need
    from ...tools.fetch_page import fetch_page_tool
    from ...tools.web_search import LocalCorpus, engine_from, web_search_tool

    need("trafilatura", "web")
    engine = engine_from()
    if isinstance(engine, LocalCorpus) and documents is not None:
        engine = LocalCorpus(Corpus(documents))
    return [web_search_tool(engine), fetch_page_tool()]


def _python() -> Tool:
    from ...tools.python_tool import python_tool
    from ...tools.sandbox import isolation

    isolation()  # says at once where no code can be run
    return python_tool()


def _with_names_of_their_own(tools: Iterable[Tool]) -> list[Tool]:
    named: dict[str, Tool] = {}
    for tool in tools:
        name, number = tool.name, 2
        while name in named:
            name, number = f"{tool.name}_{number}", number + 1
        named[name] = tool if name == tool.name else replace(tool, name=name)
    return list(named.values())


def opening_line(tools: Sequence[Tool], allow: Collection[str], *, asked: bool) -> str:
    """Which tools there are, and which of them are asked about. Raises ToolError when an allowed one is unknown."""
    box = Toolbox(tools)
    unasked = {box.get(name).name for name in allow}
    free = [tool.name for tool in tools if tool.risk == "read" or tool.name in unasked]
    others = [tool.name for tool in tools if tool.name not in free]
    line = f"tools: {', '.join(free)}"
    if others:
        line += f" | {'asked about first' if asked else 'refused'}: {', '.join(others)}"
    if "python" in box:
        from ...tools.sandbox import isolation

        line += f" | isolation of python: {isolation()}"
    return line


def hide_secrets(journal: Journal, environment: Mapping[str, str] = os.environ) -> None:
    """Keep the keys of the environment out of the journal, and out of what the model is sent."""
    for name, value in environment.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            journal.redact(value)
