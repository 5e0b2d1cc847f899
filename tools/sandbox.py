"""Runs Python code in a process of its own, shut off as far as the machine allows, and ends all that it starts.

On Linux: new user, mount, PID, network and IPC namespaces; only the interpreter and the system's libraries can be read,
only /tmp written. Where the system refuses namespaces, and on macOS: own process, empty environment and limits
only, which is no protection against hostile code. `Outcome.isolation` says which.
"""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

Isolation = Literal["namespaces", "process"]

_ENTRY = Path(__file__).with_name("sandbox_entry.py")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_CHUNK = 65_536
_GRACE = 3.0
_OUT_OF_TIME = {128 + 24, 256 - 24}  # SIGXCPU, which Windows does not know


@dataclass(frozen=True)
class Limits:
    """seconds: wall and CPU time; memory: bytes a process (all together twice that); disk: bytes in /tmp and a file;
    processes: how many at once; output: characters kept."""

    seconds: float = 30.0
    memory: int = 512 * 2**20
    disk: int = 64 * 2**20
    processes: int = 32
    output: int = 20_000


@dataclass(frozen=True)
class Outcome:
    """What the code printed (both streams, cut in the middle to the limit), and how it ended."""

    output: str
    exit_code: int
    ended_by: Literal["itself", "time", "memory"]
    isolation: Isolation


def run_python(code: str, limits: Limits | None = None) -> Outcome:
    """Run the code; returns at the latest a few seconds after the time limit, with no process of it left.

    Raises OSError when no process can be started, NotImplementedError on Windows.
    """
    if sys.platform == "win32":
        raise NotImplementedError("code is run on Linux and macOS only: Windows has no limits that would hold it")
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="carryforward-", ignore_cleanup_errors=True) as folder:
        return _run_in(folder, code, limits)


@functools.cache
def isolation() -> Isolation:
    """The isolation that this machine offers, found by running an empty program."""
    return run_python("", Limits(seconds=10)).isolation


def _run_in(folder: str, code: str, limits: Limits) -> Outcome:
    request = {
        "code": code,
        "readable": [sys.base_prefix, sys.prefix],
        "seconds": int(limits.seconds) + 1,
        "memory": limits.memory,
        "disk": limits.disk,
        "processes": limits.processes,
    }
    report_end, report_start = os.pipe()
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(_ENTRY), str(report_start)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={"PATH": f"{Path(sys.executable).parent}:{_SYSTEM_PATH}"},
        pass_fds=[report_start],
        start_new_session=True,
    )
    os.close(report_start)
    kept = _Kept(limits.output)
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    reader = threading.Thread(target=kept.read, args=(keeper.stdout,), daemon=True)
    reader.start()
    deadline = time.monotonic() + limits.seconds
    with contextlib.suppress(BrokenPipeError), keeper.stdin as stdin:
        stdin.write(json.dumps(request).encode())
    try:
        keeper.wait(deadline - time.monotonic())
        in_time = True
    except subprocess.TimeoutExpired:
        in_time = False
    finally:
        _end(keeper)
    reader.join(_GRACE)
    report = _read_report(report_end)
    in_time = in_time and keeper.returncode not in _OUT_OF_TIME
    ended_by = "memory" if report.get("ended") == "memory" else "itself" if in_time else "time"
    shut_off: Isolation = "namespaces" if report.get("isolation") == "namespaces" else "process"
    return Outcome(kept.text(), keeper.returncode, ended_by, shut_off)


def _end(keeper: subprocess.Popen[bytes]) -> None:
    """Ask the keeper to end everything; end the keeper itself when it does not answer."""
    assert sys.platform != "win32"
    if keeper.poll() is None:
        keeper.send_signal(signal.SIGTERM)
        try:
            keeper.wait(_GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(keeper.pid, signal.SIGKILL)
            keeper.wait()


def _read_report(handle: int) -> dict[str, str]:
    assert sys.platform != "win32"
    os.set_blocking(handle, False)
    with os.fdopen(handle, "rb") as file:
        lines = (file.read() or b"").splitlines()
    return {key: value for line in lines for key, value in json.loads(line).items()}


class _Kept:
    """The beginning and the end of an output of any length."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def read(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), _CHUNK):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        room = 4 * self._limit - len(self._head)  # a character takes at most four bytes
        self._head += chunk[:room]
        self._tail += chunk[room:]
        surplus = len(self._tail) - 4 * self._limit
        if surplus > 0:
            del self._tail[:surplus]
            self._left_out += surplus

    def text(self) -> str:
        head = self._head.decode("utf-8", "replace")
        tail = self._tail.decode("utf-8", "replace")
        if not self._left_out and len(head) + len(tail) <= self._limit:
            return head + tail
        half = self._limit // 2 - 50
        end = (head + tail)[-half:] if not self._left_out else tail[-half:]
        return f"{head[:half]}\n… (truncated: the middle of a long output is left out) …\n{end}"
