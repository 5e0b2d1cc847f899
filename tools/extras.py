"""Packages that only some tools need, imported when they are first used."""

from importlib import import_module
from typing import Any

from .definition import ToolError


def need(module: str, extra: str) -> Any:
    """The module. Raises ToolError, which names the extra to install, when it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ToolError(
            f"this tool needs a package that is missing ({error}): pip install 'carryforward[{extra}]'"
        ) from None
