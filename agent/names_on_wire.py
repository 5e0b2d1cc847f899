"""Tool names as the API takes them, and back.

The chat completions API takes names of 1 to 64 of `a-z A-Z 0-9 _ -`
(https://platform.openai.com/docs/api-reference/chat/create, `tools`); tools may be called anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]+")
_STEM = 55  # leaves room for a separator and eight digits


class WireNames:
    """A two-way map for the names of one request. Valid names stay; the others get valid, unique ones.

    A name's stand-in depends on the name alone, so that it stays the same from request to request.
    """

    def __init__(self, names: Iterable[str]) -> None:
        distinct = list(dict.fromkeys(names))
        self._sent = {name: name for name in distinct if _VALID.fullmatch(name)}
        for name in distinct:
            if name not in self._sent:
                self._sent[name] = _stand_in(name)
        self._own = {sent: name for name, sent in self._sent.items()}

    def to_wire(self, name: str) -> str:
        """The name to send."""
        return self._sent.get(name, name)

    def from_wire(self, name: str) -> str:
        """The caller's name for one in a reply."""
        return self._own.get(name, name)


def _stand_in(name: str) -> str:
    stem = _REFUSED.sub("_", name).strip("_")[:_STEM] or "tool"
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{stem}_{digest}"
