"""OpenTelemetry spans of a run: one for the run, in it one for each model call and each tool call.

Names and attributes are those of the GenAI conventions
(https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/). Contents of messages are left out: they may be
private, and the journal has them. Without the package `opentelemetry-api` nothing is done.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .events import Event, Finished, ModelReplied, Observed, RunStarted, StepStarted, ToolCalled

_RUN = "run"
_CHAT = "chat"


class RunSpans:
    """Turns the events of one run into spans; `close` ends what is still open."""

    def __init__(self) -> None:
        self._trace = _trace_api()
        self._open: dict[str, Any] = {}

    def see(self, event: Event) -> None:
        """Take in one event."""
        if self._trace is None:
            return
        match event:
            case RunStarted():
                self._start(_RUN, "invoke_agent", {"gen_ai.conversation.id": event.run_id})
            case StepStarted():
                self._start(_CHAT, "chat", {})
            case ModelReplied():
                usage = {"input_tokens": event.prompt_tokens, "output_tokens": event.completion_tokens}
                self._end(_CHAT, {f"gen_ai.usage.{name}": count for name, count in usage.items()})
            case ToolCalled(cached=False):
                named = {"gen_ai.tool.name": event.name, "gen_ai.tool.call.id": event.call}
                self._start(event.call, f"execute_tool {event.name}", named)
            case Observed():
                self._end(event.call, {"error.type": "tool_error"} if event.failed else {})
            case Finished():
                status = event.result.status
                self._end(_RUN, {"error.type": status} if status not in ("done", "waiting") else {})
            case _:
                pass

    def close(self) -> None:
        """End all spans that are open, the inner ones first."""
        for key in list(reversed(self._open)):
            self._end(key, {"error.type": "interrupted"})

    def _start(self, key: str, name: str, attributes: dict[str, Any]) -> None:
        operation = {"gen_ai.operation.name": name.partition(" ")[0]}
        outer = self._open.get(_RUN)
        context = self._trace.set_span_in_context(outer) if outer is not None else None
        tracer = self._trace.get_tracer("carryforward.agent")
        self._open[key] = tracer.start_span(name, context=context, attributes={**operation, **attributes})

    def _end(self, key: str, attributes: dict[str, Any]) -> None:
        span = self._open.pop(key, None)
        if span is None:
            return
        span.set_attributes(attributes)
        if "error.type" in attributes:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()


def _trace_api() -> Any:
    try:
        return import_module("opentelemetry.trace")
    except ImportError:
        return None
