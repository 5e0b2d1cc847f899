"""What a tool is: a name, a description, a JSON schema and a callable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Risk = Literal["read", "write", "execute"]
"""What a call may do: only look, change something of the user's, or run code that the model wrote."""

_RISKS = ("read", "write", "execute")


class ToolError(Exception):
    """A call that gave no result. The message is one line that tells the model what to change."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


@dataclass(frozen=True, eq=False)
class Tool:
    """One thing an agent can do.

    `run` is called with the arguments as keywords, after they were checked against `parameters` (a JSON
    schema of type object). It may be sync or async and return anything; `Toolbox` makes text of it. It raises
    `ToolError` with advice for the model; any other exception is reported as a failure of the tool.

    `timeout` and `cache` are seconds: how long a call may take, and how long an equal call is answered from
    memory (0: never; only for tools that read). `retries` is how often a call is repeated when it
    failed with anything but a `ToolError`. `volatile` says that an equal call may give something else by itself, as the
    time does: no result of it is ever used again. `categories` are free words to choose tools by.

    Raises ValueError for a tool that could not work.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., Any]
    risk: Risk = field(default="read", kw_only=True)
    timeout: float = field(default=60.0, kw_only=True)
    retries: int = field(default=0, kw_only=True)
    cache: float = field(default=0.0, kw_only=True)
    volatile: bool = field(default=False, kw_only=True)
    categories: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a tool needs a name")
        if self.parameters.get("type", "object") != "object":
            raise ValueError(f"tool {self.name!r}: parameters must be a JSON schema of type object")
        if self.risk not in _RISKS:
            raise ValueError(f"tool {self.name!r}: risk must be one of {', '.join(_RISKS)}, not {self.risk!r}")
        if self.cache and self.risk != "read":
            raise ValueError(f"tool {self.name!r}: only a tool of risk read can be cached, not {self.risk}")
        if self.cache and self.volatile:
            raise ValueError(f"tool {self.name!r}: what is volatile can't be cached")
        if self.timeout <= 0 or self.retries < 0 or self.cache < 0:
            raise ValueError(f"tool {self.name!r}: timeout must be positive, retries and cache not negative")

    def schema(self) -> dict[str, Any]:
        """The tool as an entry of the `tools` list of the OpenAI chat completions API."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}
