"""Which web addresses may be fetched: http and https, to hosts of the public internet only.

Reserved ranges: IANA special-purpose address registries (RFC 6890), as Python's ipaddress knows them; how hosts hide as
numbers: WHATWG URL standard, "ends in a number".
"""

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from .definition import ToolError

_MAX_LENGTH = 2_000
_UNSAFE = re.compile(r"[\s\\\x00-\x1f\x7f]")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_TRANSLATED = [  # IPv6 ranges that carry an IPv4 address: the range, and how far it stands from the right end
    (ipaddress.ip_network("64:ff9b::/96"), 0),
    (ipaddress.ip_network("64:ff9b:1::/48"), 0),
    (ipaddress.ip_network("::/96"), 0),
    (ipaddress.ip_network("2002::/16"), 80),
]
_UNICAST = ipaddress.ip_network("2000::/3")  # all that IANA gives out; site-local and other old ranges stand beside it


def checked_host(url: str) -> str:
    """The host of an address that may be asked for; that its IP addresses are public is still to be checked.

    Raises ToolError for other schemes, credentials, and hosts that are written to mislead.
    """
    if len(url) > _MAX_LENGTH or _UNSAFE.search(url):
        raise ToolError(
            f"the address {url[:80]!r} holds a space, backslash or control sign, or is too long; write it plain"
        )
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ToolError(f"{url[:200]!r} is not a web address: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise ToolError(f"{url[:200]!r}: only addresses that begin with http:// or https:// can be fetched")
    if "@" in parts.netloc:
        raise ToolError("an address with a user name or password is not fetched; leave them out")
    name = _ascii_name(host or "", url)
    if ":" not in name and _NUMBER.fullmatch(name.rpartition(".")[2]):
        try:
            ipaddress.IPv4Address(name)
        except ValueError:
            raise ToolError(f"{url[:200]!r}: write an IP address in its usual form, such as 192.0.2.1") from None
    return name


def _ascii_name(host: str, url: str) -> str:
    try:
        name = host if ":" in host else host.encode("idna").decode("ascii")
    except UnicodeError:
        name = ""
    name = name.lower().rstrip(".")
    if not name or "%" in name:
        raise ToolError(f"{url[:200]!r} names no host that could be asked")
    return name


def refuse_private(host: str, addresses: Sequence[str]) -> None:
    """Raises ToolError when one of a host's IP addresses is not of the public internet."""
    if host == "localhost" or host.endswith(".localhost") or not all(map(is_public, addresses)):
        raise ToolError(f"{host} is not a public address; only pages of the public internet can be fetched")


def is_public(address: str) -> bool:
    """Whether an IP address is of the public internet, also when it is an IPv4 address inside an IPv6 one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        for network, shift in _TRANSLATED:
            if ip in network:
                return is_public(str(ipaddress.IPv4Address((int(ip) >> shift) & 0xFFFFFFFF)))
        if ip.teredo is not None or ip not in _UNICAST:
            return False
    return ip.is_global and not ip.is_multicast
