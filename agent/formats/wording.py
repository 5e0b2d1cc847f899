"""What the formats say to the model, in English and Chinese."""

from __future__ import annotations

from dataclasses import dataclass

from ...tools.arguments import usage
from .base import Language, Reason, Tool, Tools


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language; those with `{}` take what is named."""

    thought: str
    action: str
    action_input: str
    observation: str
    final_answer: str
    colon: str
    finish: str
    example_thought: str
    example_answer: str
    tools_are: str
    no_tools: str
    no_such_tool: str
    did_you_mean: str
    known_tools: str
    right_form: str
    nothing_run: str
    reasons: dict[Reason, str]


EN = Wording(
    thought="Thought",
    action="Action",
    action_input="Action Input",
    observation="Observation",
    final_answer="Final Answer",
    colon=": ",
    finish="Finish",
    example_thought="what you need next, in a sentence",
    example_answer="your answer to the task",
    tools_are="You have these tools:",
    no_tools="You have no tools.",
    no_such_tool="There is no tool {!r}.",
    did_you_mean=" Did you mean {!r}?",
    known_tools=" The tools are: {}.",
    right_form="Reply in this form:",
    nothing_run="Nothing of your last reply was run.",
    reasons={
        "truncated_or_empty": "Your reply was empty or cut off. Be shorter.",
        "no_action": "Your reply holds neither a call nor an answer in the form that can be read.",
        "several_intents": "Your reply holds a call and an answer at once. Give only one of them.",
        "invalid_json": "Your reply is not valid JSON.",
        "unknown_tool": "Your reply names a tool that does not exist.",
        "invalid_arguments": "The arguments of your call do not fit the tool.",
        "duplicate_key": "A key is given twice, so it is not clear what you mean.",
    },
)

ZH = Wording(
    thought="思考",
    action="行动",
    action_input="行动输入",
    observation="观察",
    final_answer="最终答案",
    colon="：",
    finish="Finish",
    example_thought="用一句话说明下一步需要什么",
    example_answer="你对任务的回答",
    tools_are="你可以使用这些工具：",
    no_tools="没有可用的工具。",
    no_such_tool="没有名为 {!r} 的工具。",
    did_you_mean="你是指 {!r} 吗？",
    known_tools="可用的工具有：{}。",
    right_form="请按以下格式回复：",
    nothing_run="你上一条回复中的内容均未执行。",
    reasons={
        "truncated_or_empty": "你的回复为空或被截断，请写得更短。",
        "no_action": "你的回复中没有可识别的工具调用，也没有答案。",
        "several_intents": "你的回复同时包含调用和答案，请只给出其中一个。",
        "invalid_json": "你的回复不是有效的 JSON。",
        "unknown_tool": "你调用的工具不存在。",
        "invalid_arguments": "调用的参数与工具不符。",
        "duplicate_key": "有重复的键，无法确定你的意思。",
    },
)


def wording(language: Language) -> Wording:
    """The words of that language."""
    return ZH if language == "zh" else EN


def tool_list(tools: Tools, words: Wording) -> str:
    """The tools with their parameters, one a line."""
    lines = [f"- {tool.name}: {tool.description} ({usage(tool)})" for tool in tools]
    return "\n".join([words.tools_are, *lines]) if lines else words.no_tools


def unknown_tool(written: str, suggestion: Tool | None, tools: Tools, words: Wording) -> str:
    """What to say of a name that is no tool's."""
    names = ", ".join(tool.name for tool in tools) or "-"
    near = words.did_you_mean.format(suggestion.name) if suggestion else ""
    return words.no_such_tool.format(written[:100]) + near + words.known_tools.format(names)
