"""ChatModel: a client for chat completions as OpenAI, vLLM, llama.cpp, Ollama and most others serve them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Self
from weakref import WeakKeyDictionary

import httpx

from ..memory.tokens import TokenCounter
from .answers import Answer, AnswerReader, Deadline, ParameterRefusedError
from .connection import Connection, Timeouts, connection
from .errors import ModelError, ProtocolError, ServerError, UnreachableError
from .reply import REASONING_KEYS, Delta, Reply, Usage
from .retries import back_off
from .wire import EchoReasoning, WireNames, encode, request_body, wire_names, without_null

__all__ = ["ChatModel", "Delta", "Reply", "Timeouts", "Usage"]

_LOG = logging.getLogger(__name__)
_TRUNCATED_BELOW = 0.5  # reported over counted tokens; tokenizers differ by less
_TRUNCATED_BY = 256  # tokens; below that, framing may be the difference
_CONNECT_RETRIES = 2  # a server that is not there seldom comes within seconds
_ONLY_WITH_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})  # refused where a request has none
_REASONING = re.compile(rf"\b(?:{'|'.join(REASONING_KEYS)})\b")
_CALLED = ("tool_calls", "function_call")
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


class ChatModel:
    """One model on one server; safe to use from several tasks at once.

    Args:
        model: its name; else from `OPENAI_MODEL` or `LLM_MODEL`.
        base_url: with or without `/v1`; else from `OPENAI_BASE_URL` or `LLM_URL`, else OpenAI's.
        api_key: else from `OPENAI_API_KEY` or `LLM_API_KEY`.
        timeout: `Timeouts`, or seconds for the whole call.
        transport: the seam for tests; proxies come from the environment, as httpx reads it.
        max_retries: how often a request is made again after an error that may pass.
        max_wait: seconds that one call may spend waiting between its tries.
        headers: sent with every request.
        echo_reasoning: whether a turn's reasoning goes back with its calls: `auto` (only once the server has asked for
            it, as DeepSeek does, and no longer once it has refused it), `tool_turns` (from the start), `never`.
        count_tokens: counts messages and tools, for servers that report no usage or cut the prompt.
        sleep, jitter: the clock and the dice of the back-off.

    Raises:
        ModelError: no model is named, or address, key or headers cannot be used.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | Timeouts | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        max_retries: int = 4,
        max_wait: float = 60.0,
        headers: Mapping[str, str] | None = None,
        echo_reasoning: EchoReasoning = "auto",
        count_tokens: Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]] | None], int] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._connection: Connection = connection(model, base_url, api_key, headers)
        self.model = self._connection.model
        self.echo_reasoning: EchoReasoning = echo_reasoning
        self._echoes = echo_reasoning == "tool_turns"
        self._timeouts = _timeouts(timeout)
        self._transport = transport
        self._max_retries = max_retries
        self._max_wait = max_wait
        self._count_tokens = count_tokens or self._count
        self._sleep = sleep
        self._jitter = jitter
        self._refused: dict[str, str | None] = {}
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()
        self._counter: TokenCounter | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key and other secret texts of the connection, for those who must not write them anywhere."""
        return self._connection.secrets

    def __repr__(self) -> str:
        return f"ChatModel({self.model!r}, base_url={self._connection.public_url!r})"

    async def complete(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **options: Any
    ) -> Reply:
        """Ask for one reply; `options` (`temperature`, `stop`, `seed`, `response_format`, …) are passed on.

        An option that the server refuses is left out, of this and all later requests.

        Raises:
            ModelError: of the tree in `errors`; a retryable one was tried again before.
        """
        async with contextlib.aclosing(self._call(messages, tools, options, streamed=False)) as items:
            async for item in items:
                if isinstance(item, Reply):
                    return item
        raise AssertionError("a call ends with a reply or an error")

    def stream(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **options: Any
    ) -> AsyncGenerator[Delta | Reply, None]:
        """The reply in pieces as it is written; the last item is the whole `Reply`.

        A stream that breaks is begun again, which a `Delta` with `restarted` says. Close the generator
        (`contextlib.aclosing`) when you leave it early.

        Raises:
            ModelError: as `complete`.
        """
        return self._call(messages, tools, options, streamed=True)

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def _call(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        options: Mapping[str, Any],
        *,
        streamed: bool,
    ) -> AsyncGenerator[Delta | Reply, None]:
        """Requests until one is answered. What is sent is counted first, so that a bad message is sent to nobody."""
        sent_tokens = self._count_tokens(messages, tools)
        names = wire_names(messages, tools)
        body = {"model": self.model} | request_body(messages, tools, names, self._echoes)
        left_out = () if tools else _ONLY_WITH_TOOLS
        optional = {key: value for key, value in options.items() if value is not None and key not in left_out}
        if streamed:
            body["stream"] = True
            optional["stream_options"] = {"include_usage": True}
        whole_at = asyncio.get_running_loop().time() + self._timeouts.whole
        tries, waited, shown, turned = 0, 0.0, False, False
        while True:
            try:
                request = (without_null(body) if "content" in self._refused else body) | self._accepted(optional)
                async with contextlib.aclosing(self._exchange(request, names, whole_at)) as items:
                    async for item in items:
                        if isinstance(item, Answer):
                            yield self._reply(item, sent_tokens, optional)
                            return
                        shown = True
                        yield item
            except ParameterRefusedError as refusal:
                self._leave_out(refusal.parameter)
            except ModelError as error:
                if not turned and self._is_about_echo(error):
                    turned, self._echoes = True, not self._echoes
                    body |= request_body(messages, tools, names, self._echoes)
                    continue
                wait = self._wait_after(error, tries, waited)
                if wait is None:
                    raise
                if shown:
                    shown = False
                    yield Delta(restarted=True)
                tries, waited = tries + 1, waited + wait
                await self._sleep(wait)

    async def _exchange(
        self, request: dict[str, Any], names: WireNames, whole_at: float
    ) -> AsyncGenerator[Delta | Answer, None]:
        """One request and its answer; every failure of the transport comes out as a ModelError."""
        streamed = "stream" in request
        deadline = Deadline(whole_at, self._timeouts.first_token if streamed else None)
        client, where = self._client(), self._connection
        said = f"{where.public_url} (model {self.model})"
        prepared = client.build_request(
            "POST", where.url, content=encode(request), headers={"Content-Type": "application/json", **where.headers}
        )
        try:
            async with asyncio.timeout_at(deadline.at):
                response = await client.send(prepared, stream=True)
            async with contextlib.aclosing(response):
                reader = AnswerReader(where, request, names, deadline)
                async with contextlib.aclosing(reader.read(response)) as items:
                    async for item in items:
                        yield item
        except TimeoutError as error:
            limit = f"{self._timeouts.whole:g} s" if deadline.is_whole else f"{self._timeouts.first_token:g} s to begin"
            raise ServerError(
                f"{said} took longer than {limit} — give it more time (timeout=), or ask for less",
                retryable=not deadline.is_whole,
            ) from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
            raise UnreachableError(
                f"{said} cannot be reached ({where.redact(str(error)) or 'no connection'}) — check that the server "
                "runs and that base_url is right"
            ) from error
        except httpx.DecodingError as error:
            raise ProtocolError(f"{said} sent a body that cannot be decompressed", retryable=True) from error
        except httpx.TransportError as error:
            what = where.redact(str(error)) or type(error).__name__
            raise ServerError(f"{said} broke off the connection ({what}) — try again") from error

    def _client(self) -> httpx.AsyncClient:
        """The connections of the running event loop; they cannot be used from another."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None or client.is_closed:
            limits = self._timeouts
            timeout = httpx.Timeout(limits.whole, connect=limits.connect)
            client = self._clients[loop] = httpx.AsyncClient(transport=self._transport, timeout=timeout)
        return client

    def _accepted(self, optional: Mapping[str, Any]) -> dict[str, Any]:
        """The options, without those that the server has refused or under the names it takes."""
        renamed = {self._refused.get(key, key): value for key, value in optional.items()}
        return {key: value for key, value in renamed.items() if key is not None}

    def _leave_out(self, parameter: str) -> None:
        original = next((key for key, other in self._refused.items() if other == parameter), None)
        if original is not None:
            self._refused[original] = None
        else:
            self._refused[parameter] = _OTHER_NAME.get(parameter)
        _LOG.warning("%r: the server refuses %r as it was sent; it is left out or sent in another way", self, parameter)

    def _is_about_echo(self, error: ModelError) -> bool:
        """Whether the server asks for the reasoning that it was not sent, or refuses what it was sent."""
        return self.echo_reasoning == "auto" and error.status in (400, 422) and bool(_REASONING.search(str(error)))

    def _wait_after(self, error: ModelError, tries: int, waited: float) -> float | None:
        """Seconds until the next try, None when there is none.

        Raises:
            ModelError: the server asks for a longer wait than is allowed.
        """
        allowed = min(self._max_retries, _CONNECT_RETRIES) if isinstance(error, UnreachableError) else self._max_retries
        if not error.retryable or tries >= allowed:
            return None
        asked = error.retry_after
        if asked is None:
            wait = back_off(tries, self._jitter())
            return wait if waited + wait <= self._max_wait else None
        if waited + asked > self._max_wait:
            message = f"{error}; it asks to wait {asked:g} s, longer than max_wait={self._max_wait:g}"
            raise type(error)(message, status=error.status, retry_after=asked) from error
        return asked + min(asked, 1.0) * self._jitter() / 2  # late rather than early, and not all at once

    def _reply(self, answer: Answer, sent_tokens: int, options: Mapping[str, Any]) -> Reply:
        usage, finish_reason, warnings = answer.usage, answer.finish_reason, ()
        room = next((options[name] for name in _OTHER_NAME if name in options), None)
        if usage and room and usage.completion_tokens >= room and finish_reason in _CALLED:
            finish_reason = "length"  # vLLM says so of calls that the limit has cut off
        if usage is None:
            usage = Usage(sent_tokens, self._count_tokens([answer.message], None), estimated=True)
        elif usage.prompt_tokens < sent_tokens * _TRUNCATED_BELOW and sent_tokens - usage.prompt_tokens > _TRUNCATED_BY:
            warnings = (
                f"context_truncated_by_server: about {sent_tokens} tokens were sent, the server read "
                f"{usage.prompt_tokens}; raise its context length, or lower the budget",
            )
            _LOG.warning("%r: %s", self, warnings[0])
        return Reply(answer.message, finish_reason, usage, answer.model or self.model, warnings)

    def _count(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None) -> int:
        if self._counter is None:
            self._counter = TokenCounter(self.model)
        return self._counter.messages(messages) + self._counter.tools(tools)


def _timeouts(timeout: float | Timeouts | None) -> Timeouts:
    if isinstance(timeout, Timeouts):
        return timeout
    usual = Timeouts()
    if timeout is None:
        return usual
    return Timeouts(min(usual.connect, timeout), min(usual.first_token, timeout), timeout)
