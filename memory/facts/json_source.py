"""JSON as a source: which key a value belongs to, and the path to it (`flights[0].price`)."""

from __future__ import annotations

import re
from bisect import bisect_right

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\],]')
_START = re.compile(r"\s*(?:```(?:json)?\s*)?[{\[]")
MAX_KEY = 60


def looks_like_json(text: str) -> bool:
    """True when the text begins like a JSON object or list that holds quoted keys or values."""
    return _START.match(text) is not None and '"' in text[:400]


def key_before(text: str, colon: int, floor: int) -> str | None:
    """The key that ends with the quote just before `colon`, as in `"total": `."""
    close = colon - 1
    while close > floor and text[close] == " ":
        close -= 1
    quote = text[close : close + 1]
    if quote not in ('"', "'"):
        return None
    opening = text.rfind(quote, max(floor, close - MAX_KEY), close)
    return text[opening + 1 : close] if opening >= 0 else None


class JsonIndex:
    """The path of every place of a JSON text; built in one pass, also for broken or cut JSON."""

    __slots__ = ("_paths", "_places")

    def __init__(self, text: str) -> None:
        self._places: list[int] = []
        self._paths: list[tuple[str, ...]] = []
        stack: list[str | int] = []
        path: list[str] = []
        for match in _TOKEN.finditer(text):
            mark = match[0]
            if mark == "{" or mark == "[":
                path.append("" if mark == "{" else "[0]")
                stack.append(-1 if mark == "{" else 0)
                self._note(match.end(), path)
            elif mark == "}" or mark == "]":
                if stack:
                    stack.pop()
                    path.pop()
                self._note(match.end(), path)
            elif mark == ",":
                if stack and isinstance(stack[-1], int) and stack[-1] >= 0:
                    stack[-1] += 1
                    path[-1] = f"[{stack[-1]}]"
                    self._note(match.end(), path)
            elif match[2] is not None and path:
                path[-1] = match[1][:MAX_KEY]
                self._note(match.end(), path)

    def _note(self, place: int, path: list[str]) -> None:
        self._places.append(place)
        self._paths.append(tuple(path[-4:]))

    def path(self, pos: int) -> str:
        """The path to the value at `pos`, its last four steps at most."""
        index = bisect_right(self._places, pos) - 1
        if index < 0:
            return ""
        out = ""
        for step in self._paths[index]:
            if step:
                out += step if step.startswith("[") else ("." if out else "") + step
        return out
