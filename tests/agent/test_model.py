"""The chat client against a real server on loopback: requests as they arrive, answers as they are read."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterable
from typing import Any

import httpx
import pytest
from carryforward.agent.errors import RequestError, ServerError
from carryforward.agent.model import ChatModel, Delta, Reply, Timeouts
from hypothesis import given, settings
from hypothesis import strategies as st

from .scripted_server import Entry, ScriptedServer, answer, delta, events, failure, stream

ASK = [{"role": "user", "content": "time?"}]
CLOCK = {
    "type": "function",
    "function": {"name": "get_time", "description": "the time", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}


class Run:
    """What one script led to: replies, pieces, requests, and the seconds the client would have slept."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.pieces: list[Delta] = []
        self.slept: list[float] = []
        self.requests: list[dict[str, Any]] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def run(
    script: Iterable[Entry],
    messages: list[dict[str, Any]] = ASK,
    tools: list[dict[str, Any]] | None = None,
    *,
    streamed: bool = False,
    calls: int = 1,
    options: dict[str, Any] | None = None,
    **settings: Any,
) -> Run:
    done = Run()

    async def go(server: ScriptedServer) -> None:
        async with ChatModel("m", base_url=server.base_url, sleep=done.sleep, jitter=lambda: 0.5, **settings) as model:
            for _ in range(calls):
                if streamed:
                    async for item in model.stream(messages, tools, **(options or {})):
                        (done.replies if isinstance(item, Reply) else done.pieces).append(item)  # type: ignore[arg-type]
                else:
                    done.replies.append(await model.complete(messages, tools, **(options or {})))

    with ScriptedServer(script) as server:
        try:
            asyncio.run(go(server))
        finally:
            done.requests = [request.body for request in server.requests]
    return done


def test_a_call_sends_the_options_and_reads_the_reply() -> None:
    done = run([answer("fine", usage=(7, 2))], options={"temperature": 0, "seed": 3, "stop": None})
    assert done.requests == [{"model": "m", "messages": ASK, "temperature": 0, "seed": 3}]
    reply = done.replies[0]
    assert (reply.text, reply.finish_reason, reply.usage.prompt_tokens, reply.usage.estimated) == (
        "fine",
        "stop",
        7,
        False,
    )
    assert reply.measured_prompt_tokens == 7


@pytest.mark.parametrize(
    "details", [{"prompt_tokens_details": {"cached_tokens": 4}}, {"prompt_cache_hit_tokens": 4}, {"cached_tokens": 4}]
)
def test_cached_tokens_are_read_from_every_place_they_are_put(details: dict[str, Any]) -> None:
    done = run([answer("fine", usage={"prompt_tokens": 9, "completion_tokens": 1, **details})])
    assert done.replies[0].usage.cached_tokens == 4


@pytest.mark.parametrize("usage", ["missing", None, {}, {"prompt_tokens": None}, {"prompt_tokens": 0}])
def test_missing_usage_is_estimated_and_said_to_be(usage: Any) -> None:
    done = run([answer("fine", usage=usage)], count_tokens=lambda messages, tools: 11 * len(messages))
    reply = done.replies[0]
    assert reply.usage.estimated
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 11)
    assert reply.measured_prompt_tokens is None


def test_a_prompt_cut_by_the_server_is_noticed_and_not_taken_for_a_measure() -> None:
    done = run([answer("What rules?", usage=(2051, 12))], count_tokens=lambda messages, tools: 9000)
    (warning,) = done.replies[0].warnings
    assert warning.startswith("context_truncated_by_server")
    assert "9000" in warning and "2051" in warning
    assert done.replies[0].measured_prompt_tokens is None


def test_a_tokenizer_that_differs_is_no_cut_prompt() -> None:
    done = run([answer("fine", usage=(6000, 1))], count_tokens=lambda messages, tools: 9000)
    assert done.replies[0].warnings == ()


def test_a_turn_of_calls_is_sent_with_null_content_and_without_reasoning() -> None:
    turn = {"role": "assistant", "content": "", "reasoning_content": "need the clock", "tool_calls": [CALL]}
    messages = [*ASK, turn, {"role": "tool", "tool_call_id": "c1", "content": "10:05"}]
    before = json.dumps(messages)
    done = run([answer("10:05")], messages)
    assert done.requests[0]["messages"][1] == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert json.dumps(messages) == before


def test_reasoning_goes_back_with_calls_when_the_provider_wants_it() -> None:
    turn = {"role": "assistant", "content": None, "reasoning_content": "need the clock", "tool_calls": [CALL]}
    messages = [*ASK, turn, {"role": "tool", "tool_call_id": "c1", "content": "10:05"}]
    messages.append({"role": "assistant", "content": "10:05", "reasoning_content": "easy"})
    done = run([answer("fine")], messages, echo_reasoning="tool_turns")
    sent = done.requests[0]["messages"]
    assert sent[1]["reasoning_content"] == "need the clock"
    assert "reasoning_content" not in sent[3]


def test_reasoning_goes_back_once_the_server_asks_for_it_and_no_longer_once_it_refuses_it() -> None:
    turn = {"role": "assistant", "content": None, "reasoning_content": "need the clock", "tool_calls": [CALL]}
    messages = [*ASK, turn, {"role": "tool", "tool_call_id": "c1", "content": "10:05"}]

    def echoed(*script: Entry) -> list[bool]:
        done = run([*script, answer("fine")], messages)
        return ["reasoning_content" in request["messages"][1] for request in done.requests]

    wanted = failure(400, {"message": "The `reasoning_content` in the thinking mode must be passed back to the API."})
    refused = failure(422, {"message": "messages.1.reasoning_content: Extra inputs are not permitted"})
    assert echoed() == [False]
    assert echoed(wanted) == [False, True]
    done = run([wanted, answer("fine"), answer("fine"), refused, answer("fine")], messages, calls=3)
    assert ["reasoning_content" in r["messages"][1] for r in done.requests] == [False, True, True, True, False]
    with pytest.raises(RequestError):
        run([wanted, refused, answer("fine")], messages)


@pytest.mark.parametrize("arguments", ['{"a": ', {"a": 1}, "", None, '"{\\"a\\": 1}"', "[1]"])
def test_arguments_in_the_history_are_always_sent_as_json_objects(arguments: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_time", "arguments": arguments}}
    messages = [*ASK, {"role": "assistant", "content": None, "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "c1", "content": "no"})
    done = run([answer("fine")], messages)
    sent = done.requests[0]["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(sent), dict)


def test_lone_surrogates_are_replaced_before_sending() -> None:
    done = run([answer("fine")], [{"role": "user", "content": "a\ud83d b \ud83d\ude00"}])
    assert done.requests[0]["messages"][0]["content"] == "a\ufffd b \U0001f600"


REFUSED_NAMES = ["read file", "查询潮汐", "a.b", "a b", "x" * 90, "x" * 91, "", "a_b"]


@given(st.lists(st.one_of(st.sampled_from(REFUSED_NAMES), st.text(max_size=80)), min_size=1, max_size=8, unique=True))
@settings(max_examples=200, deadline=None)
def test_any_names_are_sent_valid_and_unique_and_come_back_as_they_were(names: list[str]) -> None:
    from carryforward.agent.names_on_wire import WireNames

    wire = WireNames(names)
    sent = [wire.to_wire(name) for name in names]
    assert len(set(sent)) == len(names)
    assert all(
        1 <= len(name) <= 64 and name.isascii() and name.replace("-", "_").replace("_", "a").isalnum() for name in sent
    )
    assert [wire.from_wire(name) for name in sent] == names


def test_a_tool_called_by_its_name_on_the_wire_comes_back_under_its_own() -> None:
    def reply(body: dict[str, Any]) -> Entry:
        return answer(calls=[(body["tools"][0]["function"]["name"], "{}")])

    tool = {"type": "function", "function": {**CLOCK["function"], "name": "查询潮汐"}}  # type: ignore[dict-item]
    done = run(reply, tools=[tool])  # type: ignore[arg-type]
    assert done.replies[0].tool_calls[0]["function"]["name"] == "查询潮汐"
    assert done.requests[0]["tools"][0]["function"]["name"].isascii()


def test_calls_without_ids_get_them() -> None:
    call = {"function": {"name": "get_time", "arguments": None}}
    done = run([answer(None, tool_calls=[call, call])])
    ids = [call["id"] for call in done.replies[0].tool_calls]
    assert all(ids) and len(set(ids)) == 2


def test_a_stream_is_pieced_together_with_usage_from_its_last_piece() -> None:
    script = [
        events(
            delta(role="assistant", content=""),
            delta(reasoning_content="hm"),
            delta(content="fi"),
            delta(content="ne"),
            delta("stop"),
            {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
        )
    ]
    done = run(script, streamed=True)
    assert done.requests[0]["stream_options"] == {"include_usage": True}
    assert "".join(piece.text for piece in done.pieces) == done.replies[0].text == "fine"
    assert done.replies[0].reasoning == "hm"
    assert done.replies[0].usage.prompt_tokens == 7


TIDE = 'data: {"choices": [{"index": 0, "delta": {"content": "潮汐 \u2028\u0085 ok"}}]}'
STOP = 'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}'


@given(
    cuts=st.lists(st.integers(1, 400), max_size=6),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    last=st.sampled_from(["data: [DONE]", "data:[DONE]", ""]),
    comment=st.sampled_from(["", ": keep-alive", "event: message", "id: 3", "retry: 10", "\ufeff"]),
)
@settings(max_examples=200, deadline=None)
def test_events_are_read_however_they_are_split(cuts: list[int], end: str, last: str, comment: str) -> None:
    from carryforward.agent.streaming import EventReader

    start = comment + (end + end if comment not in ("", "\ufeff") else "")
    raw = (start + end.join([TIDE, "", STOP, "", last])).encode()
    edges = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    reader = EventReader()
    read = [data for a, b in itertools.pairwise(edges) for data in reader.feed(raw[a:b])]
    read += reader.close()
    assert json.loads(read[0])["choices"][0]["delta"]["content"] == "潮汐 \u2028\u0085 ok"
    assert json.loads(read[1])["choices"][0]["finish_reason"] == "stop"
    assert read[2:] == (["[DONE]"] if last else [])


def test_characters_split_over_pieces_and_a_missing_end_are_read() -> None:
    raw = (TIDE + "\r\n\r\n" + STOP + "\r\n\r\n").encode()
    done = run([stream(raw[:60], raw[60:61], raw[61:63], raw[63:])], streamed=True)
    assert done.replies[0].text == "潮汐 \u2028\u0085 ok"


def test_two_streamed_calls_may_share_an_index() -> None:
    def piece(call_id: str, arguments: str) -> dict[str, Any]:
        function = {"name": "read_file", "arguments": arguments}
        return delta(tool_calls=[{"index": 0, "id": call_id, "type": "function", "function": function}])

    done = run([events(piece("a", '{"path":"a"}'), piece("b", '{"path":"b"}'), delta("tool_calls"))], streamed=True)
    calls = done.replies[0].tool_calls
    assert [(c["id"], c["function"]["arguments"]) for c in calls] == [("a", '{"path":"a"}'), ("b", '{"path":"b"}')]


def test_interleaved_pieces_of_parallel_calls_are_kept_apart() -> None:
    def piece(index: int, **fields: Any) -> dict[str, Any]:
        call_id = fields.pop("id", None)
        return delta(tool_calls=[{"index": index, "function": fields} | ({"id": call_id} if call_id else {})])

    done = run(
        [
            events(
                piece(0, id="a", name="f", arguments=""),
                piece(1, id="b", name="g", arguments='{"x"'),
                piece(0, arguments='{"y"'),
                piece(1, arguments=": 1}"),
                piece(0, arguments=": 2}"),
                delta("tool_calls"),
            )
        ],
        streamed=True,
    )
    calls = [(c["function"]["name"], c["function"]["arguments"]) for c in done.replies[0].tool_calls]
    assert calls == [("f", '{"y": 2}'), ("g", '{"x": 1}')]


def test_pieces_whose_ids_say_nothing_are_told_apart_by_index_and_name() -> None:
    def piece(index: int, call_id: str, arguments: str, name: str | None = None) -> dict[str, Any]:
        return delta(tool_calls=[{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}])

    def calls(*pieces: dict[str, Any]) -> list[str]:
        done = run([events(*pieces, delta("tool_calls"))], streamed=True)
        return [call["function"]["arguments"] for call in done.replies[0].tool_calls]

    anew_each_time = [piece(0, "a", '{"y"', "f"), piece(0, "b", ": 1"), piece(0, "c", "}")]
    assert calls(*anew_each_time) == ['{"y": 1}']
    always_the_same = [piece(0, "a", "{}", "f"), piece(1, "a", '{"y": ', "g"), piece(1, "a", "2}")]
    assert calls(*always_the_same) == ["{}", '{"y": 2}']


def test_a_streamed_refusal_is_kept() -> None:
    done = run([events(delta(refusal="I can"), delta(refusal="not."), delta("stop"))], streamed=True)
    assert done.replies[0].message["refusal"] == "I cannot."


def test_of_several_streamed_choices_the_first_is_the_reply() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "length"}]}
    done = run([events(other, delta(content="A"), delta("stop"), other)], streamed=True)
    assert (done.replies[0].text, done.replies[0].finish_reason) == ("A", "stop")


@pytest.mark.parametrize(("written", "reason"), [(20, "length"), (19, "tool_calls")])
@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_calls_that_fill_all_the_room_are_cut_whatever_the_server_says(limit: str, written: int, reason: str) -> None:
    said = answer(calls=[("save_note", '{"title": "a"}')], usage=(5, written))
    assert run([said], options={limit: 20}).replies[0].finish_reason == reason


def test_a_stream_that_is_answered_whole_is_read_whole() -> None:
    assert run([answer("fine")], streamed=True).replies[0].text == "fine"


def test_a_stream_cut_in_a_call_is_begun_again() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "save_note", "arguments": '{"title":"a",'}}
    done = run(
        [events(delta(content="I"), delta(tool_calls=[call]), done=False, cut=True), answer("fine")], streamed=True
    )
    assert len(done.requests) == 2
    assert done.pieces == [Delta("I"), Delta(restarted=True)]
    assert (done.replies[0].text, done.replies[0].tool_calls) == ("fine", [])


def test_a_stream_that_ends_without_a_finish_is_begun_again() -> None:
    assert run([events(delta(content="ha"), done=False), answer("fine")], streamed=True).replies[0].text == "fine"


@pytest.mark.parametrize("error", ["STREAM_BROKE", {"message": "STREAM_BROKE"}])
def test_an_error_inside_a_stream_is_an_error(error: Any) -> None:
    with pytest.raises(ServerError, match="STREAM_BROKE"):
        run([events({"error": error})], streamed=True, max_retries=0)


def test_a_refused_parameter_is_left_out_from_then_on() -> None:
    refusal = {"message": "Unsupported parameter: 'stop'", "param": "stop", "code": "unsupported_parameter"}
    script = [failure(400, refusal), answer("fine"), answer("fine")]
    done = run(script, calls=2, options={"stop": ["\nObservation:"], "seed": 1})
    assert [("stop" in body, body["seed"]) for body in done.requests] == [(True, 1), (False, 1), (False, 1)]
    assert done.slept == []


def test_max_tokens_is_sent_under_the_name_the_server_takes() -> None:
    refusal = {
        "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
        "param": "max_tokens",
    }
    done = run([failure(400, refusal), answer("fine")], options={"max_tokens": 50})
    assert done.requests[1]["max_completion_tokens"] == 50
    assert "max_tokens" not in done.requests[1]


def test_stream_options_are_dropped_when_the_server_does_not_know_them() -> None:
    refusal = Entry(422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]})
    done = run([refusal, events(delta(content="fine"), delta("stop"))], streamed=True)
    assert "stream_options" not in done.requests[1]
    assert done.replies[0].usage.estimated


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            500,
            "7 validation errors: {'loc': (…, 'AssistantMessage', 'content'), 'msg': 'Input should be a valid string'}",
        ),
        (500, 'can only concatenate str (not "NoneType") to str'),
        (422, "content must be a string"),
    ],
)
def test_a_server_that_takes_no_null_content_is_sent_an_empty_text_from_then_on(status: int, message: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    messages = [
        *ASK,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "nothing"},
    ]
    done = run([failure(status, {"message": message}), answer("fine"), answer("fine")], messages, calls=2)
    assert [body["messages"][-2]["content"] for body in done.requests] == [None, "", ""]
    assert done.slept == [] and messages[-2]["content"] is None


def test_a_refusal_that_an_empty_text_does_not_mend_is_an_error() -> None:
    refusal = failure(422, {"message": "Input should be a valid string: name"})
    with pytest.raises(RequestError, match="valid string"):
        run([refusal])


def test_what_only_goes_with_tools_is_not_sent_without_them() -> None:
    options = {"tool_choice": "auto", "parallel_tool_calls": False, "seed": 1}
    (body,) = run([answer("fine")], options=options).requests
    assert body["seed"] == 1 and "tool_choice" not in body and "parallel_tool_calls" not in body


def test_one_model_serves_several_event_loops() -> None:
    with ScriptedServer([answer("one"), answer("two")]) as server:
        model = ChatModel("m", base_url=server.base_url)

        async def ask() -> str:
            async with model:
                return (await model.complete(ASK)).text

        assert [asyncio.run(ask()), asyncio.run(ask())] == ["one", "two"]


def test_proxies_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer([answer("fine")]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)

        async def ask() -> str:
            async with ChatModel("m", base_url="http://model.invalid/v1") as model:
                return (await model.complete(ASK)).text

        assert asyncio.run(ask()) == "fine"
        assert proxy.requests[0].path == "http://model.invalid/v1/chat/completions"


@pytest.mark.parametrize("streamed", [False, True])
def test_cancelling_a_call_closes_its_connection(streamed: bool) -> None:
    hanging = Entry(hang=True) if not streamed else events(delta(content="a"), done=False, hang=True)

    async def go(server: ScriptedServer) -> None:
        async with ChatModel("m", base_url=server.base_url) as model:

            async def ask() -> None:
                async with contextlib.aclosing(model.stream(ASK)) as items:
                    async for _ in items:
                        pass

            task = asyncio.create_task(ask() if streamed else model.complete(ASK))  # type: ignore[arg-type]
            await asyncio.to_thread(server.hanging.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.left.wait, 10)

    with ScriptedServer([hanging]) as server:
        asyncio.run(go(server))


@pytest.mark.parametrize(
    ("limits", "hanging", "says"),
    [
        (Timeouts(first_token=0.1), stream(": still loading\n\n", hang=True), "0.1 s to begin"),
        (0.1, stream(": still loading\n\n", hang=True), "longer than 0.1 s"),
        (Timeouts(whole=0.1), events(delta(content="a"), done=False, hang=True), "longer than 0.1 s"),
    ],
)
def test_a_server_that_hangs_is_given_up(limits: Timeouts | float, hanging: Entry, says: str) -> None:
    with pytest.raises(ServerError, match=says):
        run([hanging], streamed=True, timeout=limits, max_retries=0)


def test_an_error_behind_a_finished_stream_is_no_error() -> None:
    script = [events(delta(content="fine"), delta("stop"), {"error": {"message": "no usage"}})]
    assert run(script, streamed=True).replies[0].text == "fine"


def test_an_event_without_data_is_passed_over() -> None:
    script = [events("", delta(content="fine"), " ", delta("stop"))]
    assert run(script, streamed=True).replies[0].text == "fine"


def test_a_finished_stream_is_not_waited_for() -> None:
    script = [events(delta(content="fine"), delta("stop"), hang=True)]
    assert run(script, streamed=True).replies[0].text == "fine"


def test_a_transport_can_be_put_in_place_of_the_network() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer("fine").body))
    model = ChatModel("m", base_url="http://127.0.0.1:9", transport=transport)
    assert asyncio.run(model.complete(ASK)).text == "fine"
