"""A registered secret, wherever it stands in a message, reaches no journal, event, log or error."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from carryforward.agent import Agent, ChatModel
from carryforward.memory import Journal, Memory, ShortTermMemory
from carryforward.memory.messages import MessageError
from carryforward.tools import Tool
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

ALPHABET = st.characters(exclude_categories=["Cs"], exclude_characters="[]")
SECRETS = st.one_of(
    st.text(ALPHABET, min_size=6, max_size=20).filter(lambda secret: not secret.isdecimal() and not secret.isspace()),
    st.text("\\\"/'\n\té密𝄞", min_size=6, max_size=12),
    st.integers(10**7, 10**12).map(str),
)
SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def texts_of(value: Any) -> Iterator[Any]:
    """Every text and number in a value, keys included; of a text that is JSON, what stands in it too."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from texts_of(key)
            yield from texts_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_of(item)
    else:
        yield value
        if isinstance(value, str):
            try:
                inner = json.loads(value)
            except ValueError:
                return
            yield from texts_of(inner)


def shows(value: Any, secret: str) -> bool:
    return any(secret in one if isinstance(one, str) else secret == str(one) for one in texts_of(value))


def written_in(folder: str) -> bytes:
    return b"".join(file.read_bytes() for file in Path(folder).glob("j.db*") if file.is_file())


def holding(secret: str) -> st.SearchStrategy[Any]:
    """JSON values with the secret somewhere: as a text, in one, as a key, in JSON inside a text, as a number."""
    inside = st.sampled_from([secret, f"it is {secret}.", json.dumps({"k": secret}), json.dumps([f"a {secret}"])])
    leaves = st.one_of(
        inside, st.just(int(secret)) if secret.isdecimal() else st.nothing(), st.none(), st.integers(0, 9)
    )
    keys = st.one_of(st.just(secret), st.sampled_from(["text", "url", "k"]))
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))


@st.composite
def messages(draw: st.DrawFn, secret: str) -> dict[str, Any]:
    """A message of any role with the secret anywhere in it."""
    value = holding(secret)
    role = draw(st.sampled_from(["system", "user", "assistant", "tool"]))
    parts = st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "image_url"]), "text": value}), max_size=2)
    name = st.sampled_from([secret, "n"])
    arguments = st.builds(lambda v, plain: json.dumps({"a": v}, ensure_ascii=plain), value, st.booleans())
    function = st.fixed_dictionaries({"name": name, "arguments": arguments | value})
    call = st.fixed_dictionaries({"id": name, "type": st.just("function"), "function": function})
    fields = st.fixed_dictionaries(
        {"content": st.one_of(st.none(), st.sampled_from([secret, f"it is {secret}."]), parts)},
        optional={"name": name, "reasoning_content": value, "annotations": value, secret: value},
    )
    message = {"role": role, **draw(fields)}
    if role == "assistant":
        message["tool_calls"] = draw(st.lists(call, max_size=2))
    if role == "tool":
        message["tool_call_id"] = draw(name)
    return message


@SETTINGS
@given(data=st.data(), secret=SECRETS)
def test_a_secret_anywhere_in_a_message_is_kept_and_sent_nowhere(
    data: st.DataObject, caplog: pytest.LogCaptureFixture, secret: str
) -> None:
    caplog.clear()
    with (
        TemporaryDirectory() as folder,
        caplog.at_level(logging.DEBUG, "carryforward"),
        Journal(Path(folder) / "j.db") as journal,
    ):
        journal.redact(secret)
        assume(not shows(["text", "url", "role", "content", "function", "arguments"], secret))
        memory = ShortTermMemory(4000, journal=journal, run="r")
        for message in data.draw(st.lists(messages(secret), min_size=1, max_size=4)):
            memory.add(message)
        assert not shows(memory.context(), secret)
        assert not shows([asdict(kept) for _, kept in memory.messages()], secret)
        assert not shows([entry.body for entry in journal.entries("r")], secret)
        written = written_in(folder)
    assert secret.encode() not in written and secret not in caplog.text


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "SECRET"},
        {"role": "user", "content": 3.5, "extra": "SECRET"},
        {"role": "user", "content": ["SECRET", {"type": "text", "text": object()}]},
        {"role": "user", "content": [{"SECRET"}]},
        {"role": "assistant", "tool_calls": ["SECRET"]},
        {"role": "assistant", "tool_calls": [{"id": "SECRET", "function": "SECRET"}]},
        {"role": "assistant", "tool_calls": "SECRET"},
    ],
)
def test_a_message_that_is_refused_shows_no_secret_in_the_error(fields: dict[str, Any]) -> None:
    secret = "it's a \\ secret"

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items()}
        if isinstance(value, list | set):
            return type(value)(filled(item) for item in value)
        return secret if value == "SECRET" else value

    journal = Journal()
    journal.redact(secret)
    with pytest.raises(MessageError) as refused:
        ShortTermMemory(4000, journal=journal).add(filled(fields))
    assert "secret" not in str(refused.value).replace("[secret]", "") and refused.value.__cause__ is None


@SETTINGS
@given(data=st.data(), secret=SECRETS)
def test_a_run_shows_a_secret_of_its_model_in_no_event_and_no_entry(
    scripted: Any, data: st.DataObject, caplog: pytest.LogCaptureFixture, secret: str
) -> None:
    caplog.clear()

    def look(**arguments: Any) -> str:
        return json.dumps(arguments, ensure_ascii=data.draw(st.booleans()))

    def fail(**arguments: Any) -> str:
        raise ValueError(f"can't use {arguments!r}")

    anything = {"type": "object", "properties": {}, "additionalProperties": True}
    tools = [Tool("look", "Looks.", anything, run=look), Tool("fail", "Fails.", anything, run=fail)]
    values = st.dictionaries(st.sampled_from(["a", "b"]), holding(secret), max_size=2)
    says = data.draw(st.lists(st.tuples(st.sampled_from(["look", "fail", f"x{secret}"]), values), max_size=3))
    model = scripted([*says, f"It is {secret}."])
    model.secrets = (secret,)
    with (
        TemporaryDirectory() as folder,
        caplog.at_level(logging.DEBUG, "carryforward"),
        Journal(Path(folder) / "j.db") as journal,
    ):
        agent = Agent(model, tools, memory=Memory(8000, journal=journal))
        assume(not shows([agent.tools.schemas(), "reasoning", "finished", "prompt_tokens"], secret))

        async def events() -> list[Any]:
            return [event async for event in agent.stream(f"What is {secret}?")]

        seen = asyncio.run(events())
        assert not shows([entry.body for entry in journal.entries(agent.memory.run_id)], secret)
        written = written_in(folder)
    assert not any(shows(asdict(event), secret) for event in seen)
    assert secret.encode() not in written and secret not in caplog.text
    assert not any(shows(context, secret) for context in model.sent)


@pytest.mark.parametrize(
    ("key", "secrets"),
    [("ollama", ()), ("EMPTY", ()), ("none", ()), ("sk-4711", ("Bearer sk-4711", "sk-4711"))],
)
def test_a_key_that_stands_for_none_is_no_secret(key: str, secrets: tuple[str, ...]) -> None:
    assert ChatModel("m", base_url="http://127.0.0.1:1/v1", api_key=key).secrets == secrets
