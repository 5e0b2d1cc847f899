"""The tools of one agent: looked up by name, called with checked arguments, answering with text."""

import asyncio
import difflib
import functools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .arguments import fit_arguments
from .decorator import tool as make_tool
from .definition import Tool, ToolError
from .observation import to_observation
from .waiting import call_in_time, run_sync

_FIRST_PAUSE = 0.2
_CACHED_CALLS = 256


class Toolbox:
    """Tools by name. Plain typed functions are taken too, as `@tool` would make tools of them.

    Raises ValueError when two tools have one name.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._cache: dict[tuple[str, str], tuple[float, str]] = {}
        for item in tools:
            one = item if isinstance(item, Tool) else make_tool(item)
            if one.name in self._tools:
                raise ValueError(f"two tools are named {one.name!r}: give one of them another name")
            self._tools[one.name] = one

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool:
        """The tool of that name. Raises ToolError, which lists the known ones, when there is none."""
        if name in self._tools:
            return self._tools[name]
        by_folded_name = {known.casefold(): known for known in self._tools}
        near = difflib.get_close_matches(name.casefold()[:100], by_folded_name, n=1)
        hint = f" Did you mean {by_folded_name[near[0]]!r}?" if near else ""
        known = ", ".join(self._tools) or "none"
        raise ToolError(f"there is no tool {name[:100]!r}.{hint} The tools are: {known}.")

    def only(self, *categories: str) -> "Toolbox":
        """A toolbox of the tools that have one of the categories."""
        return Toolbox(one for one in self if set(one.categories) & set(categories))

    def schemas(self) -> list[dict[str, Any]]:
        """The `tools` list of the OpenAI chat completions API."""
        return [one.schema() for one in self]

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """`acall` for code that is not async."""
        return run_sync(self.acall(name, arguments))

    async def acall(self, name: str, arguments: Mapping[str, Any]) -> str:
        """What the tool answers, as text.

        Raises ToolError: the tool is unknown, an argument does not fit, the tool refuses, fails or takes too long.
        """
        one = self.get(name)
        fitted = fit_arguments(one, arguments)
        if one.risk != "read":
            try:
                return await _run(one, fitted)
            finally:
                self._cache.clear()  # what was read before may be different now
        if not one.cache:
            return await _run(one, fitted)
        key = (name, json.dumps(fitted, sort_keys=True, default=str))
        kept_until, answer = self._cache.get(key, (0.0, ""))
        if time.monotonic() >= kept_until:
            answer = await _run(one, fitted)
            self._keep(key, time.monotonic() + one.cache, answer)
        return answer

    def _keep(self, key: tuple[str, str], until: float, answer: str) -> None:
        self._cache.pop(key, None)
        while len(self._cache) >= _CACHED_CALLS:
            self._cache.pop(next(iter(self._cache)))
        self._cache[key] = (until, answer)


async def _run(one: Tool, arguments: dict[str, Any]) -> str:
    function = functools.partial(one.run, **arguments)
    failure: BaseException | None = None
    for attempt in range(one.retries + 1):
        if attempt:
            await asyncio.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
        # gather gives an exception as a value, so that whatever a tool raises becomes one line for the model
        (result,) = await asyncio.gather(call_in_time(function, one.timeout), return_exceptions=True)
        if isinstance(result, ToolError):
            raise result
        if not isinstance(result, BaseException):
            return to_observation(result)
        failure = result
    if isinstance(failure, TimeoutError):
        raise ToolError(f"{one.name} took longer than {one.timeout:g} s and was given up; ask for less") from failure
    reason = f"{type(failure).__name__}: {failure}"[:300]
    raise ToolError(f"{one.name} failed: {reason}") from failure
