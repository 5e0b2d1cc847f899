"""The parts of a reply written as text: reasoning blocks, code fences, and labelled sections.

Labels are those of ReAct (https://arxiv.org/abs/2210.03629) in English and Chinese, with the numbers,
markdown and full-width colons that models add to them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["thought", "action", "input", "observation", "final", "question"]

_LABELS: dict[Kind, str] = {
    "input": r"action[ _-]?(?:inputs?|arguments|args)|tool[ _-]?input"
    r"|(?:行动|动作|工具)(?:的)?(?:输入|参数)|输入参数|输入|参数",
    "action": r"action|行动|动作",
    "observation": r"observations?|tool[ _-]?(?:result|output|response)s?|观察结果|观察|工具(?:结果|返回|输出)",
    "final": r"(?:final[ _-]?)?answer|最终(?:答案|回答|结果)|答案|回答",
    "thought": r"thoughts?|思考|想法|思路",
    "question": r"question|user|human|问题|用户",
}
_ALTERNATIVES = "|".join(f"(?P<{kind}>{words})" for kind, words in _LABELS.items())
_LABEL = re.compile(
    r"^[^\S\n]*(?:[>#*_•-]+[^\S\n]*)*(?:(?<=[*_])(?P<bold>))?"
    rf"(?:{_ALTERNATIVES})[^\S\n]*\d*[^\S\n]*(?P<closed>[*_]{{1,2}})?[:：](?(bold)(?(closed)|[*_]{{0,2}}))",
    re.IGNORECASE | re.MULTILINE,
)
_BOLD_LINE = re.compile(
    r"^(?P<before>[^\S\n]*)(?P<mark>\*\*|__)(?P<line>(?:(?!(?P=mark)|[:：]).)+[:：](?:(?!(?P=mark)).)+)(?P=mark)[^\S\n]*$",
    re.MULTILINE,
)
_INLINE_CALL = re.compile(r"(?<=[\s.。!！])(?=(?:Action|行动)\s*[:：][^\n:：]{1,80}?(?:Action Input|行动输入)\s*[:：])")
_INLINE_INPUT = re.compile(r"(?<=\S)[^\S\n]+(?=(?:Action Input|行动输入)\s*[:：])")

_LOOSE_LABELS = {
    "Action Input": r"(?:action|tool)[ _-]?input|input|(?:行动|动作|操作|工具)?输入|参数",
    "Action": r"action|tool(?:[ _-]?name)?|行动|动作|操作|工具(?:调用|名称)?",
    "Thought": "thought|思考",
    "Final Answer": "final[ _-]?answer|最终答案",
}
_LOOSE_LABEL = re.compile(
    r"^[^\S\n]*(?:[>#•-]+[^\S\n]*)*(?:\d{1,3}[.)、][^\S\n]*)?(?P<open>【)?[*_]*"
    rf"(?:{'|'.join(f'({words})' for words in _LOOSE_LABELS.values())})"
    r"[^\S\n]*(?:\[?\d+\]?)?[*_]*(?(open)】)[^\S\n]*(?:[:：]|$|(?<=】))[*_]*",
    re.IGNORECASE | re.MULTILINE,
)

_THINK = r"think(?:ing)?|thought|reasoning|reflection|seed:think"
_OPEN_THINK = re.compile(rf"<(?:{_THINK})>|◁think▷|(?-i:\[THINK\])", re.IGNORECASE)
_CLOSE_THINK = re.compile(rf"</(?:{_THINK})>|◁/think▷|(?-i:\[/THINK\])", re.IGNORECASE)
# The response format of gpt-oss (https://cookbook.openai.com/articles/openai-harmony), where a server lets it through
_ANALYSIS = re.compile(r"<\|channel\|>analysis<\|message\|>(?P<thought>.*?)(?P<end><\|end\|>|\Z)", re.DOTALL)
_CHANNEL_MARKS = re.compile(
    r"<\|start\|>assistant|<\|channel\|>(?:final|commentary)<\|message\|>|<\|(?:return|call)\|>"
)
_INSIDE_CALL = re.compile(r"[{\[｛［]|^\W*(?:action|行动|动作)\b.*?[:：]", re.IGNORECASE | re.MULTILINE)
_END_TOKENS = re.compile(r"(?:<\|(?:im_end|eot_id|endoftext|end|eom_id)\|>|</s>|<｜end▁of▁sentence｜>)\s*$")
_FENCE_LINE = re.compile(r"^\s*(?:`{3,}|~{3,})", re.MULTILINE)
_ONLY_FENCE = re.compile(r"^[^\S\n]*(?:`{3,}|~{3,})\w*[^\S\n]*$", re.MULTILINE)
_LAST_LINE = re.compile(r"\n[^\S\n]*([^\n]*?)[^\S\n]*$")
_STOP_WORDS = ("Observation:", "观察：", "观察:")


@dataclass(frozen=True, slots=True)
class Section:
    """A labelled part: `text[start:end]` is its body, `label_at` where its label begins."""

    kind: Kind
    label_at: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Visible:
    """A reply without its reasoning blocks. `cut` is set when a block was opened and never closed."""

    text: str
    reasoning: str
    cut: bool


def without_reasoning(text: str) -> Visible:
    """Take out `<think>` blocks: what is tried out in them is not meant to happen.

    A tag inside an action's input is the input's text and stays. A closing tag without an opening one ends
    a block that the chat template opened.
    """
    text = text.lstrip("\ufeff\u200b")
    if "<|channel|>" in text:
        text = _ANALYSIS.sub(lambda m: f"<think>{m['thought']}{'</think>' if m['end'] else ''}", text)
        text = _CHANNEL_MARKS.sub("", text)
    reasoning: list[str] = []
    kept: list[str] = []
    first_close, first_open = _CLOSE_THINK.search(text), _OPEN_THINK.search(text)
    at = 0
    if first_close and (not first_open or first_close.start() < first_open.start()):
        reasoning.append(text[: first_close.start()])
        at = first_close.end()
    cut = False
    for opened in _OPEN_THINK.finditer(text, at):
        if opened.start() < at:
            continue  # nested in the block before
        before = text[at : opened.start()]
        at_line_start = not before.rpartition("\n")[2].strip()
        if not at_line_start and _INSIDE_CALL.search("".join(kept) + before):
            continue
        kept.append(before)
        end = _matching_close(text, opened.end())
        if end is None:
            reasoning.append(text[opened.end() :])
            at, cut = len(text), True
            break
        reasoning.append(text[opened.end() : end.start()])
        at = end.end()
    kept.append(text[at:])
    visible = _END_TOKENS.sub("", "".join(kept))
    return Visible(visible.strip(), "\n".join(part.strip() for part in reasoning if part.strip()), cut)


def _matching_close(text: str, at: int) -> re.Match[str] | None:
    depth = 1
    while depth:
        close = _CLOSE_THINK.search(text, at)
        if close is None:
            return None
        depth += len(_OPEN_THINK.findall(text, at, close.start())) - 1
        at = close.end()
        if depth == 0:
            return close
    return None


def unfenced(text: str) -> str:
    """The content of a reply that as a whole stands in one code fence, else the reply."""
    lines = text.strip().split("\n")
    fences = [at for at, line in enumerate(lines) if _FENCE_LINE.match(line)]
    if not fences or fences[0] != 0 or fences[1:] not in ([], [len(lines) - 1]):
        return text
    return "\n".join(lines[1 : fences[-1] or None])


def without_open_fence(text: str) -> str:
    """The text without a last fence line that closes a fence opened before it."""
    fences = list(_FENCE_LINE.finditer(text))
    if len(fences) % 2 and not text[fences[-1].end() :].strip():
        return text[: fences[-1].start()].rstrip()
    return text


def without_fence_lines(text: str) -> str:
    """The text without lines that are nothing but a code fence."""
    return _ONLY_FENCE.sub("", text)


def without_stop_word(text: str) -> str:
    """The text without a last line that is the beginning of `Observation:`, as cut stop sequences leave it."""
    last = _LAST_LINE.search(text)
    if last and len(last.group(1)) >= 2 and any(word.startswith(last.group(1)) for word in _STOP_WORDS):
        return text[: last.start()].rstrip()
    return text


def one_label_a_line(text: str) -> str:
    """A call written along one line (`… Action: a Action Input: b`) with each label on a line of its own."""
    return _INLINE_INPUT.sub("\n", _INLINE_CALL.sub("\n", text))


def without_bold_lines(text: str) -> str:
    """Labelled lines that as a whole are bold (`**Action: search**`) without the marks around them."""
    return _BOLD_LINE.sub(
        lambda line: line[0] if not _LABEL.match(line["line"]) else line["before"] + line["line"], text
    )


def with_usual_labels(text: str) -> str:
    """The text with labels of other words, of numbered lists and of headings (`2. Tool: search`, `【行动】search`)
    as the usual ones. Such words stand in plain text too: use it where no label was found."""
    return _LOOSE_LABEL.sub(lambda label: f"{_usual_label(label)}: ", text)


def _usual_label(loose: re.Match[str]) -> str:
    groups = loose.groups()[-len(_LOOSE_LABELS) :]
    return next(label for label, found in zip(_LOOSE_LABELS, groups, strict=True) if found)


def sections(text: str) -> list[Section]:
    """The labelled parts in order; text before the first label belongs to none."""
    found = list(_LABEL.finditer(text))
    if not found:
        return []
    ends = [label.start() for label in found[1:]] + [len(text)]
    return [Section(_kind(label), label.start(), label.end(), end) for label, end in zip(found, ends, strict=True)]


def _kind(label: re.Match[str]) -> Kind:
    return next(kind for kind in _LABELS if label.group(kind) is not None)
