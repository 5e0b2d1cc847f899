"""Reply formats: how a model says which tool it wants, or that it is done.

reply_format("react", language="zh")   ->  a ReplyFormat: prompt part, stop sequences, reader, writer
parse_reply(reply, "react", tools)     ->  Action | list[Action] | FinalAnswer | FormatProblem
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .base import (
    Action,
    Constrain,
    FinalAnswer,
    FormatName,
    FormatProblem,
    Language,
    Parsed,
    Reason,
    ReplyFormat,
    Tools,
)
from .bracket import Bracket
from .json_format import JsonObjects
from .native import NativeCalls
from .react import React

__all__ = [
    "Action",
    "Constrain",
    "FinalAnswer",
    "FormatName",
    "FormatProblem",
    "Language",
    "Parsed",
    "Reason",
    "ReplyFormat",
    "Tools",
    "parse_reply",
    "reply_format",
]


_FORMATS: dict[str, Callable[[Language], ReplyFormat]] = {
    "tools": NativeCalls,
    "react": React,
    "bracket": Bracket,
    "json": JsonObjects,
}


def reply_format(name: str, language: Language = "en") -> ReplyFormat:
    """The format of that name (`tools`, `react`, `bracket` or `json`), speaking to the model in `language`.

    Raises:
        ValueError: there is no format of that name.
    """
    if name not in _FORMATS:
        raise ValueError(f"there is no reply format {name!r}: use one of {', '.join(_FORMATS)}")
    return _FORMATS[name](language)


def parse_reply(
    reply: str | Mapping[str, Any], format: str, tools: Tools, *, finish_reason: str | None = None
) -> Parsed:
    """Read what a model wants from its reply (text, or the assistant message as an OpenAI dict).

    Native parallel calls come back as a list, in order. A call that was cut off, that names no known tool
    or whose arguments do not fit is a FormatProblem: then nothing of the reply is run.

    Raises:
        ValueError: `format` is none of `tools`, `react`, `bracket`, `json`.
    """
    return reply_format(format).parse(reply, tools, finish_reason=finish_reason)
