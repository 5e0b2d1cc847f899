"""Where a memory is kept when the user does not say."""

from __future__ import annotations

import hashlib
from pathlib import Path

from platformdirs import user_cache_path, user_data_path

APP = "carryforward"


def default_folder() -> Path:
    """The user's data folder of this system, for example `~/.local/share/carryforward/long-term`."""
    return user_data_path(APP, appauthor=False) / "long-term"


def replica_folder(url: str) -> Path:
    """The folder of this machine's replica of a server's memory; a cache."""
    digest = hashlib.sha256(url.rstrip("/").encode()).hexdigest()
    return user_cache_path(APP, appauthor=False) / f"server-{digest[:16]}"
