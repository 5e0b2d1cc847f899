"""One step that all formats share: a written name and input become an Action or a problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .base import Action, FormatProblem, Reason, Tool, Tools
from .fitting import ArgumentError
from .lenient_json import JsonError, JsonErrorKind
from .names import find_tool, nearest
from .wording import Wording, unknown_tool

RightForm = Callable[[Tool | None], str]
"""Shows the right form of a call of that tool."""


_JSON_REASONS: dict[JsonErrorKind, Reason] = {
    "truncated": "truncated_or_empty",
    "duplicate_key": "duplicate_key",
    "invalid": "invalid_json",
}


class CallReader:
    """Makes actions and problems for one reply, in one language.

    Of a reply whose end is missing (`cut`), whole calls of tools that only read are still actions. Others are not: what
    the model was about to add or take back is not known.
    """

    def __init__(self, tools: Tools, words: Wording, right_form: RightForm, *, cut: bool = False) -> None:
        self.tools = list(tools)
        self.cut = cut
        self.words = words
        self._right_form = right_form

    def action(
        self, name: str, arguments: Callable[[Tool], dict[str, Any]], thought: str, call_id: str | None = None
    ) -> Action | FormatProblem:
        """The call of the tool called `name`; `arguments` reads its input and may raise ArgumentError."""
        tool = find_tool(name, self.tools)
        if tool is None:
            near = nearest(name, self.tools)
            return self.problem("unknown_tool", unknown_tool(name.strip(), near, self.tools, self.words), near)
        if self.cut and tool.risk != "read":
            return self.problem("truncated_or_empty", tool=tool)
        try:
            return Action(tool.name, arguments(tool), thought, call_id)
        except ArgumentError as problem:
            return self.problem(problem.reason, str(problem), tool)

    def broken_json(self, error: JsonError) -> FormatProblem:
        """The problem of a reply whose JSON cannot be read."""
        return self.problem(_JSON_REASONS[error.kind], str(error))

    def problem(self, reason: Reason, detail: str = "", tool: Tool | None = None) -> FormatProblem:
        """A problem whose hint says what was wrong and shows the right form."""
        said = detail if reason == "unknown_tool" else " ".join(filter(None, (self.words.reasons[reason], detail)))
        form = self._right_form(tool or (self.tools[0] if self.tools else None))
        return FormatProblem(reason, f"{said} {self.words.nothing_run}\n{self.words.right_form}\n{form}")
