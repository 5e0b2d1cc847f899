"""The context as it stands: the lines that are shown, and the edits that shorten them.

Every edit is plain data, so that a journal can hold it and the same edits always give the same context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .facts.sight import Sight
from .messages import Message, clean, content_text
from .rules import RULES, Rule
from .tokens import REPLY_PRIMING, TokenCounter

Action = Literal["clamp", "mask", "shorten", "drop", "fold", "carry"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of the context.

    `clamp`, `mask` and `shorten` give the message `ref` a new `text` (and new call `arguments`, if not None);
    `drop` and `fold` take the message out; `carry` sets the block at the end of the task.
    """

    action: Action
    ref: str
    text: str | None = None
    arguments: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """What was done to a context that was too long: tokens before and after, and every edit."""

    reason: str
    before: int
    after: int
    edits: tuple[Edit, ...]
    summary: str = ""

    def to_dict(self) -> dict[str, Any]:
        edits = [{"action": e.action, "ref": e.ref, "text": e.text, "arguments": e.arguments} for e in self.edits]
        return {
            "reason": self.reason,
            "before": self.before,
            "after": self.after,
            "edits": edits,
            "summary": self.summary,
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Compaction:
        edits = tuple(
            Edit(e["action"], e["ref"], e["text"], None if e["arguments"] is None else tuple(e["arguments"]))
            for e in raw["edits"]
        )
        return cls(raw["reason"], raw["before"], raw["after"], edits, raw["summary"])

    @property
    def left(self) -> list[str]:
        """Refs of the messages that left the context."""
        return [e.ref for e in self.edits if e.action in ("drop", "fold")]


@dataclass(slots=True)
class Line:
    """One message of the context: as it came (`message`), as it is shown (`wire`), and what that costs."""

    ref: str
    message: Message
    wire: dict[str, Any]
    tokens: int
    step: int
    state: Action | None = None  # the edit that shortened it, if any


@dataclass(slots=True)
class View:
    """The lines of a context in order, their tokens, and the summary of what has left."""

    counter: TokenCounter
    rules: Sequence[Rule] = RULES
    overhead: int = REPLY_PRIMING  # tokens beside the messages: reply priming and tool schemas
    lines: dict[str, Line] = field(default_factory=dict[str, Line])
    tokens: int = REPLY_PRIMING
    summary: str = ""
    block: str = ""
    gone: list[str] = field(default_factory=list[str])  # refs of messages that left, oldest first
    opening: frozenset[str] = frozenset()  # refs of the system prompts that open the list
    task: str | None = None  # ref of the first user message
    task_tokens: int = 0  # what the task costs as it is shown, without the block
    last_user: str | None = None
    edits: list[Edit] = field(default_factory=list[Edit])  # those that are not written down yet
    _wires: list[dict[str, Any]] | None = None
    _sight: Sight = field(default_factory=Sight)

    def append(self, ref: str, message: Message, *, may_be_task: bool = True) -> Line:
        """Add a message at the end; it opens a new step where the rules allow a cut."""
        last = next(reversed(self.lines.values()), None)
        opens = last is None or all(rule.allows_cut(last.message, message) for rule in self.rules)
        step = 0 if last is None else last.step + opens
        line = Line(ref, message, message.to_dict(), self.counter.message(message), step)
        self.lines[ref] = line
        if self._wires is not None:
            self._wires.append(line.wire)
        self.tokens += line.tokens
        if message.role in ("system", "developer") and len(self.opening) == len(self.lines) - 1:
            self.opening |= {ref}
        if message.role == "user":
            self.last_user = ref
            if self.task is None and may_be_task:
                self.task, self.task_tokens = ref, line.tokens
        return line

    def messages(self) -> list[dict[str, Any]]:
        """The context as it would be sent; the dicts are shared between calls."""
        if self._wires is None:
            self._wires = [line.wire for line in self.lines.values()]
        return list(self._wires)

    def look(self) -> Sight:
        """All text that is in sight: contents, and arguments of calls."""
        texts: list[str] = []
        for wire in self.messages():
            texts.append(content_text(wire["content"]))
            texts += [call["function"]["arguments"] for call in wire.get("tool_calls", ())]
        return self._sight.look(texts)

    def pinned(self, line: Line) -> bool:
        """Whether a line must stay: the opening system prompts, the task and the last user message."""
        return line.ref in (self.task, self.last_user) or line.ref in self.opening

    def is_opening(self, line: Line) -> bool:
        """Whether a line is one of the system prompts that open the list."""
        return line.ref in self.opening

    def steps(self) -> list[list[Line]]:
        """The steps that may leave, oldest first; pinned lines are never among them."""
        found: dict[int, list[Line]] = {}
        for line in self.lines.values():
            if not self.pinned(line):
                found.setdefault(line.step, []).append(line)
        return list(found.values())

    # Edits ----------------------------------------------------------------------------------------

    def rewrite(self, action: Action, line: Line, text: str, arguments: Sequence[str] | None = None) -> None:
        """Show a line with another text (and other call arguments)."""
        self._do(Edit(action, line.ref, clean(text), None if arguments is None else tuple(map(clean, arguments))))

    def remove(self, action: Literal["drop", "fold"], lines: Iterable[Line]) -> None:
        """Take lines out of the context: always whole steps."""
        for line in list(lines):
            self._do(Edit(action, line.ref))

    def carry(self, block: str) -> None:
        """Set the block that stands at the end of the task."""
        block = clean(block)
        if self.task is not None and block != self.block:
            self._do(Edit("carry", self.task, block))

    def apply(self, compaction: Compaction) -> None:
        """Do again what a recorded compaction did."""
        for edit in compaction.edits:
            self._do(edit)
        self.summary = compaction.summary
        self.edits.clear()

    def copy(self) -> View:
        """A copy that can be edited without touching this one."""
        lines = {ref: replace(line) for ref, line in self.lines.items()}
        return replace(self, lines=lines, gone=list(self.gone), edits=list(self.edits), _wires=None)

    def _do(self, edit: Edit) -> None:
        self.edits.append(edit)
        line = self.lines[edit.ref]
        if edit.action in ("drop", "fold"):
            del self.lines[edit.ref]
            self.gone.append(edit.ref)
            self.tokens -= line.tokens
        else:
            self._show(line, edit)
        self._wires = None

    def _show(self, line: Line, edit: Edit) -> None:
        shown = Message.from_dict(line.wire)
        if edit.action == "carry":
            shown = replace(shown, content=with_block(shown, self.block, edit.text or ""))
            self.block = edit.text or ""
        elif edit.text is not None:
            shown = replace(shown, content=edit.text + (self.block if line.ref == self.task else ""))
            line.state = edit.action
        if edit.arguments is not None:
            calls = zip(shown.tool_calls, edit.arguments, strict=True)
            shown = replace(shown, tool_calls=tuple(replace(call, arguments=text) for call, text in calls))
        self.tokens -= line.tokens
        line.wire, line.tokens = shown.to_dict(), self.counter.message(shown, by_line=edit.action == "carry")
        self.tokens += line.tokens
        if line.ref == self.task and not self.block:
            self.task_tokens = line.tokens


def with_block(message: Message, old: str, new: str) -> Any:
    """The content of the task's message with its block replaced."""
    if isinstance(message.content, list):
        kept = [part for part in message.content if not (old and part.get("text") == old)]
        return [*kept, {"type": "text", "text": new}] if new else kept
    text = message.content or ""
    return text.removesuffix(old) + new if old else text + new
