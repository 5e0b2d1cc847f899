"""What the chat client makes of failures: the right error, tried again or not, with no key in it."""

from __future__ import annotations

import asyncio
import gzip
import logging
import socket
import traceback
from typing import Any

import httpx
import pytest
from carryforward.agent.connection import connection
from carryforward.agent.errors import (
    AuthenticationError,
    ContextTooLongError,
    ModelError,
    ProtocolError,
    RateLimitError,
    RequestError,
    ServerError,
    ToolsUnsupportedError,
    UnreachableError,
)
from carryforward.agent.model import ChatModel
from carryforward.agent.retries import back_off, retry_after
from carryforward.agent.wire import completions_url
from hypothesis import given
from hypothesis import strategies as st

from .scripted_server import Entry, ScriptedServer, answer, failure
from .test_model import ASK, CLOCK, run

KEY = "sk-very-secret-0123456789"


def error_of(*script: Entry, **settings: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        run(script, **settings)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_wait_the_server_asks_for_is_kept() -> None:
    done = run([failure(429, {"message": "slow down"}, Retry_After="2"), answer("fine")])
    assert (len(done.requests), done.replies[0].text) == (2, "fine")
    assert 2 <= done.slept[0] <= 4


def test_a_wait_until_a_date_is_measured_on_the_servers_clock() -> None:
    headers = {"retry-after": "Wed, 21 Oct 2015 07:28:03 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    assert retry_after(headers, "") == 3
    assert retry_after({**headers, "date": "Wed, 21 Oct 2015 07:29:00 GMT"}, "") == 0


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({}, "Please try again in 1.2s.", 1.2),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please try again in 1m30.5s.", 90.5),
        ({}, "Please retry in 12.5 seconds", 12.5),
        ({}, "try again in 2 minutes", 120.0),
        ({}, "Try again after 1h2m", 3720.0),
        ({}, "try again in a moment", None),
        ({}, "try again in 3 months", None),
        ({"retry-after": "soon"}, "later", None),
        ({"retry-after": "-5"}, "", None),
    ],
)
def test_a_wait_is_read_wherever_it_is_said(headers: dict[str, str], message: str, seconds: float | None) -> None:
    assert retry_after(headers, message) == seconds


def test_a_wait_of_a_day_is_refused_and_named() -> None:
    error = error_of(failure(429, {"message": "quota"}, Retry_After="86400"), max_wait=60)
    assert isinstance(error, RateLimitError)
    assert "86400" in str(error) and error.retry_after == 86400


@given(st.integers(0, 1000), st.floats(0, 1, exclude_max=True))
def test_back_off_grows_and_is_bounded(attempt: int, jitter: float) -> None:
    assert 0 < back_off(attempt, jitter) <= 30
    assert back_off(attempt, jitter) <= back_off(attempt + 1, jitter)


def test_all_waits_of_a_call_together_stay_within_the_limit() -> None:
    entries = [failure(503, "busy", Retry_After="25") for _ in range(9)]
    with pytest.raises(ServerError) as caught:
        run(entries, max_wait=60, max_retries=9)
    assert caught.value.status == 503


@pytest.mark.parametrize(
    "body",
    [
        {"id": "x", "choices": None, "error": {"message": "upstream quota exceeded", "code": 429}},
        {"error": {"message": "upstream quota exceeded", "code": None}},
        {"error": "upstream quota exceeded"},
        {"object": "error", "message": "upstream quota exceeded", "code": 503},
        {"choices": [{"message": {"content": ""}, "error": {"message": "upstream quota exceeded", "code": 502}}]},
        [{"error": {"message": "upstream quota exceeded"}}],
        {"error": {"error": {"message": "upstream quota exceeded"}}},
        {"base_resp": {"status_code": 1002, "status_msg": "upstream quota exceeded"}, "choices": None},
    ],
)
def test_an_error_in_a_good_status_is_an_error_that_may_pass(body: Any) -> None:
    assert run([Entry(body=body), answer("fine")]).replies[0].text == "fine"
    error = error_of(Entry(body=body), max_retries=0)
    assert "upstream quota exceeded" in str(error) and error.retryable


def test_a_web_page_is_named_with_its_content_type_and_not_asked_for_again() -> None:
    page = Entry(body="<html>Sign in</html>", headers={"Content-Type": "text/html"})
    error = error_of(page)
    assert isinstance(error, ProtocolError)
    assert "text/html" in str(error) and "Sign in" in str(error)


@pytest.mark.parametrize(
    "body", ["", '{"choices": [{"mess', "null", "[]", "{}", '{"choices": []}', '{"choices": [{}]}']
)
def test_a_body_that_is_no_completion_is_asked_for_again(body: str) -> None:
    assert run([Entry(body=body), answer("fine")]).replies[0].text == "fine"
    assert isinstance(error_of(Entry(body=body), max_retries=0), ProtocolError)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            400,
            {
                "error": {
                    "message": "maximum context length is 8192 tokens, messages have 9120",
                    "code": "context_length_exceeded",
                }
            },
        ),
        (400, {"object": "error", "message": "This model's maximum context length is 8192 tokens, 9500 requested"}),
        (
            500,
            {
                "error": {
                    "message": "the request exceeds the available context size",
                    "type": "exceed_context_size_error",
                }
            },
        ),
        (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
        (400, {"error": {"message": "The input token count (5) exceeds the maximum number of tokens allowed (4)."}}),
        (413, {"error": {"message": "Request too large for model on tokens per minute"}}),
        (
            429,
            {"error": {"message": "Request too large for m. The input or output tokens must be reduced", "code": "x"}},
        ),
        (400, {"error": {"message": "输入超过模型的最大长度"}}),
        (400, {"error": "This model's maximum prompt length is 131072 but the request contains 200000 tokens."}),
        (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097."}),
        (400, {"error": {"message": "Your request exceeded model token limit: 8192"}}),
        (400, {"error": {"message": "The decoder prompt is longer than the maximum model length of 4096."}}),
        (400, {"error": {"message": "ContextWindowExceededError"}}),
        (400, {"message": "The prompt (total length 9000) is too long to fit into the model (context length 8192)"}),
        (400, {"error": "model requires more context: prompt has 9000 tokens"}),
        (400, {"error": {"message": "20000 exceeds 12288", "code": "model_max_prompt_tokens_exceeded"}}),
        (200, {"error": {"message": "context length exceeded", "code": 400}}),
    ],
)
def test_a_context_that_is_too_long_is_told_from_a_failing_server(status: int, body: Any) -> None:
    assert isinstance(error_of(Entry(status, body)), ContextTooLongError)


@pytest.mark.parametrize(
    "message",
    [
        "registry.ollama.ai/library/gemma does not support tools",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "No endpoints found that support tool use.",
        "tools param requires --jinja flag",
        "Function calling is not supported by this model",
        "`tool calling` is not supported with this model",
    ],
)
def test_a_server_without_native_tools_is_told_apart(message: str) -> None:
    error = error_of(failure(404 if "endpoints" in message else 400, {"message": message}), tools=[CLOCK])
    assert isinstance(error, ToolsUnsupportedError)


def test_a_server_that_takes_no_tools_parameter_is_one_without_native_tools() -> None:
    refusal = {
        "detail": [{"type": "extra_forbidden", "loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]
    }
    assert isinstance(error_of(Entry(422, refusal), tools=[CLOCK]), ToolsUnsupportedError)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (401, {"message": f"Incorrect API key provided: {KEY}"}, AuthenticationError),
        (403, "forbidden", AuthenticationError),
        (402, {"message": "no credits"}, AuthenticationError),
        (404, {"message": "The model `m` does not exist"}, RequestError),
        (
            400,
            {"message": "max_tokens is too large: 9. This model supports at most 4", "param": "max_tokens"},
            RequestError,
        ),
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, RateLimitError),
        (308, "moved", RequestError),
    ],
)
def test_what_would_fail_again_is_not_tried_again(status: int, error: Any, kind: type[ModelError]) -> None:
    found = error_of(failure(status, error), api_key=KEY, options={"max_tokens": 9})
    assert type(found) is kind and not found.retryable
    assert found.status == status and KEY not in str(found)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    page = Entry(status, "<html><title>Bad gateway</title></html>", {"Content-Type": "text/html"})
    assert run([page, page, answer("fine")]).replies[0].text == "fine"


def test_tries_are_counted() -> None:
    with ScriptedServer([failure(500, "down")] * 9) as server:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        async def go() -> None:
            async with ChatModel("m", base_url=server.base_url, max_retries=3, sleep=sleep) as model:
                await model.complete(ASK)

        with pytest.raises(ServerError):
            asyncio.run(go())
        assert (len(server.requests), len(slept)) == (4, 3)
        assert slept == sorted(slept)


def test_an_unreachable_server_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        model = ChatModel("m", base_url=url, max_retries=0)
        with pytest.raises(UnreachableError, match=url):
            asyncio.run(model.complete(ASK))


def test_a_body_that_cannot_be_decompressed_is_a_protocol_error() -> None:
    broken = httpx.Response(
        200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(gzip.compress(b"{}")[5:])
    )
    model = ChatModel("m", base_url="http://h/v1", transport=httpx.MockTransport(lambda _: broken), max_retries=0)
    with pytest.raises(ProtocolError):
        asyncio.run(model.complete(ASK))


@pytest.mark.parametrize(
    "failure_class", [httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError, httpx.ReadTimeout]
)
def test_a_connection_that_breaks_is_a_server_error(failure_class: type[httpx.TransportError]) -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise failure_class("gone", request=request)

    model = ChatModel("m", base_url="http://h/v1", transport=httpx.MockTransport(broken), max_retries=0)
    with pytest.raises(ServerError):
        asyncio.run(model.complete(ASK))


def test_the_key_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedServer(
        [failure(400, {"message": f"Bearer {KEY} unknown parameter: 'seed'"}), failure(401, KEY)]
    ) as server:
        base = server.base_url.replace("http://", f"http://user:{KEY}@")
        model = ChatModel("m", base_url=base, api_key=KEY)

        async def ask() -> None:
            async with model:
                await model.complete(ASK, seed=1)

        with pytest.raises(AuthenticationError) as caught:
            asyncio.run(ask())
        assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    shown = repr(model) + caplog.text + "".join(traceback.format_exception(caught.value))
    assert KEY not in shown


@pytest.mark.parametrize("key", ["sk-ключ-12345678", "sk-with\nnewline-inside"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ModelError, match="API key") as caught:
        ChatModel("m", base_url="http://h/v1", api_key=key)
    assert key[3:] not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/chat/completions"),
        ("http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/chat/completions"),
        ("http://127.0.0.1:9/api/v1//", "http://127.0.0.1:9/api/v1/chat/completions"),
        ("http://127.0.0.1:9/v1/chat/completions", "http://127.0.0.1:9/v1/chat/completions"),
        ("http://127.0.0.1:9/v1/chat/completions/", "http://127.0.0.1:9/v1/chat/completions"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9/v1/chat/completions"),
        (" http://127.0.0.1:9/ ", "http://127.0.0.1:9/v1/chat/completions"),
        ("https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
        ("https://h/openai?api-version=1", "https://h/openai/chat/completions?api-version=1"),
    ],
)
def test_base_urls_of_all_shapes(base: str, url: str) -> None:
    assert completions_url(base) == url


@pytest.mark.parametrize("base", ["localhost:8000", "ftp://h", "http://", "http://[::1", "http://h:99999999", "x y"])
def test_an_address_that_is_none_is_refused(base: str) -> None:
    with pytest.raises(ModelError, match="base_url"):
        completions_url(base)


def test_user_and_password_of_an_address_are_sent_as_a_header() -> None:
    found = connection("m", "http://me:pass%20word@h/v1", "", None)
    assert found.url == "http://h/v1/chat/completions"
    assert found.headers == {"Authorization": "Basic bWU6cGFzcyB3b3Jk"}


def test_address_and_key_come_from_one_family_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "LLM_URL", "LLM_API_KEY", "LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match="OPENAI_MODEL"):
        connection(None, None, None, None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai")
    monkeypatch.setenv("LLM_URL", "http://other/v1")
    monkeypatch.setenv("LLM_MODEL", "small")
    found = connection(None, None, None, None)
    assert (found.model, found.url) == ("small", "http://other/v1/chat/completions")
    assert "Authorization" not in found.headers
    monkeypatch.setenv("OPENAI_BASE_URL", "http://first/v1/")
    assert connection("big", None, None, None).headers["Authorization"] == "Bearer sk-for-openai"
