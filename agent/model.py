"""ChatModel: a client for chat completions as OpenAI, vLLM, llama.cpp, Ollama and most others serve them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import httpx

from .reply import Delta, Reply, Usage

__all__ = ["ChatModel", "Delta", "Reply", "Timeouts", "Usage"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect; to the first token of a stream and between its pieces; for the whole call."""

    connect: float = 10.0
    first_token: float = 120.0
    whole: float = 600.0


class ChatModel:
    """One model on one server; safe to use from several tasks at once."""

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
        echo_reasoning: Literal["never", "tool_turns"] = "never",
        count_tokens: Callable[[list[dict[str, Any]], list[dict[str, Any]] | None], int] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        raise NotImplementedError

    async def complete(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **options: Any
    ) -> Reply:
        """Ask for one reply; `options` (`temperature`, `stop`, `seed`, `response_format`, …) are passed on."""
        raise NotImplementedError

    def stream(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **options: Any
    ) -> AsyncIterator[Delta | Reply]:
        """The reply in pieces as it is written; the last item is the whole `Reply`."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()
