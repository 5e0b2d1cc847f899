"""Reads labelled text: `Action:` with `Action Input:`, `Action: tool[input]`, `Final Answer:`.

The first call or answer counts. What stands behind it (an invented observation, more calls) is no part
of the reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .arguments import from_text
from .base import Action, FinalAnswer, FormatProblem, Tool
from .calls import CallReader
from .json_objects import answer_of, read_json
from .lenient_json import JsonError, read_value
from .names import find_tool, means_finish, means_nothing
from .text import (
    Section,
    one_label_a_line,
    sections,
    unfenced,
    with_usual_labels,
    without_bold_lines,
    without_fence_lines,
    without_open_fence,
    without_stop_word,
)

_BRACKETS = {"[": "]", "(": ")", "（": "）", "［": "］", "【": "】"}
_CALL = re.compile(r"\s*(?P<name>[^\[\](){}（）［］【】｛｝\n]{1,80}?)\s*(?P<open>[\[(（［【])")
_BARE_CALL = re.compile(r"^[^\S\n]*(?P<call>(?P<name>[^\[\]\n]{1,64})\[)", re.MULTILINE)
_WITH_INPUT = re.compile(r"\s*(?P<name>[^\[\](){}｛｝\n:：]{1,64}?)[^\S\n]*(?:[:：](?=[^\n]*\S)|(?=[{｛]))")
_JSON_BODY = re.compile(r"\s*(?:`{3,}\w*\s*)?[{｛]")

Read = Action | FinalAnswer | FormatProblem


def read_labelled(text: str, reader: CallReader, cut: bool) -> Read:
    """What the first action or final answer says; `cut` means that the text's end is missing."""
    text = without_bold_lines(unfenced(text))
    text = text if _says_something(text) else _with_usual_labels(text, reader)
    text = text if _says_something(text) else one_label_a_line(text)
    parts = sections(text)
    for at, part in enumerate(parts):
        if part.kind == "final" and (answer := _final(text, parts, at, reader, cut)):
            return answer
        if part.kind == "action" and not _names_nothing(text[part.start : part.end], reader):
            return _action(text, part, parts[at + 1 : at + 2], _thought(text, parts[:at]), reader, cut)
    return reader.problem("no_action")


def _says_something(text: str) -> bool:
    return any(part.kind in ("action", "final") for part in sections(text))


def _with_usual_labels(text: str, reader: CallReader) -> str:
    """The text with the usual labels, where it then has an answer or calls a tool that exists; else as it is."""
    usual = with_usual_labels(text)
    first = next((part for part in sections(usual) if part.kind in ("action", "final")), None)
    name = usual[first.start : first.end].strip().partition("\n")[0] if first else ""
    return usual if first and (first.kind == "final" or find_tool(name, reader.tools)) else text


def read_bare_call(text: str, reader: CallReader, cut: bool) -> Read:
    """A line that is `tool[input]` or `Finish[answer]` without a label.

    A tool that may change something counts in the last line only: before other words its name may be a mere thought.
    """
    text = unfenced(text)
    for match in _BARE_CALL.finditer(text):
        name = match.group("name").strip()
        body = text[match.start() :]
        tool = next((tool for tool in reader.tools if tool.name == name), None)
        if means_finish(name, reader.tools) or (tool and (tool.risk == "read" or _ends_with_call(body))):
            return _bracketed(body, body, text[: match.start()].strip(), reader, cut)
    return reader.problem("no_action")


def _ends_with_call(body: str) -> bool:
    """Whether nothing stands behind the call at the beginning but other labelled parts."""
    parts = sections(body)
    return body[: parts[0].label_at if parts else None].rstrip("` \t\n").endswith("]")


def _thought(text: str, before: list[Section]) -> str:
    leading = text[: before[0].label_at] if before else ""
    said = [leading] + [text[part.start : part.end] for part in before if part.kind == "thought"]
    return "\n".join(piece.strip("*` \n\t") for piece in said if piece.strip("*` \n\t"))


def _names_nothing(body: str, reader: CallReader) -> bool:
    return means_nothing(body) and find_tool(body, reader.tools) is None


def _final(text: str, parts: list[Section], at: int, reader: CallReader, cut: bool) -> Read | None:
    """The answer up to the next label that begins another turn; None when nothing stands there but more follows."""
    after = parts[at + 1 :]
    turns = (part for number, part in enumerate(after) if _ends_answer(text, part, after[number + 1 :], reader))
    end = next((part.label_at for part in turns), len(text))
    answer = without_stop_word(without_open_fence(text[parts[at].start : end].strip()))
    if not answer and any(part.kind in ("action", "final") for part in after):
        return None
    if not answer or (cut and end == len(text)):
        return reader.problem("truncated_or_empty")
    return FinalAnswer(answer, _thought(text, parts[:at]))


def _ends_answer(text: str, part: Section, after: list[Section], reader: CallReader) -> bool:
    """Whether a label in an answer begins another turn. `Action: repaint it` does not: it calls nothing."""
    if part.kind != "action":
        return part.kind not in ("final", "input")
    body = text[part.start : part.end].strip()
    call = _CALL.match(body)
    name = call["name"] if call else body.partition("\n")[0]
    with_input = bool(after) and after[0].kind == "input"
    said = means_nothing(body) or means_finish(name, reader.tools) or find_tool(name, reader.tools) is not None
    return with_input or said


def _action(text: str, part: Section, after: list[Section], thought: str, reader: CallReader, cut: bool) -> Read:
    body = text[part.start : part.end]
    written = after[0] if after and after[0].kind == "input" else None
    if written is None:
        return _without_input(body, text[part.start :], thought, reader, cut and not after)
    name = without_fence_lines(body).strip()
    call = _CALL.match(name)
    if call and find_tool(name, reader.tools) is None:
        name = call.group("name")
    return _call(
        name,
        text[written.start : written.end],
        text[written.start :],
        thought,
        reader,
        cut and written.end == len(text),
    )


def _without_input(body: str, following: str, thought: str, reader: CallReader, cut: bool) -> Read:
    """An action whose input stands in brackets, in JSON, behind its name, on the next lines, or nowhere."""
    if _JSON_BODY.match(body):
        return read_json(body, reader, cut)
    call = _CALL.match(body)
    if call and find_tool(body, reader.tools) is None:
        return _bracketed(body, following, thought, reader, cut)
    named, known = _WITH_INPUT.match(body), {tool.name for tool in reader.tools}
    if named and (named["name"] in known or means_finish(named["name"], reader.tools)):
        return _call(named["name"], body[named.end() :], following[named.end() :], thought, reader, cut)
    name, _, rest = body.strip().partition("\n")
    if cut and not rest.strip():
        return reader.problem("truncated_or_empty")
    return _call(name, rest, rest, thought, reader, cut)


def _bracketed(body: str, following: str, thought: str, reader: CallReader, cut: bool) -> Read:
    call = _CALL.match(body)
    if call is None:
        return reader.problem("no_action")
    opening, start = call.group("open"), call.end()
    line_end = body.find("\n", start)
    line = body if line_end < 0 else body[:line_end]
    candidates = (
        _json_inside(body, start),
        _json_inside(following, start),
        _inside(line, start, opening),
        _inside(body, start, opening),
        _up_to_last(line, start, opening),
    )
    inner = next((found for found in candidates if found is not None), None)
    if inner is None:
        return reader.problem("truncated_or_empty", f"{opening!r} is never closed.")
    return _call(call.group("name"), inner, inner, thought, reader, cut=False)


def _json_inside(text: str, start: int) -> str | None:
    """The object or quoted text that fills the bracket, if it is whole; brackets may stand in its texts."""
    at = len(text) - len(text[start:].lstrip())
    if text[at : at + 1] not in ("{", '"'):
        return None
    try:
        _, end = read_value(text, at)
    except JsonError:
        return None
    closed = text[end:].lstrip()[:1] in _BRACKETS.values()
    return text[at:end] if closed or text[at] == "{" else None


def _inside(text: str, start: int, opening: str) -> str | None:
    """The text up to the bracket that closes the one before `start`; a closing one too many belongs to it."""
    closing, depth, end = _BRACKETS[opening], 1, None
    for at in range(start, len(text)):
        if text[at] == opening:
            depth += 1
        elif text[at] == closing:
            one_too_many = depth == 0
            depth = max(depth - 1, 0)
            if depth == 0 and (end is None or one_too_many):
                end = at
    return None if end is None else text[start:end].strip()


def _up_to_last(line: str, start: int, opening: str) -> str | None:
    """The text up to the bracket that ends the line, when an opening one too many stands in it."""
    stripped = line.rstrip()
    return stripped[start:-1].strip() if stripped.endswith(_BRACKETS[opening]) and len(stripped) > start else None


def _call(name: str, written: str, following: str, thought: str, reader: CallReader, cut: bool) -> Read:
    if means_finish(name, reader.tools):
        return _finish(written, thought, reader, cut)
    arguments: Callable[[Tool], dict[str, Any]] = lambda tool: from_text(  # noqa: E731
        tool, written, following=following, cut=cut
    )
    return reader.action(name, arguments, thought)


def _finish(written: str, thought: str, reader: CallReader, cut: bool) -> Read:
    text = without_stop_word(without_open_fence(written.strip()))
    if cut:
        return reader.problem("truncated_or_empty")
    if text[:1] in ("{", '"', "'", "“"):
        try:
            value, end = read_value(text)
        except JsonError:
            return answer_of(text, reader, thought)
        if not text[end:].strip():
            return answer_of(value, reader, thought)
    return answer_of(text, reader, thought)
