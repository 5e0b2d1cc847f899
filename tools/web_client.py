"""Gets one page from the web, within limits of bytes, time and redirects, from public addresses only.

A host is resolved once; every one of its addresses is checked, and the connection goes to a checked one, so a name that
resolves differently the next moment (DNS rebinding) leads nowhere. Proxies of the environment are not used.
"""

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import httpcore

from .addresses import checked_host, refuse_private
from .definition import ToolError

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""From a host name and a port to its IP addresses. Raises OSError when there is none."""

_MAX_REDIRECTS = 5
_MAX_ENCODED_CHUNK = 65_536
_REDIRECTS = {301, 302, 303, 307, 308}
_MAX_ADDRESSES = 4
_HEADERS = [
    ("User-Agent", "carryforward"),
    ("Accept", "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.1"),
    ("Accept-Encoding", "gzip"),
]


@dataclass(frozen=True)
class Page:
    """What a server sent: the address after redirects, the type without parameters, the decoded body."""

    url: str
    type: str
    charset: str | None
    body: bytes
    cut: bool
    """Whether the body was longer than the limit."""


async def resolve(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class WebClient:
    """`allow` names hosts that may have private addresses; `seconds` and `max_bytes` are for a page as a whole."""

    def __init__(
        self,
        *,
        allow: Collection[str] = (),
        seconds: float = 20.0,
        max_bytes: int = 5_000_000,
        resolver: Resolver = resolve,
    ) -> None:
        self._allow = {host.lower() for host in allow}
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._resolver = resolver

    async def get(self, url: str) -> Page:
        """The page at an address. Raises ToolError, in one line, when there is none to be had."""
        backend = _CheckedBackend(self._resolver, self._allow)
        pool = httpcore.AsyncConnectionPool(ssl.create_default_context(), network_backend=backend)
        try:
            async with asyncio.timeout(self._seconds), pool:
                return await self._follow(pool, url)
        except TimeoutError:
            raise ToolError(f"{url[:200]} did not arrive within {self._seconds:g} s; try another page") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError) as error:
            raise ToolError(f"{url[:200]} could not be fetched: {error or type(error).__name__}") from None

    async def _follow(self, pool: httpcore.AsyncConnectionPool, url: str) -> Page:
        for _ in range(_MAX_REDIRECTS + 1):
            checked_host(url)
            async with pool.stream("GET", _ascii_url(url), headers=_HEADERS) as response:
                headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                if response.status in _REDIRECTS and "location" in headers:
                    url = urljoin(url, headers["location"])
                    continue
                if response.status >= 400:
                    raise ToolError(f"{url[:200]} answered with status {response.status}; check the address")
                kind, _, parameters = headers.get("content-type", "").partition(";")
                charset = parameters.partition("charset=")[2].partition(";")[0].strip("\"' ") or None
                body, cut = await self._read(response.aiter_stream(), headers.get("content-encoding", ""))
                return Page(url, kind.strip().lower(), charset, body, cut)
        raise ToolError(f"{url[:200]} redirects more than {_MAX_REDIRECTS} times; try another page")

    async def _read(self, stream: AsyncIterable[bytes], encoding: str) -> tuple[bytes, bool]:
        """The body up to the limit, counted after decompression, and whether there was more."""
        decode = _decoder(encoding.strip().lower())
        body = bytearray()
        async for chunk in stream:
            for start in range(0, len(chunk), _MAX_ENCODED_CHUNK):
                body += decode(chunk[start : start + _MAX_ENCODED_CHUNK], self._max_bytes + 1 - len(body))
                if len(body) > self._max_bytes:
                    return bytes(body[: self._max_bytes]), True
        return bytes(body), False


def _decoder(encoding: str) -> Callable[[bytes, int], bytes]:
    """Decodes a chunk to at most so many bytes."""
    if encoding in ("", "identity"):
        return lambda chunk, most: chunk[:most]
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(f"the page is compressed as {encoding[:20]!r}, which was not asked for; try another page")
    inflate = zlib.decompressobj(wbits=47)  # a gzip or a zlib header

    def decode(chunk: bytes, most: int) -> bytes:
        try:
            return inflate.decompress(chunk, max(1, most))
        except zlib.error:
            raise ToolError("the page's compression is broken; try another page") from None

    return decode


def _ascii_url(url: str) -> str:
    import httpx

    try:
        return str(httpx.URL(url).copy_with(fragment=None))
    except httpx.InvalidURL as error:
        raise ToolError(f"{url[:200]!r} is not a web address: {error}") from None


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to hosts whose addresses have been checked, by address; TLS still names the host."""

    def __init__(self, resolver: Resolver, allow: Collection[str]) -> None:
        self._resolver = resolver
        self._allow = allow
        self._inner: Any = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        name = host.lower().strip("[]").rstrip(".")
        addresses = await self._resolver(name, port)
        failure = httpcore.ConnectError(f"{name} has no address")
        if name not in self._allow:
            refuse_private(name, addresses)
        for address in addresses[:_MAX_ADDRESSES]:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError as error:
                failure = error
        raise failure
