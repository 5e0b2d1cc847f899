"""The tools of a server that speaks the Model Context Protocol, through the official SDK.

Specification: modelcontextprotocol.io, server features "Tools". Annotations are hints of the server about itself, so
they count only when the user trusts the server.
"""

import asyncio
import contextlib
import os
import shlex
import sys
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from .definition import Risk, Tool, ToolError
from .extras import need
from .observation import to_observation
from .toolbox import Toolbox
from .waiting import Settled

_START_SECONDS = 60.0


class MCPToolbox(Toolbox):
    """A toolbox of a server's tools, as long as the connection lives: `with MCPToolbox("npx some-server") as tools:`.

    `server` is a command line or an http(s) address. `environment` is added to the few variables that a command
    inherits. Every tool has risk write, unless the server says that it only reads and `trusted` is set.

    Raises ToolError when the server cannot be started or reached. Needs the extra `mcp`.
    """

    def __init__(
        self,
        server: str,
        *,
        trusted: bool = False,
        environment: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        name = _without_secrets(server)
        self._connection = _Connection(_target(server, environment), server, name)
        try:
            super().__init__(self._tool(described, trusted, timeout) for described in self._connection.described)
        except ValueError as error:
            self.close()
            raise ToolError(f"the MCP server {name!r} offers a tool that cannot be used: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, and the server if it is a command."""
        self._connection.close()

    def _tool(self, described: Any, trusted: bool, timeout: float) -> Tool:
        def run(**arguments: Any) -> str:
            return _text(described.name, self._connection.call(described.name, arguments, timeout))

        only_reads = bool(described.annotations and described.annotations.read_only_hint)
        risk: Risk = "read" if trusted and only_reads else "write"
        description = described.description or described.title or described.name
        schema = {"additionalProperties": False, **described.input_schema}
        return Tool(described.name, description, schema, run, risk=risk, timeout=timeout + 5, categories=("mcp",))


def _target(server: str, environment: Mapping[str, str] | None) -> Any:
    if server.startswith(("http://", "https://")):
        return server
    words = _words(server)
    if not words:
        raise ToolError("the MCP server is empty; give a command line or an http address")
    started = need("mcp", "mcp").StdioServerParameters(
        command=words[0], args=words[1:], env=dict(environment) if environment else None
    )
    # the process's own stream: what stands in for sys.stderr in a notebook or a test is no file a command can write to
    return need("mcp.client.stdio", "mcp").stdio_client(started, errlog=sys.__stderr__)


def _words(command: str) -> list[str]:
    windows = os.name == "nt"  # where a backslash parts folders
    try:
        words = shlex.split(command, posix=not windows)
    except ValueError as error:
        raise ToolError(f"the command line of the MCP server cannot be read: {error}") from None
    return [word.strip('"') for word in words] if windows else words


def _without_secrets(server: str) -> str:
    """How messages name a server: a command line may hold keys, and so may an address after its path."""
    if not server.startswith(("http://", "https://")):
        return " ".join(_words(server)[:1])
    parts = urlsplit(server)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:100]


class _Connection:
    """A client in an event loop of its own thread, since calls come from whichever loop an agent runs in."""

    def __init__(self, target: Any, server: str, name: str) -> None:
        self.described: list[Any] = []
        self._name = name
        self._client: Any = None
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._ready = threading.Event()
        self._settled = Settled()
        self._thread = threading.Thread(target=self._live, args=(target,), daemon=True, name="carryforward-mcp")
        self._thread.start()
        self._ready.wait()
        error = self._settled.error
        if isinstance(error, ToolError):  # the extra is missing
            raise error
        if isinstance(error, TimeoutError):
            raise ToolError(f"the MCP server {name!r} did not answer within {_START_SECONDS:g} s")
        if error is not None:
            raise ToolError(f"the MCP server {name!r} cannot be used: {_reason(error).replace(server, name)}")

    def _live(self, target: Any) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            self._settled.of(lambda: runner.run(self._serve(target)))
        self._ready.set()

    async def _serve(self, target: Any) -> None:
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(_START_SECONDS):
                client: Any = await stack.enter_async_context(need("mcp", "mcp").Client(target))
                cursor: str | None = None
                while True:
                    listed = await client.list_tools(cursor=cursor)
                    self.described += listed.tools
                    cursor = listed.next_cursor
                    if not cursor:
                        break
            self._client = client
            self._ready.set()
            await self._ended.wait()

    def call(self, name: str, arguments: dict[str, Any], seconds: float) -> Any:
        """The server's result. Raises ToolError when the connection has ended, TimeoutError when it takes too long."""
        if not self._thread.is_alive():
            raise ToolError(f"the MCP server {self._name!r} is no longer connected")
        calling: Coroutine[Any, Any, Any] = self._client.call_tool(name, arguments)
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(calling, seconds), self._loop).result()

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(_START_SECONDS)


def _reason(error: Any) -> str:
    while hasattr(error, "exceptions"):  # a group: its first says what happened
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300]


def _text(name: str, result: Any) -> str:
    parts = [part.text if part.type == "text" else f"({part.type}, not shown)" for part in result.content]
    text = "\n".join(parts) or to_observation(result.structured_content)
    if result.is_error:
        raise ToolError(f"{name}: {text[:1000]}")
    return text
