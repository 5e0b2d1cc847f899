"""`now`: the date and time, which a model cannot know."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .definition import Tool, ToolError


def _now(timezone: str = "") -> str:
    if not timezone.strip():
        return datetime.now(UTC).strftime("%A, %Y-%m-%d %H:%M:%S UTC")
    try:
        zone = ZoneInfo(timezone.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(f"there is no time zone {timezone[:60]!r}; write one such as Asia/Shanghai") from None
    return datetime.now(zone).strftime(f"%A, %Y-%m-%d %H:%M:%S {timezone.strip()} (UTC%z)")


now_tool = Tool(
    "now",
    "Use it when the answer depends on today's date or the time. Takes a time zone such as Asia/Shanghai, or nothing "
    "for UTC. Returns weekday, date and time. Not for dates of the past.",
    {"type": "object", "properties": {"timezone": {"type": "string", "description": "An IANA name of a time zone."}}},
    _now,
    volatile=True,
    categories=("time",),
)
