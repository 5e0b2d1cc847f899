"""The helper: a second model for summaries and reflections, whose use is counted and whose failures hurt nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from carryforward.agent import Agent, Event, Warned, price_of
from carryforward.agent.errors import ServerError
from carryforward.agent.reply import Reply, Usage
from carryforward.memory import ExtractiveSummarizer, Memory
from carryforward.tools import Tool, ToolError

QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


class Named:
    """A model of a known name and price that always says the same."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text
        self.asked: list[str] = []

    async def complete(self, messages: list[dict[str, Any]], tools: Any = None, **options: Any) -> Reply:
        self.asked.append(messages[-1]["content"])
        return Reply({"role": "assistant", "content": self._text}, "stop", Usage(100, 20, estimated=True), self._name)


def failing(query: str) -> str:
    raise ToolError("the index of 12 towers is closed")


def search(run: Any) -> Tool:
    return Tool("search", "Finds texts.", QUERY, run=run)


def events_of(agent: Agent) -> list[Event]:
    async def collect() -> list[Event]:
        return [event async for event in agent.stream("How high is the tower?")]

    return asyncio.run(collect())


def test_the_helper_says_what_went_wrong_and_no_figure_that_nobody_gave_it(scripted: Any) -> None:
    model = scripted([("search", {"query": "tower"}), "done"])
    helper = Named("small", "The index of 12 towers is closed. Use another tool, it is 330 m high.")
    result = Agent(model, [search(failing)], helper=helper).run("How high is the tower?")
    told = model.sent[1][-1]["content"]
    assert "The index of 12 towers is closed. Use another tool" in told and "330" not in told
    (asked,) = helper.asked
    assert "How high is the tower?" in asked and "is closed" in asked and "tower" in asked
    assert (result.usage.prompt_tokens, result.usage.completion_tokens, result.steps) == (2 * 10 + 100, 2 * 5 + 20, 2)


def test_a_helper_that_fails_leaves_the_fixed_words(scripted: Any) -> None:
    model, helper = scripted([("search", {"query": "tower"}), "done"]), scripted([ServerError("gone")])
    events = events_of(Agent(model, [search(failing)], helper=helper))
    assert "That did not work" in model.sent[1][-1]["content"]
    assert [event.reason for event in events if isinstance(event, Warned)] == ["no reflection: gone"]


@pytest.mark.parametrize("reflect", ["on_error", "never"])
def test_the_helper_is_not_asked_where_no_reflection_is_due(scripted: Any, reflect: Any) -> None:
    run = failing if reflect == "never" else (lambda query: "330 m")
    Agent(scripted([("search", {"query": "x"}), "done"]), [search(run)], helper=scripted([]), reflect=reflect).run("go")


def test_the_helper_writes_the_summaries_and_each_model_has_its_own_price(scripted: Any) -> None:
    class Priced:
        def __init__(self) -> None:
            self.inner = scripted([("search", {"query": str(n)}) for n in range(14)] + ["done"])

        async def complete(self, *arguments: Any, **options: Any) -> Reply:
            reply = await self.inner.complete(*arguments, **options)
            return Reply(reply.message, reply.finish_reason, reply.usage, "gpt-4o")

    model, helper = Priced(), Named("gpt-4o-mini", "Findings: nothing but words so far.")
    tools = [search(lambda query: "word " * 300)]
    result = Agent(model, tools, memory=Memory(2000), helper=helper).run("How high is the tower?")
    assert helper.asked and "Findings: nothing but words so far." in str(model.inner.sent[-1])
    large, small = price_of("gpt-4o"), price_of("gpt-4o-mini")
    assert large is not None and small is not None
    assert result.usage.cost == pytest.approx(15 * large.cost(10, 5) + len(helper.asked) * small.cost(100, 20))


def test_a_memory_with_a_summarizer_of_its_own_keeps_it(scripted: Any) -> None:
    own = ExtractiveSummarizer()
    agent = Agent(scripted([]), memory=Memory(2000, summarizer=own), helper=scripted([]))
    assert agent.memory.summarizer is own


def test_the_keys_of_the_helper_are_hidden_too(scripted: Any) -> None:
    helper = scripted([])
    helper.secrets = ("sk-helper-000",)
    agent = Agent(scripted(["It is sk-helper-000."]), helper=helper)
    assert agent.run("go").answer == "It is [secret]."
