"""What is in sight: whether a value stands in any of the texts of a context."""

from __future__ import annotations

from collections.abc import Iterable


class Sight:
    """The texts in sight; `value in sight` where one of them holds it.

    A context changes little from one look to the next, so what was not found at the last one is searched for only in
    the texts that came since.
    """

    def __init__(self) -> None:
        self._looks = 0
        self._came: dict[str, int] = {}  # the texts, and the look at which each came
        self._later: dict[int, str] = {}  # those that came after a look, as one text
        self._absent: dict[str, int] = {}  # values that no text holds, and the look that found it
        self._absent_before: dict[str, int] = {}

    def look(self, texts: Iterable[str]) -> Sight:
        """Take the texts that are in sight now in the place of those before."""
        self._looks += 1
        self._came = {text: self._came.get(text, self._looks) for text in texts}
        self._later.clear()
        self._absent_before, self._absent = self._absent, {}
        return self

    def __contains__(self, value: str) -> bool:
        known = self._absent_before.get(value, 0)
        later = self._later.get(known)
        if later is None:
            later = self._later[known] = "\n".join(text for text, came in self._came.items() if came > known)
        if value in later:
            return True
        self._absent[value] = self._looks
        return False
