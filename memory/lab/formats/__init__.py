"""Reading recorded runs: one module a family of formats, found by what a file holds, not by its name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

from ...messages import ROLES, Message, MessageError
from ..transcripts import Transcript, TranscriptError
from . import anthropic, chat, journals, langchain, openhands, react_text, swe_agent, tau_bench
from .common import FormatError, Found, Reader, as_list, as_object
from .documents import Document, documents, first_sign, lines, magic, unzipped
from .request_logs import longest

# The more particular shapes first: a chat list is what many of the others contain.
_READERS: tuple[Reader, ...] = (tau_bench, swe_agent, openhands, langchain, anthropic, chat)
_LOOK_AHEAD = 200  # lines of a text file in which the first label of a ReAct log must stand
_KNOWN = (
    "known formats are OpenAI chat, journals, SWE-agent, mini-swe-agent, tau-bench, LangChain, OpenHands, Anthropic, "
    "ReAct text; make a list of chat messages of another, for `Transcript.from_messages`, and where a folder holds "
    'other files too, name those to read: `Path(...).rglob("*.traj")`'
)
_MEANT = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}


def is_event_folder(folder: Path) -> bool:
    """Whether a folder holds one run, with an event a file.

    Raises:
        TranscriptError: its first file can't be read.
    """
    first = next((found for path in openhands.event_files(folder) for found in documents(path)), None)
    return first is not None and not first.array and openhands.is_event(first.value)


def read_file(path: Path, place: str = "") -> Iterator[Transcript]:
    """The runs of one file, or the run of a folder of events, read as they are asked for.

    Args:
        path: the file.
        place: what the ids of its runs begin with, where it is one of several files.

    Raises:
        TranscriptError: the file, or one of its runs, is in no known format.
    """
    number = 0
    try:
        for number, found in enumerate(_found(path), 1):
            yield _transcript(path, number, found, place)
    except RecursionError as error:
        raise TranscriptError(f"{path}: run {number + 1} is nested too deeply to be read") from error
    if number == 0:
        raise TranscriptError(f"{path}:1: no message")


def _transcript(path: Path, number: int, found: Found, place: str) -> Transcript:
    draft = found.draft
    name = draft.id
    if place or not name:
        name = f"{place or path.name.partition('.')[0]}/{name or number}"
    messages: list[Message] = []
    for raw in draft.messages:
        try:
            messages.append(Message.from_dict(raw))
        except MessageError as error:
            said = f"message {len(messages)} of run {name}: {error}{_role_hint(raw)}"
            raise TranscriptError(f"{path}:{found.line}: {said}") from error
    return Transcript(name, messages, draft.source, tuple(draft.usage))


def _role_hint(message: dict[str, Any]) -> str:
    role = message.get("role")
    if not isinstance(role, str):
        return f"; the object has the keys {', '.join(message)}" if message else "; the object is empty"
    meant = _MEANT.get(role.lower(), role.lower())
    return f"; {role!r} is {meant!r} in a chat list" if role != meant and meant in ROLES else ""


def _found(path: Path) -> Iterator[Found]:
    if path.is_dir():
        events = [_entry(file, event) for file in openhands.event_files(path) for event in documents(file)]
        yield from _read(path, Document(1, events))
        return
    try:
        head = magic(path)
    except OSError as error:
        raise TranscriptError(f"{path}: can't be read: {error}") from error
    if head.startswith(journals.MAGIC):
        yield from (Found(1, draft) for draft in journals.drafts(path))
        return
    if unzipped(path, len(journals.MAGIC)) == journals.MAGIC:
        raise TranscriptError(f"{path}: a gzipped journal: unpack it first")
    sign = first_sign(path)
    if not sign:
        raise TranscriptError(f"{path}:1: the file is empty")
    if sign in ("[", "{"):
        yield from longest(_from_json(path))
    else:
        opening = list(islice((line for line in lines(path) if line[1].strip()), _LOOK_AHEAD))
        begun = next((number for number, line in opening if react_text.has_label(line)), 0)
        if not begun:
            raise TranscriptError(
                f"{path}:{opening[0][0]}: not a transcript (words such as `Question:` must begin a line); {_KNOWN}"
            )
        try:
            yield from (Found(1, draft) for draft in react_text.drafts(line for _, line in lines(path)))
        except FormatError as error:
            raise TranscriptError(f"{path}:{begun}: {error}") from error


def _from_json(path: Path) -> Iterator[Found]:
    """An array of messages or events is one run, and so is a file with one a line; else each value is a run or holds
    several."""
    for _, values in groupby(documents(path), key=lambda document: document.array):
        first = next(values)
        if _is_entry(first.value):
            yield from _read(path, Document(first.line, [_entry(path, one) for one in chain([first], values)]))
        else:
            for document in chain([first], values):
                yield from _read(path, document)


def _entry(path: Path, document: Document) -> dict[str, Any]:
    entry = as_object(document.value)
    if not entry:
        raise TranscriptError(f"{path}:{document.line}: {_shown(document)} is no message or event")
    return entry


def _is_entry(value: Any) -> bool:
    return "role" in as_object(value) or langchain.is_message(value) or openhands.is_event(value)


def _read(path: Path, document: Document) -> Iterator[Found]:
    for reader in _READERS:
        if reader.reads(document.value):
            try:
                yield from (Found(document.line, draft) for draft in reader.drafts(document.value))
            except FormatError as error:
                raise TranscriptError(f"{path}:{document.line}: {error}") from error
            return
    messages: Any = as_object(document.value).get("messages")
    if as_list(messages):
        raise TranscriptError(f"{path}:{document.line}: message 0 has no role{_role_hint(as_object(messages[0]))}")
    if messages is not None:
        raise TranscriptError(f"{path}:{document.line}: messages must be a list, got {type(messages).__name__}")
    raise TranscriptError(f"{path}:{document.line}: {_shown(document)} is no run; {_KNOWN}")


def _shown(document: Document) -> str:
    value: Any = document.value
    keys = list(as_object(value))
    return f"an object with the keys {', '.join(keys[:8])}" if keys else f"{value!r:.60}"
