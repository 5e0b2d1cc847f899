"""The few calls of Chroma's HTTP interface (version 2) that a shared memory needs.

chromadb's own client waits for ever for a server that does not answer, and cannot be closed (1.5); these calls
need httpx only. The interface is documented by every server under `/docs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import numpy as np

from .embedders import Vectors
from .errors import ServerError, StoreError

TIMEOUT = 30.0
_DATABASE = "/api/v2/tenants/default_tenant/databases/default_database"


class ChromaServer:
    """A connection to a Chroma server.

    Args:
        url: as `http://localhost:8000`; a path before `/api` is kept.
        token: sent as bearer token, and as Chroma's own `X-Chroma-Token`.

    Raises:
        ServerError: from every method, when the server is away, slower than `TIMEOUT` seconds, or refuses.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ServerError(f"{url!r} is no address of a Chroma server; give one like http://localhost:8000")
        headers = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=TIMEOUT)
        try:
            limits = self.call("GET", "/api/v2/pre-flight-checks")
        except ServerError:
            self._http.close()
            raise
        self.batch = int(limits["max_batch_size"])

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        try:
            reply = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise ServerError(
                f"no answer from the Chroma server at {self.url}: {type(error).__name__}: {error}; is it running?"
            ) from error
        if reply.is_error:
            advice = "; check the token" if reply.status_code in {401, 403} else ""
            raise ServerError(
                f"the Chroma server at {self.url} answered {reply.status_code} to {method} {path}: "
                f"{reply.text[:300]}{advice}"
            )
        try:
            return reply.json() if reply.content else None
        except ValueError as error:
            raise ServerError(f"{self.url} is no Chroma server: it answered {reply.text[:100]!r}") from error

    def collection(self, name: str, description: dict[str, Any]) -> Collection:
        """The collection of this name, made if need be, with cosine distance.

        Raises:
            StoreError: it exists with another distance.
        """
        found = self.call(
            "POST",
            f"{_DATABASE}/collections",
            {
                "name": name,
                "metadata": description,
                "configuration": {"hnsw": {"space": "cosine"}},
                "get_or_create": True,
            },
        )
        configuration = cast("dict[str, dict[str, Any] | None]", found["configuration_json"])
        check_cosine(name, configuration)
        return Collection(self, name, str(found["id"]))

    def descriptions(self) -> list[dict[str, Any]]:
        """The metadata of every collection."""
        return [found.get("metadata") or {} for found in self.call("GET", f"{_DATABASE}/collections")]

    def close(self) -> None:
        self._http.close()


class Collection:
    """One collection of a server; ids are unique in it."""

    def __init__(self, server: ChromaServer, name: str, identifier: str) -> None:
        self.id = identifier
        self._server = server
        self._name = name

    def _call(self, action: str, **body: Any) -> Any:
        return self._server.call("POST", f"{_DATABASE}/collections/{self.id}/{action}", body)

    def add(self, ids: Sequence[str], vectors: Vectors, documents: Sequence[str], metadata: dict[str, Any]) -> None:
        """Add entries; those whose id exists are ignored."""
        self._call(
            "add",
            ids=ids,
            embeddings=vectors.tolist(),
            documents=documents,
            metadatas=[metadata] * len(ids),
        )

    def upsert(self, ids: Sequence[str], vectors: Vectors) -> None:
        self._call("upsert", ids=ids, embeddings=vectors.tolist())

    def replace_documents(self, ids: Sequence[str], document: str) -> None:
        self._call("update", ids=ids, documents=[document] * len(ids))

    def delete(self, ids: Sequence[str]) -> None:
        self._call("delete", ids=ids)

    def documents(self, ids: Sequence[str]) -> dict[str, str]:
        """id -> document, of those that are there."""
        found = self._call("get", ids=ids, include=["documents"])
        return dict(zip(found["ids"], found["documents"], strict=True))

    def metadata(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        found = self._call("get", ids=ids, include=["metadatas"])
        return dict(zip(found["ids"], found["metadatas"], strict=True))

    def vectors(self, ids: Sequence[str]) -> tuple[list[str], Vectors]:
        """Ids that are there, and their vectors, shape (n, dimension)."""
        found = self._call("get", ids=ids, include=["embeddings"])
        return list(found["ids"]), np.array(found["embeddings"], dtype=np.float32)

    def present(self, ids: Sequence[str]) -> list[str]:
        return list(self._call("get", ids=ids, include=[])["ids"])

    def nearest(self, vector: Vectors, count: int) -> list[tuple[str, float]]:
        """(id, cosine) of the `count` nearest to a vector of shape (dimension,), the nearest first."""
        found = self._call("query", query_embeddings=[vector.tolist()], n_results=count, include=["distances"])
        return [
            (identifier, 1.0 - float(distance))
            for identifier, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]

    def drop(self) -> None:
        """Delete the collection."""
        self._server.call("DELETE", f"{_DATABASE}/collections/{self._name}")


def check_cosine(name: str, configuration: dict[str, dict[str, Any] | None]) -> None:
    """Refuse a collection whose distances would be taken for what they are not.

    Raises:
        StoreError: the collection does not measure by cosine.
    """
    space = (configuration.get("hnsw") or configuration.get("spann") or {}).get("space")
    if space != "cosine":
        raise StoreError(
            f"the Chroma collection {name!r} measures distance by {space!r}, not by cosine, so its scores would "
            "be wrong; delete the collection, and it is built anew from the records"
        )
