"""Tools, and how to make one.

Every name is imported when it is first used: `import carryforward.tools` itself costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .decorator import tool
    from .definition import Risk, Tool, ToolError
    from .observation import to_observation
    from .toolbox import Toolbox

__all__ = ["Risk", "Tool", "ToolError", "Toolbox", "to_observation", "tool"]

_HOME = {
    "Risk": "definition",
    "Tool": "definition",
    "ToolError": "definition",
    "Toolbox": "toolbox",
    "to_observation": "observation",
    "tool": "decorator",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
