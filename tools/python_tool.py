"""`python`: runs code that the model wrote, in a sandbox."""

from .definition import Tool
from .sandbox import Limits, Outcome, run_python

_MAX_CODE = 100_000


def python_tool(limits: Limits | None = None) -> Tool:
    """The tool, of risk execute. Each call starts afresh: nothing is kept from one to the next."""
    chosen = limits or Limits()

    def python(code: str) -> str:
        return write_outcome(run_python(code, chosen), chosen)

    return Tool(
        "python",
        "Use it for work with data that the calculator cannot do: lists, text, statistics, dates. Takes Python code; "
        "print what you want to see, or end with an expression. Returns what was printed. There is no network, no "
        f"file of the user's and no memory of earlier calls; {chosen.seconds:g} s and {chosen.memory >> 20} MiB "
        "are the limits. Not for plain arithmetic.",
        {
            "type": "object",
            "properties": {"code": {"type": "string", "maxLength": _MAX_CODE, "description": "A whole program."}},
            "required": ["code"],
        },
        python,
        risk="execute",
        timeout=chosen.seconds + 15,
        categories=("code",),
    )


def write_outcome(outcome: Outcome, limits: Limits) -> str:
    """The output, then one line: how the code ended, if not well, and the isolation it ran in."""
    match outcome.ended_by:
        case "time":
            end = f"timed out: ended at the limit of {limits.seconds:g} s; do less in one call; "
        case "memory":
            end = f"ended: all processes together took more than {2 * limits.memory >> 20} MiB; use less memory; "
        case "itself":
            end = f"exit code {outcome.exit_code}; " if outcome.exit_code else ""
    shut_off = "namespaces" if outcome.isolation == "namespaces" else "own process only, no namespaces on this machine"
    text = outcome.output.rstrip("\n") or "(nothing was printed)"
    return f"{text}\n({end}isolation: {shut_off})"
