"""Which tool a model means by the name it wrote."""

from __future__ import annotations

import difflib
import re
import unicodedata

from .base import Tool, Tools

_WRAPPING = " \t\r\n\u200b\ufeff`'\"“”‘’「」[]【】［］<>《》*_.,:;。，：；()（）"
_PREFIX = re.compile(r"(?:functions?|tools?|default_api)[.:/]", re.IGNORECASE)
_SUFFIX = re.compile(r"\(\s*\)$|:\d+$|<\|.*$")  # the last: marks of a chat template that a server let through
_VERB = re.compile(
    r"(?:please|i will|let me|use|using|call|calling|run|invoke|the|tool|function)\s+|(?:请|调用|使用|用|工具|函数)\s*",
    re.IGNORECASE,
)
_NOUN = re.compile(r"\s+(?:tool|function)$|\s*(?:工具|函数)$", re.IGNORECASE)
_REMARK = re.compile(r"\s+(?:[-–—#:：(（]|//).*", re.DOTALL)  # "search - to find out"
_FINISH = {"finish", "final_answer", "finalanswer", "final", "answer", "done", "完成", "结束", "最终答案", "回答"}
_NOTHING = re.compile(
    r"(?:none|n/?a|null|no_(?:action|tool)s?)?(?:_(?:is_|are_)?(?:needed|required|necessary))?"
    r"|(?:无|没有|无需|不需要)(?:调用|使用)?(?:行动|工具)?"
)


def find_tool(written: str, tools: Tools) -> Tool | None:
    """The tool of that name, however it is wrapped, spaced or capitalised; None when it is not certain.

    Words around the name ("use the search tool") are passed over for tools that only read.
    """
    known = list(tools)
    exact = {tool.name: tool for tool in known}
    bare = written.strip(_WRAPPING)
    shorter = _SUFFIX.sub("", _PREFIX.sub("", bare, count=1) if _PREFIX.match(bare) else bare)
    for name in (written.strip(), bare, shorter):
        if name in exact:
            return exact[name]
    for simplified in (fold, fold_key):
        for name in (bare, shorter):
            alike = [tool for tool in known if simplified(tool.name) == simplified(name)]
            if alike:
                return alike[0] if len(alike) == 1 else None
    without_words = _without_words(_REMARK.sub("", bare))
    if without_words != bare:
        tool = find_tool(without_words, known)
        return tool if tool and tool.risk == "read" else None
    return None


def nearest(written: str, tools: Tools) -> Tool | None:
    """The tool with the most similar name, to be suggested, never run."""
    by_name = {fold(tool.name): tool for tool in tools}
    near = difflib.get_close_matches(fold(_without_words(written[:100])), by_name, n=1, cutoff=0.5)
    return by_name[near[0]] if near else None


def means_finish(written: str, tools: Tools) -> bool:
    """Whether the name stands for ending the task (`Finish`, `Final Answer`) and for no tool."""
    return fold(written) in _FINISH and find_tool(written, tools) is None


def means_nothing(written: str) -> bool:
    """Whether the model says that it calls no tool."""
    return _NOTHING.fullmatch(fold(written)) is not None


def fold(name: str) -> str:
    """The name without wrapping, capitals and kinds of separators."""
    plain = unicodedata.normalize("NFKC", name).strip(_WRAPPING).casefold()
    return re.sub(r"[\s_-]+", "_", plain)


def fold_key(key: str) -> str:
    """The key without separators too: `action_input`, `Action Input` and `actionInput` are one."""
    return fold(key).replace("_", "")


def _without_words(name: str) -> str:
    name = name.strip(_WRAPPING)
    while match := _VERB.match(name):
        name = name[match.end() :].strip(_WRAPPING)
    return _NOUN.sub("", name).strip(_WRAPPING)
