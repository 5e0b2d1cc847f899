"""`web_search` over a search service: a SearXNG instance, Brave or Tavily by key, or a folder of documents.

Protocols: SearXNG search API (format=json), Brave Search API (res/v1/web/search), Tavily API (POST /search).
"""

import html
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from .corpus import Corpus
from .definition import Tool, ToolError
from .results import MAX_HITS, MAX_SNIPPET, Hit, write_hits

_WANTED = 20
_SECONDS = 15.0
_TAG = re.compile(r"<[^>]{0,200}>")


class Engine(Protocol):
    """A search service: the hits for a query, best first. Raises ToolError when it does not answer."""

    async def search(self, query: str) -> list[Hit]: ...


@dataclass(frozen=True)
class SearXNG:
    """An instance of SearXNG that has the format json switched on."""

    url: str

    async def search(self, query: str) -> list[Hit]:
        answer = await _ask("SearXNG", "GET", f"{self.url.rstrip('/')}/search", params={"q": query, "format": "json"})
        return _hits("SearXNG", answer, ("results",), "content")


@dataclass(frozen=True)
class Brave:
    """The Brave Search API."""

    key: str = field(repr=False)
    url: str = "https://api.search.brave.com"

    async def search(self, query: str) -> list[Hit]:
        answer = await _ask(
            "Brave",
            "GET",
            f"{self.url}/res/v1/web/search",
            params={"q": query[:400], "count": str(_WANTED)},
            headers={"X-Subscription-Token": self.key},
        )
        return _hits("Brave", answer, ("web", "results"), "description")


@dataclass(frozen=True)
class Tavily:
    """The Tavily API."""

    key: str = field(repr=False)
    url: str = "https://api.tavily.com"

    async def search(self, query: str) -> list[Hit]:
        headers = {"Authorization": f"Bearer {self.key}"}
        body = {"query": query[:400], "max_results": _WANTED}
        answer = await _ask("Tavily", "POST", f"{self.url}/search", headers=headers, json=body)
        return _hits("Tavily", answer, ("results",), "content")


@dataclass(frozen=True)
class LocalCorpus:
    """A folder of documents in the place of the web."""

    corpus: Corpus

    async def search(self, query: str) -> list[Hit]:
        return self.corpus.search(query)


def engine_from(environment: Mapping[str, str] = os.environ) -> Engine:
    """The service that SEARXNG_URL, BRAVE_API_KEY or TAVILY_API_KEY names, in this order; else the packaged corpus."""
    if url := environment.get("SEARXNG_URL"):
        return SearXNG(url)
    if key := environment.get("BRAVE_API_KEY"):
        return Brave(key)
    if key := environment.get("TAVILY_API_KEY"):
        return Tavily(key)
    return LocalCorpus(Corpus())


def web_search_tool(engine: Engine) -> Tool:
    """`web_search` by a service."""
    reader = "fetch" if isinstance(engine, LocalCorpus) else "fetch_page"

    async def web_search(query: str) -> str:
        hits = await engine.search(query)
        return write_hits(query, hits, len(hits), f"{reader}, which takes what stands in brackets")

    return Tool(
        "web_search",
        "Use it to find pages on something you do not know. Takes a few key words. Returns at most "
        f"{MAX_HITS} pages: title, address in brackets and {MAX_SNIPPET} characters of text. Not for reading a page: "
        f"{reader} does that.",
        {
            "type": "object",
            "properties": {"query": {"type": "string", "minLength": 1, "description": "A few key words."}},
            "required": ["query"],
        },
        web_search,
        cache=300.0,
        categories=("web",),
    )


async def _ask(service: str, method: str, url: str, **request: Any) -> Any:
    import httpx

    try:
        async with httpx.AsyncClient(timeout=_SECONDS) as client:
            response = await client.request(method, url, **request)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ToolError(f"{service} does not answer ({type(error).__name__}); go on with what is known") from None
    if response.status_code in (401, 403):
        raise ToolError(
            f"{service} refuses the request (status {response.status_code}): the key or its settings are wrong"
        )
    if response.status_code >= 400:
        raise ToolError(f"{service} answered with status {response.status_code}; try again later or with other words")
    try:
        return response.json()
    except ValueError:
        raise ToolError(f"{service} did not answer with JSON; is its address right?") from None


def _hits(service: str, answer: Any, path: tuple[str, ...], snippet: str) -> list[Hit]:
    for name in path:
        answer = _member(answer, name)
    if not isinstance(answer, list):
        raise ToolError(f"{service} answered in an unknown form; is its address right?")
    rows = cast("list[Any]", answer)
    return [
        Hit(_plain(_member(row, "title")), _plain(_member(row, snippet)), str(url))
        for row in rows
        if (url := _member(row, "url"))
    ]


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _plain(text: Any) -> str:
    return html.unescape(_TAG.sub("", str(text or "")))
