"""Context policies of other libraries as keepers for the lab, each used as its documentation says.

`installed()` gives those whose package can be imported. Each counts in cl100k_base, and keeps the system prompt the way
its framework does. Where a library knows two settings that suit agents, both are here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from typing import Any, cast

from carryforward.memory import Message, TokenCounter

PRIMING = 3


class _Peer:
    def __init__(self, budget: int) -> None:
        self.budget = budget - PRIMING
        self.counter = TokenCounter(encoding="cl100k_base")
        self.messages: list[Any] = []
        self.loop = asyncio.new_event_loop()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def __del__(self) -> None:
        self.loop.close()


class LangChainTrim(_Peer):
    """`trim_messages` with the settings of its how-to: the last messages, the system message, a valid start.

    https://docs.langchain.com/oss/python/langchain/short-term-memory#trim-messages
    """

    start_on: str | None = "human"

    def add(self, message: dict[str, Any]) -> None:
        from langchain_core.messages import convert_to_messages

        self.messages += convert_to_messages([message])

    def _count(self, messages: list[Any]) -> int:
        from langchain_core.messages import convert_to_openai_messages

        return sum(map(self.counter.message, convert_to_openai_messages(messages)))

    def context(self) -> list[dict[str, Any]]:
        from langchain_core.messages import convert_to_openai_messages, trim_messages

        kept = trim_messages(
            self.messages,
            max_tokens=self.budget,
            token_counter=self._count,
            strategy="last",
            include_system=True,
            start_on=self.start_on,
            end_on=("human", "tool"),
        )
        return convert_to_openai_messages(kept)


class LangChainTrimAnyStart(LangChainTrim):
    """The same without `start_on`, since an agent's run has one human message only, at its beginning."""

    start_on = None


class LlamaIndexMemory(_Peer):
    """`Memory` with its defaults; the agent's system prompt stays outside, as LlamaIndex agents have it.

    https://developers.llamaindex.ai/python/framework/module_guides/deploying/agents/memory/
    """

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self.memory: Any = None

    def add(self, message: dict[str, Any]) -> None:
        from llama_index.core.base.llms.types import ChatMessage

        if message["role"] == "system":
            self.messages.append(message)
            return
        extra = {key: message[key] for key in ("tool_calls", "tool_call_id", "name") if message.get(key)}
        said = ChatMessage(role=message["role"], content=message.get("content") or "", additional_kwargs=extra)
        self.wait(self._memory().aput(said))

    def _memory(self) -> Any:
        from llama_index.core.memory import Memory

        if self.memory is None:
            left = max(1, self.budget - sum(map(self.counter.message, self.messages)))
            tokens: Callable[[str], list[int]] = lambda text: [0] * self.counter.count(text)  # noqa: E731
            self.memory = Memory.from_defaults("run", token_limit=left, tokenizer_fn=tokens)
        return self.memory

    def context(self) -> list[dict[str, Any]]:
        kept = self.wait(self._memory().aget())
        return [
            *self.messages,
            *({"role": m.role.value, "content": m.content or "", **m.additional_kwargs} for m in kept),
        ]


class AutoGenTokenLimited(_Peer):
    """`TokenLimitedChatCompletionContext`; system messages stay outside, as AutoGen's `AssistantAgent` has them.

    https://microsoft.github.io/autogen/stable/reference/python/autogen_core.model_context.html
    """

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self.limited: Any = None
        self.last: Any = None

    def add(self, message: dict[str, Any]) -> None:
        from autogen_core import FunctionCall
        from autogen_core import models as ag

        m = Message.from_dict(message)
        if m.role == "system":
            self.messages.append(message)
            return
        if m.role == "tool":
            result = ag.FunctionExecutionResult(content=m.text, name="tool", call_id=m.tool_call_id or "")
            if isinstance(self.last, ag.FunctionExecutionResultMessage):
                self.last.content.append(result)
                return
            self.last = ag.FunctionExecutionResultMessage(content=[result])
        elif m.role == "user":
            self.last = ag.UserMessage(content=m.text, source="user")
        else:
            calls = [FunctionCall(id=c.id, name=c.name, arguments=c.arguments) for c in m.tool_calls]
            thought = m.text if calls else None
            self.last = ag.AssistantMessage(content=calls or m.text, thought=thought, source="assistant")
        self.wait(self._context().add_message(self.last))

    def _context(self) -> Any:
        from autogen_core.model_context import TokenLimitedChatCompletionContext

        if self.limited is None:
            left = max(1, self.budget - sum(map(self.counter.message, self.messages)))
            self.limited = TokenLimitedChatCompletionContext(cast(Any, self), token_limit=left)
        return self.limited

    def count_tokens(self, messages: list[Any], *, tools: Any = ()) -> int:
        """What AutoGen asks of the model's client."""
        return sum(self.counter.message(written) for message in messages for written in _from_autogen(message))

    def context(self) -> list[dict[str, Any]]:
        kept = self.wait(self._context().get_messages())
        return [*self.messages, *(written for message in kept for written in _from_autogen(message))]


def _from_autogen(message: Any) -> list[dict[str, Any]]:
    if message.type == "FunctionExecutionResultMessage":
        return [{"role": "tool", "tool_call_id": r.call_id, "content": r.content} for r in message.content]
    if message.type == "UserMessage":
        return [{"role": "user", "content": message.content}]
    if isinstance(message.content, str):
        return [{"role": "assistant", "content": message.content}]
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in message.content
    ]
    return [{"role": "assistant", "content": message.thought, "tool_calls": calls}]


class _PydanticAI(_Peer):
    """A compaction strategy of pydantic-ai-harness, run over the persistent history before each request.

    https://github.com/pydantic/pydantic-ai/tree/main/src/pydantic_ai_harness/pydantic_ai_harness/compaction
    """

    def strategy(self) -> Any:
        raise NotImplementedError

    def add(self, message: dict[str, Any]) -> None:
        from pydantic_ai import messages as pa

        m = Message.from_dict(message)
        if m.role == "assistant":
            calls = [pa.ToolCallPart(c.name, c.arguments, tool_call_id=c.id) for c in m.tool_calls]
            said = [pa.TextPart(m.text)] if m.text else []
            self.messages.append(pa.ModelResponse([*said, *calls]))
            return
        if m.role == "tool":
            part = pa.ToolReturnPart("tool", m.text, tool_call_id=m.tool_call_id or "")
        else:
            part = pa.SystemPromptPart(m.text) if m.role == "system" else pa.UserPromptPart(m.text)
        if self.messages and isinstance(self.messages[-1], pa.ModelRequest):
            self.messages[-1] = pa.ModelRequest([*self.messages[-1].parts, part])
        else:
            self.messages.append(pa.ModelRequest([part]))

    def context(self) -> list[dict[str, Any]]:
        from pydantic_ai import RunContext
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.usage import RunUsage

        if sum(map(self.counter.message, self._written())) > self.budget:
            run = RunContext(deps=None, model=TestModel(), usage=RunUsage(), messages=self.messages)
            self.messages = list(self.wait(self.strategy().compact(self.messages, run)))
        return self._written()

    def _written(self) -> list[dict[str, Any]]:
        from pydantic_ai import messages as pa

        out: list[dict[str, Any]] = []
        for message in self.messages:
            if isinstance(message, pa.ModelResponse):
                text = "".join(p.content for p in message.parts if isinstance(p, pa.TextPart))
                calls = [
                    {
                        "id": p.tool_call_id,
                        "type": "function",
                        "function": {"name": p.tool_name, "arguments": p.args_as_json_str()},
                    }
                    for p in message.parts
                    if isinstance(p, pa.ToolCallPart)
                ]
                out.append({"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})})
                continue
            for part in message.parts:
                if isinstance(part, pa.ToolReturnPart):
                    text = part.model_response_str()
                    out.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
                else:
                    role = "system" if isinstance(part, pa.SystemPromptPart) else "user"
                    out.append({"role": role, "content": str(part.content)})
        return out


class PydanticAISlidingWindow(_PydanticAI):
    """Drops the oldest messages down to half the budget."""

    def strategy(self) -> Any:
        from pydantic_ai_harness.compaction import SlidingWindowCompaction

        return SlidingWindowCompaction(
            max_tokens=self.budget, keep_tokens=self.budget // 2, tokenizer=self.counter.count
        )


class PydanticAIClearToolResults(_PydanticAI):
    """Blanks all tool results but the last three."""

    def strategy(self) -> Any:
        from pydantic_ai_harness.compaction import ClearToolResults

        return ClearToolResults(max_tokens=self.budget, keep_pairs=3, tokenizer=self.counter.count)


class _InspectAI(_Peer):
    """A compaction strategy of inspect_ai behind its handler (https://inspect.aisi.org.uk/compaction.html)."""

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self.handler: Any = None

    def strategy(self) -> Any:
        raise NotImplementedError

    def add(self, message: dict[str, Any]) -> None:
        from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
        from inspect_ai.tool import ToolCall

        m, number = Message.from_dict(message), str(len(self.messages))
        if m.role == "assistant":
            calls = [ToolCall(c.id, c.name, _arguments(c.arguments)) for c in m.tool_calls]
            self.messages.append(ChatMessageAssistant(id=number, content=m.text, tool_calls=calls or None))
        elif m.role == "tool":
            self.messages.append(ChatMessageTool(id=number, content=m.text, tool_call_id=m.tool_call_id))
        elif m.role == "system":
            self.messages.append(ChatMessageSystem(id=number, content=m.text))
        else:
            source = None if any(isinstance(known, ChatMessageUser) for known in self.messages) else "input"
            self.messages.append(ChatMessageUser(id=number, content=m.text, source=source))

    def context(self) -> list[dict[str, Any]]:
        from inspect_ai.model import compaction, get_model

        if self.handler is None:
            model = get_model("mockllm/model", memoize=False)

            async def count(text: str) -> int:
                return self.counter.count(text)

            model.api.count_text_tokens = count
            self.handler = compaction(self.strategy(), prefix=list(self.messages), model=model)
        kept, added = self.wait(self.handler.compact_input(self.messages))
        if added is not None:
            self.messages.append(added)
        return [_written(m) for m in kept]


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {"_": text}
    return value if isinstance(value, dict) else {"_": value}


def _written(message: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        out["tool_call_id"] = message.tool_call_id
    elif message.role == "assistant" and message.tool_calls:
        out["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.function, "arguments": json.dumps(c.arguments)}}
            for c in message.tool_calls
        ]
    return out


class InspectAITrim(_InspectAI):
    """Keeps 80 % of the messages of the conversation."""

    def strategy(self) -> Any:
        from inspect_ai.model import CompactionTrim

        return CompactionTrim(threshold=self.budget, memory=False, preserve=0.8)


class InspectAIEdit(_InspectAI):
    """Clears all tool results but the last three."""

    def strategy(self) -> Any:
        from inspect_ai.model import CompactionEdit

        return CompactionEdit(threshold=self.budget, memory=False, keep_tool_uses=3)


_PEERS: dict[str, dict[str, type[_Peer]]] = {
    "langchain_core": {
        "LangChain trim_messages": LangChainTrim,
        "LangChain trim_messages, any start": LangChainTrimAnyStart,
    },
    "llama_index": {"LlamaIndex Memory": LlamaIndexMemory},
    "autogen_core": {"AutoGen TokenLimited": AutoGenTokenLimited},
    "pydantic_ai_harness": {
        "pydantic-ai SlidingWindow": PydanticAISlidingWindow,
        "pydantic-ai ClearToolResults": PydanticAIClearToolResults,
    },
    "inspect_ai": {"inspect_ai CompactionTrim": InspectAITrim, "inspect_ai CompactionEdit": InspectAIEdit},
}


def installed() -> dict[str, type[_Peer]]:
    """The peers at hand, by name; the others are named on the way."""
    found: dict[str, type[_Peer]] = {}
    for package, classes in _PEERS.items():
        if find_spec(package) is None:
            print(f"{package} is not installed: left out")
        else:
            found |= classes
    return found
