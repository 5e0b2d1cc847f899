"""Replies of a real small model, SmolLM2-135M-Instruct, to tasks of the packaged suite, and the right reading of each.

Long ones are shortened.
"""

from __future__ import annotations

from typing import Any

import pytest
from carryforward.agent.formats import Action, FinalAnswer, FormatProblem, parse_reply

from .tools import TOOLS

SWALLOWED = {
    "content": None,
    "role": "assistant",
    "tool_calls": [
        {
            "id": "call__0_calculator_cmpl-98433de9",
            "type": "function",
            "function": {
                "name": "calculator",
                "arguments": '{ "expression": "2 + 2, 12}\nThis is the result of a function. It returns 4 when " } ',
            },
        }
    ],
}
REPLIES: dict[str, tuple[str, str, Any, Any]] = {
    "the form, copied": (
        "react",
        "stop",
        'Thought: what you need next, in a sentence\nAction: calculator\nAction Input: {"expression": "3*7"}',
        ("calculator", {"expression": "3*7"}),
    ),
    "a bare claim": (
        "react",
        "stop",
        "It takes 1.5 kWh a day, so that's 0.75 kWh/day x 640 = 480 kWh.",
        "no_action",
    ),
    "the instructions, said back": (
        "react",
        "length",
        "17.5 * 4.8 = 93\nYou have these tools:\n- calculator: Use it for calculations instead of dealing with numbers",
        "truncated_or_empty",
    ),
    "a thought and no more": (
        "bracket",
        "stop",
        "Thought: What you need next, in a sentence\nA command to remove the top 3 feet of your head",
        "no_action",
    ),
    "a call of a tool that the instructions only sound like": (
        "bracket",
        "stop",
        "When you know the answer, reply with:\nThought: what you need next, in a sentence\n"
        "Action: Stop[your response to the task]",
        "unknown_tool",
    ),
    "the answer's form, copied": (
        "bracket",
        "stop",
        "Thought: What you need next, in a sentence\nAction: Finish[your answer to the task]",
        "your answer to the task",
    ),
    "a sum that is no call": (
        "bracket",
        "stop",
        "This time, let's get it right:\nTo call a tool, reply with exactly this line of code:\n1 + CLEAR_DIGIT = 2.00",
        "no_action",
    ),
    "a call as Python writes it": ("bracket", "stop", 'As previously explained:\nCalculator("...")', "no_action"),
    "a list that never ends": (
        "bracket",
        "length",
        'Français (French)\n"Dam" (de)\ntranslation\n1. S\'il voudra 2.\n3. Rêveur 4.\n5. Fille 6.\n7. Le mal 8.\n9. L',
        "truncated_or_empty",
    ),
    "an answer that begins like a label": ("bracket", "stop", '"M3 A.S.T."', "no_action"),
    "an answer out of form": ("json", "stop", "17.5 * 4.8 = 93.2\nThe answer is 93.2", "no_action"),
    "prose for a native answer": (
        "tools",
        "stop",
        "This question is similar to the previous one but in terms of kilometres.",
        "This question is similar to the previous one but in terms of kilometres.",
    ),
    "native prose, cut off": (
        "tools",
        "length",
        "When dealing with an equation, it's crucial to be precise and avoid ambiguity. Let's do the math: 360 / 270",
        "truncated_or_empty",
    ),
    "a native call whose text swallows all": (
        "tools",
        "tool_calls",
        SWALLOWED,
        ("calculator", {"expression": "2 + 2, 12}\nThis is the result of a function. It returns 4 when "}),
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_small_models_reply_is_read_as_what_it_is(name: str) -> None:
    format, finish_reason, reply, meant = REPLIES[name]
    match parse_reply(reply, format, TOOLS, finish_reason=finish_reason):
        case Action(called, arguments):
            assert (called, arguments) == meant
        case FinalAnswer(text):
            assert text == meant
        case FormatProblem(reason):
            assert reason == meant
        case several:
            pytest.fail(f"one call was meant: {several}")
