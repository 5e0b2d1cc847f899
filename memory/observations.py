"""Shortening one observation: to a size (`clamp`), or to one line (`digest`).

What is shown never looks whole when it is not: the last line of a clamped text says how much was cut and by which
ref it can be read. Cuts are made between lines, so rows of tables stay whole; JSON stays parseable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from .tokens import TokenCounter

Values = Callable[[int, str], str]

VALUES_SHARE = 0.5  # of the room: values of what is cut
_SLACK = 0.1  # of the room: so much left free by the values goes back to the text
HEAD_SHARE, ABOUT_SHARE = 0.5, 0.2  # of the text's room: its beginning, and lines about the task; the end has the rest
_LONGEST_JSON = 2_000_000  # characters; parsing more to show a few hundred tokens is not worth the time
_WORD = re.compile(r"[a-z]{4,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff](?=([\u4e00-\u9fff]))")
GAP = "[…]"
# Ever shorter: elements of a list, characters of a string, levels.
_JSON_SIZES = ((50, 2000, 6), (20, 500, 6), (10, 300, 6), (5, 200, 6), (3, 120, 5), (2, 80, 4), (1, 40, 3), (0, 20, 1))


def clamp(
    text: str, room: int, counter: TokenCounter, ref: str, *, about: str = "", values: Values | None = None
) -> str:
    """The text in at most `room` tokens, with a last line that says what was cut and how to read it.

    Args:
        text: the whole observation.
        room: tokens it may take, the last line counted.
        ref: where the whole text can be read again.
        about: words of the task; lines that share them are preferred.
        values: writes figures and identifiers in so many tokens, without those in a text that is shown already;
            they stand first, in the place that the text leaves, at least `VALUES_SHARE` of it. Prose has back what
            they don't need: its names are no values.
    """
    whole = counter.count(text)
    if whole <= room:
        return text
    last = f"[shortened: about {{}} of {whole} tokens cut; read all with lookup {ref}]"
    left = room - counter.count(last) - 8  # 8: the number in the last line, and line ends
    if left <= 0:
        return counter.truncate(f"[shortened, see {ref}]", room)
    text_room = left - int(left * VALUES_SHARE) if values is not None else left
    wanted = _words(about)
    json_body = _clamp_json(text, text_room, counter)
    body = json_body or _clamp_lines(text, text_room, counter, wanted)
    first = values(left - counter.count(body), body) if values is not None else ""
    unused = left - counter.count(body) - counter.count(first)
    if values is not None and json_body is None and unused > left * _SLACK:
        body = _clamp_lines(text, text_room + unused, counter, wanted)
        first = values(left - counter.count(body), body)
    cut = max(0, whole - counter.count(body))
    shown = "\n".join(part for part in (first, body, last.format(cut)) if part)
    return shown if counter.count(shown) <= room else counter.truncate(f"[shortened, see {ref}] {body}", room)


def digest(text: str, tokens: int, counter: TokenCounter, ref: str, room: int = 40) -> str:
    """One line in place of an observation: what it was, how large, and the ref to read it."""
    first = next((line.strip() for line in text.splitlines() if re.search(r"\w", line)), "")
    return f"[{ref}: {tokens} tokens, lookup {ref}] {counter.truncate(first[:400], room)}".rstrip()


def _words(text: str) -> set[str]:
    """Words of four letters and more, and every pair of neighbouring Chinese characters."""
    lowered = text.lower()
    found = set(_WORD.findall(lowered))
    if not lowered.isascii():
        found.update(m.group() + (m.group(1) or "") for m in _CHINESE.finditer(lowered))
    return found


def _clamp_lines(text: str, room: int, counter: TokenCounter, about: set[str]) -> str:
    """Beginning, lines about the task, and end, cut between lines; inside a line only where one fills all the room."""
    lines = text.split("\n")
    head_room = int(room * HEAD_SHARE)
    head, at = _take(lines, head_room, counter)
    if at == 0:  # the first line alone is larger: cut inside it
        head = [counter.truncate(text, head_room)]
        if len(lines) == 1:
            tail = counter.truncate_left(text, room - counter.count(head[0]) - 4)
            return f"{head[0]}\n{GAP}\n{tail}"
        at = 1
    middle_room = int(room * ABOUT_SHARE) if about else 0
    used = sum(counter.count(line) + 1 for line in head)
    tail_lines, back = _take(lines[: at - 1 : -1], room - used - middle_room - 4, counter)
    middle = _about(lines[at : len(lines) - back], middle_room, counter, about)
    return "\n".join([*head, GAP, *middle, *reversed(tail_lines)])


def _take(lines: Sequence[str], room: int, counter: TokenCounter) -> tuple[list[str], int]:
    """As many lines from the front as fit."""
    taken: list[str] = []
    for line in lines:
        room -= (counter.count(line) if len(line) <= 16 * max(room, 0) else room + 1) + 1
        if room < 0:
            break
        taken.append(line)
    return taken, len(taken)


def _about(lines: Sequence[str], room: int, counter: TokenCounter, about: set[str]) -> list[str]:
    """Lines that share most words with the task, in their order, each gap marked."""
    scored = [(len(about & _words(line)), at) for at, line in enumerate(lines) if len(line) < 2000]
    best: list[int] = []
    for score, at in sorted((s for s in scored if s[0]), key=lambda s: (-s[0], s[1]))[:100]:
        cost = counter.count(lines[at]) + 3
        if cost <= room and score:
            room -= cost
            best.append(at)
    out: list[str] = []
    for at in sorted(best):
        out += [lines[at], GAP]
    return out


def _clamp_json(text: str, room: int, counter: TokenCounter) -> str | None:
    """The JSON value with long lists and strings shortened until it fits; None where the text is no JSON."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _LONGEST_JSON:
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for items, characters, depth in _JSON_SIZES:
        short = json.dumps(_prune(value, items, characters, depth), ensure_ascii=False)
        if counter.count(short) <= room:
            return short
    return None


def _prune(value: Any, items: int, characters: int, depth: int) -> Any:
    if isinstance(value, str) and len(value) > characters:
        return f"{value[:characters]}… ({len(value) - characters} more characters)"
    if isinstance(value, list):
        elements = cast(list[Any], value)
        if depth == 0 and elements:
            return f"({len(elements)} elements)"
        kept = [_prune(v, items, characters, depth - 1) for v in elements[:items]]
        return kept if len(elements) <= items else [*kept, f"… ({len(elements) - items} more elements)"]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if depth == 0 and fields:
            return f"({len(fields)} fields)"
        most = max(4, items * 4)
        kept = {k: _prune(v, items, characters, depth - 1) for k, v in list(fields.items())[:most]}
        return kept if len(fields) <= most else {**kept, "…": f"({len(fields) - most} more fields)"}
    return value
