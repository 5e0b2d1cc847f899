"""How long to wait before a request is made again."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_FIRST_WAIT = 0.5  # seconds
_LONGEST_BACK_OFF = 30.0
_IN_WORDS = re.compile(
    r"(?:try again|retry) (?:in|after) (?=\d)(?:(?P<h>\d+) ?h(?:ours?)? ?)?(?:(?P<m>\d+) ?m(?:in(?:ute)?s?)? ?)?"
    r"(?:(?P<s>\d+(?:\.\d+)?) ?s(?:ec(?:ond)?s?)?|(?P<ms>\d+(?:\.\d+)?) ?ms)?\b",
    re.IGNORECASE,
)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def back_off(attempt: int, jitter: float) -> float:
    """Seconds before attempt `attempt` + 1: doubling, between half and all of it by `jitter` in [0, 1)."""
    return min(_FIRST_WAIT * 2**attempt, _LONGEST_BACK_OFF) * (0.5 + jitter / 2)


def retry_after(headers: Mapping[str, str], message: str) -> float | None:
    """Seconds the server asks to wait, in `Retry-After` (RFC 9110, 10.2.3: seconds or a date), or in words.

    A date is taken against the server's own `Date`, so that clocks that differ do not matter.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    at = _timestamp(value)
    if at is not None:
        now = _timestamp(headers.get("date"))
        return max(0.0, at - (time.time() if now is None else now))
    words = _IN_WORDS.search(message)
    said = {unit: number for unit, number in words.groupdict().items() if number} if words else {}
    return sum(float(number) * _SECONDS[unit] for unit, number in said.items()) if said else None


def _number(value: str | None) -> float | None:
    text = (value or "").strip()
    return float(text) if re.fullmatch(r"\d{1,12}(?:\.\d+)?", text) else None


def _timestamp(value: str | None) -> float | None:
    if not value:
        return None
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
