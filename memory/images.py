"""What an image in a message costs.

Rule of OpenAI's vision guide (https://platform.openai.com/docs/guides/images-vision, "Calculating costs") for the
GPT-4o family: 85 tokens at low detail; else the image is scaled into 2048 x 2048, its shorter side to at most
768 pixels, and costs 85 tokens and 170 for each tile of 512 x 512.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Mapping
from typing import Any, cast

BASE, TILE = 85, 170
_UNKNOWN_SIZE = (1024, 1024)  # a remote image: its size can't be known without loading it
_HEADER_CHARACTERS = 64 * 1024  # of base64; JPEG sizes may stand behind long metadata


def image_tokens(image_url: Any) -> int:
    """Tokens of the `image_url` value of a content part."""
    fields = cast(Mapping[str, Any], image_url) if isinstance(image_url, Mapping) else {"url": image_url}
    if fields.get("detail") == "low":
        return BASE
    width, height = _size(str(fields.get("url") or "")) or _UNKNOWN_SIZE
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return BASE + TILE * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)


def _size(url: str) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF or JPEG data URL; None where they can't be read."""
    head, _, data = url.partition(";base64,")
    if not head.startswith("data:"):
        return None
    start = data[:_HEADER_CHARACTERS]
    try:
        raw = base64.b64decode(start[: len(start) // 4 * 4])
    except binascii.Error:
        return None
    if raw.startswith(b"\x89PNG") and len(raw) >= 24:
        size = struct.unpack(">II", raw[16:24])
    elif raw.startswith(b"GIF8") and len(raw) >= 10:
        size = struct.unpack("<HH", raw[6:10])
    else:
        size = _jpeg_size(raw) if raw.startswith(b"\xff\xd8") else None
    return size if size and min(size) > 0 else None


def _jpeg_size(raw: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(raw) and raw[at] == 0xFF:
        marker, length = raw[at + 1], int.from_bytes(raw[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (
            0xC4,
            0xC8,
            0xCC,
        ):  # start of frame, see ITU-T T.81 table B.1
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None
