"""Waiting for a function with a time limit, and for a coroutine from code that is not async."""

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

_T = TypeVar("_T")


async def call_in_time(function: Callable[[], Any], seconds: float) -> Any:
    """What the function returns; a sync one runs in its own thread.

    Raises TimeoutError when it takes longer, and whatever the function raises. A thread cannot be ended from
    outside: a sync function that is too slow goes on in a daemon thread, its result unused.
    """
    async with asyncio.timeout(seconds):
        result = function() if _is_async(function) else await in_thread(function)
        return await result if inspect.isawaitable(result) else result


def run_sync(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """What the coroutine returns. Works where a loop is running already, as in a notebook cell."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome = Settled()
    thread = threading.Thread(target=outcome.of, args=(lambda: asyncio.run(coroutine),), daemon=True)
    thread.start()
    thread.join()
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


class Settled:
    """What a function returned or raised, to hand it from one thread to another."""

    def __init__(self) -> None:
        self.result: Any = None
        self.error: BaseException | None = None

    def of(self, function: Callable[[], Any]) -> None:
        with self:
            self.result = function()

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if error is not None and (not isinstance(error, Exception) or isinstance(error, StopIteration)):
            error = RuntimeError(f"{type(error).__name__}: {error}")  # a tool may end neither the loop nor the process
        self.error = error
        return True


async def in_thread(function: Callable[[], Any]) -> Any:
    """asyncio.to_thread, but neither the loop's end nor the interpreter's waits for a function that hangs."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    outcome = Settled()
    context = contextvars.copy_context()

    def work() -> None:
        outcome.of(lambda: context.run(function))
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=work, daemon=True, name="carryforward-tool").start()
    await done.wait()
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


def _is_async(function: Callable[[], Any]) -> bool:
    inner = function
    while hasattr(inner, "func"):  # functools.partial
        inner = inner.func  # type: ignore[attr-defined]
    return inspect.iscoroutinefunction(inner)
