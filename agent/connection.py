"""How a model server is reached: address, key, extra headers and time-outs, from arguments and environment."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

import httpx

from .errors import ModelError
from .wire import completions_url, public_url

_VARIABLES = (
    ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"),
    ("LLM_URL", "LLM_API_KEY", "LLM_MODEL"),
)
_OPENAI = "https://api.openai.com/v1"
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
# Keys that stand for none, as the documentation of servers has them that want any (Ollama, vLLM, LM Studio, llama.cpp).
_PLACEHOLDERS = frozenset(
    (
        "any",
        "dummy",
        "empty",
        "lm-studio",
        "no-key",
        "none",
        "not-needed",
        "null",
        "ollama",
        "sk-no-key-required",
        "vllm",
    )
)
_SENDABLE = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect; to the first piece of a stream and between pieces; for the whole call with its retries."""

    connect: float = 10.0
    first_token: float = 120.0
    whole: float = 600.0


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to post, as whom. `secrets` are the texts that no message may show."""

    model: str
    url: str
    headers: dict[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def public_url(self) -> str:
        """The address, to be shown."""
        return public_url(self.url)

    def redact(self, text: str) -> str:
        """The text with every secret in it replaced."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def connection(
    model: str | None, base_url: str | None, api_key: str | None, headers: Mapping[str, str] | None
) -> Connection:
    """What the arguments say, and for what they leave out the environment.

    Address and key come from one family of variables, so that no key goes to a server it does not belong to.

    Raises:
        ModelError: no model is named, or address, key or headers cannot be used.
    """
    environment = {
        name: value for family in _VARIABLES for name in family if (value := os.environ.get(name, "").strip())
    }
    family = next((f for f in _VARIABLES if f[0] in environment), None)
    family = family or next((f for f in _VARIABLES if f[1] in environment), _VARIABLES[0])
    model = (
        model
        or environment.get(family[2])
        or next((environment[f[2]] for f in _VARIABLES if f[2] in environment), None)
    )
    if not model:
        raise ModelError("no model is named: give one, or set OPENAI_MODEL or LLM_MODEL")
    base = base_url or environment.get(family[0]) or _OPENAI
    url = completions_url(base)
    key = (api_key if api_key is not None else environment.get(family[1], "")).strip()
    sent = {"Authorization": f"Bearer {key}"} if key else _basic_authorization(base)
    sent |= dict(headers or {})
    for name, value in sent.items():
        if not _SENDABLE.fullmatch(value):
            what = "the API key" if name == "Authorization" else f"the header {name}"
            raise ModelError(f"{what} holds characters that no HTTP header can carry: copy it again")
    secret_values = [value for name, value in sent.items() if _SECRET_HEADER.search(name)]
    found = {key, *secret_values, *(value.rpartition(" ")[2] for value in secret_values)}
    secrets = (s for s in found if len(s) > 3 and s.rpartition(" ")[2].casefold() not in _PLACEHOLDERS)
    return Connection(model, url, sent, tuple(sorted(secrets, key=len, reverse=True)))


def _basic_authorization(base: str) -> dict[str, str]:
    """The header for user and password in an address."""
    user = httpx.URL(base.strip()).userinfo
    return {"Authorization": f"Basic {base64.b64encode(unquote_to_bytes(user)).decode()}"} if user else {}
