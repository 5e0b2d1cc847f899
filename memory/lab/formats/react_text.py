"""Plain-text logs of ReAct agents: `Question:`, `Thought:`, `Action:`, `Observation:`, `Final Answer:`.

The labels may be numbered, as in the paper's prompts (Yao et al. 2022, https://arxiv.org/abs/2210.03629). Text before
the first question is the system prompt; a question after an answer or an observation begins the next run. Colours of
a terminal and LangChain's lines about its chains are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .common import Draft, FormatError

_LABEL = re.compile(r"(Question|Task|Thought|Action Input|Action|Observation|Final Answer)(?: \d+)?: ?")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CHAIN = re.compile(r"> (Entering new .*|Finished )chain\.")
_SPEAKERS = {"Question": "user", "Task": "user", "Observation": "observation"}


def has_label(line: str) -> bool:
    """Whether a line opens a part of a ReAct run."""
    return _LABEL.match(_COLOUR.sub("", line)) is not None


def drafts(lines: Iterable[str]) -> Iterator[Draft]:
    """The runs of a log, each given as soon as the next one begins.

    Raises:
        FormatError: a run has no question.
    """
    parts: list[tuple[str, list[str]]] = []
    for line in (_COLOUR.sub("", line) for line in lines):
        if _CHAIN.match(line):
            continue
        label = _LABEL.match(line)
        speaker = _SPEAKERS.get(label[1], "assistant") if label else (parts[-1][0] if parts else "system")
        if label and speaker == "user" and any(known == "assistant" for known, _ in parts):
            yield _draft(parts)
            parts = []
        if label and speaker == "observation":
            line = line[label.end() :]
            parts.append((speaker, []))
        elif not parts or parts[-1][0] != speaker:
            parts.append((speaker, []))
        parts[-1][1].append(line)
    if parts:
        yield _draft(parts)


def _draft(parts: list[tuple[str, list[str]]]) -> Draft:
    if not any(speaker == "user" for speaker, _ in parts):
        raise FormatError("no task: a log begins with a line `Question: …` (or `Task: …`); write it above the log")
    messages = [
        {"role": "user" if speaker == "observation" else speaker, "content": "\n".join(lines).strip()}
        for speaker, lines in parts
    ]
    return Draft([m for m in messages if m["content"]], "react-text")
