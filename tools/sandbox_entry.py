"""Runs inside the sandbox's own process: shuts it off, sets the limits, runs the code, ends all that it started.

Started by `sandbox.py` as a script, with a JSON request on stdin; uses the standard library only. Three processes
on Linux: the keeper (this one) watches memory; the first process of a new PID namespace reaps, and its end ends
every process in the namespace; the third becomes a fresh Python with the code. Where the system refuses
namespaces, the keeper starts the code itself and ends its descendants one by one.

Namespaces: man 7 namespaces, user_namespaces, pid_namespaces; mount flags: linux/mount.h; prctl: linux/prctl.h.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

assert sys.platform != "win32"  # sandbox.py refuses to start it there

_NEW_MOUNTS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NETWORK = (
    1 << 17,
    1 << 26,
    1 << 27,
    1 << 28,
    1 << 29,
    1 << 30,
)
_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_KEPT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}  # statvfs flag: mount flag that must stay
_DIE_WITH_PARENT, _ADOPT_ORPHANS, _NO_NEW_PRIVILEGES = 1, 36, 38
_NOBODY = 65_531  # a user id that no account uses, so that its process count is this sandbox's alone

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

# Runs the code as a script would, and shows the value of a last line that is an expression, as the prompt would.
_RUN = """
import ast, sys
with open(sys.argv[1], encoding="utf-8") as file:
    source = file.read()
tree = ast.parse(source, "main.py")
last = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
names = {"__name__": "__main__"}
import linecache
linecache.cache["main.py"] = (len(source), None, source.splitlines(True), "main.py")
exec(compile(tree, "main.py", "exec"), names)
exec(compile(ast.Interactive(last), "main.py", "single"), names)
"""


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    report = int(sys.argv[1])
    os.set_inheritable(report, False)
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux":
        libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        libc.prctl(_ADOPT_ORPHANS, 1)
    try:
        _unshare(libc)
    except (OSError, AttributeError) as refusal:
        _tell(report, isolation="process", why=str(refusal))
        child = _start(lambda: _run_code(libc, Path.cwd(), request, alone=False))
    else:
        _tell(report, isolation="namespaces")
        child = _start(lambda: _be_first(libc, request))
    _keep(child, request["memory"], report)


def _tell(report: int, **what: str) -> None:
    os.write(report, json.dumps(what).encode() + b"\n")


def _start(work: Any) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
    except OSError as error:
        print(f"the sandbox could not be set up: {error}", file=sys.stderr, flush=True)
    os._exit(125)


# --- the keeper


def _keep(child: int, memory: int, report: int) -> NoReturn:
    """Wait for the code's end, or end it, when told to or when all processes together take twice the memory."""

    def end(_signal: int, _frame: FrameType | None) -> NoReturn:
        _end_all(child)
        os._exit(124)

    signal.signal(signal.SIGTERM, end)
    rounds = 0
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _end_all(child)
            os._exit(os.waitstatus_to_exitcode(status) % 256)
        rounds += 1
        if rounds % 10 == 0 and sum(map(_resident, _descendants())) > 2 * memory:
            _tell(report, ended="memory")
            end(0, None)
        time.sleep(0.02)


def _descendants() -> set[int]:
    """The processes below this one. Empty where there is no /proc."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            pid, _, rest = stat.read_text(errors="replace").partition(" ")
            parents[int(pid)] = int(rest.rpartition(")")[2].split()[1])
    below = {os.getpid()}
    while new := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= new
    return below - {os.getpid()}


def _resident(pid: int) -> int:
    """Bytes of memory that are the process's own."""
    try:
        resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * resource.getpagesize()


def _end_all(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    while left := _descendants():
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


# --- shutting off


def _check(result: int, doing: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")


def _unshare(libc: Any) -> None:
    user, group = os.getuid(), os.getgid()
    flags = _NEW_MOUNTS | _NEW_UTS | _NEW_IPC | _NEW_PIDS | _NEW_NETWORK | (_NEW_USER if user else 0)
    _check(libc.unshare(flags), "unshare")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _be_first(libc: Any, request: dict[str, Any]) -> NoReturn:
    """The first process of the PID namespace: when it ends, the kernel ends all others."""
    libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    root = _build_root(libc, request)
    os.chroot(root)
    code = _start(lambda: _run_code(libc, Path("/tmp"), request, alone=True))
    while True:
        pid, status = os.wait()
        if pid == code:
            os._exit(os.waitstatus_to_exitcode(status) % 256)


def _build_root(libc: Any, request: dict[str, Any]) -> Path:
    """A file system of the interpreter and the system's libraries, read-only, and an empty /tmp of limited size."""

    def mount(source: str | None, target: Path | str, kind: str | None, flags: int, options: str = "") -> None:
        paths = [os.fsencode(path) if path is not None else None for path in (source, target, kind)]
        _check(libc.mount(*paths, ctypes.c_ulong(flags), options.encode()), f"mount {target}")

    root = Path.cwd()
    mount(None, "/", None, _PRIVATE | _RECURSIVE)
    mount("tmpfs", root, "tmpfs", _NO_SUID | _NO_DEVICES, f"size={request['disk']},mode=755")
    places = dict.fromkeys([*_SYSTEM, *request["readable"], *_DEVICES])
    for place in map(Path, places):
        target = root / place.relative_to("/")
        if target.exists() or not place.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink():
            target.symlink_to(place.readlink())
            continue
        target.mkdir() if place.is_dir() else target.touch()
        mount(str(place), target, None, _BIND | _RECURSIVE)
        kept = sum(flag for bit, flag in _KEPT_FLAGS.items() if os.statvfs(target).f_flag & bit)
        if str(place) not in _DEVICES:
            mount(None, target, None, _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _NO_DEVICES | kept)
    for name in ("tmp", "dev/shm"):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name).chmod(0o1777)
    return root


# --- the code


def _run_code(libc: Any, place: Path, request: dict[str, Any], *, alone: bool) -> NoReturn:
    """Become a fresh Python with the code. `alone`: in namespaces of its own."""
    os.setsid()
    os.chdir(place)
    script = place / "main.py"
    script.write_text(request["code"], encoding="utf-8", errors="replace")
    script.chmod(0o644)
    drops_root = os.getuid() == 0 and (alone or _reachable_by_nobody())
    if drops_root:
        os.chown(place, _NOBODY, _NOBODY)
    _set_limits(request, 0 if alone or drops_root else _tasks_of_user())
    if drops_root:
        os.setgroups([])
        os.setregid(_NOBODY, _NOBODY)  # and with it the saved one; macOS has no setresgid
        os.setreuid(_NOBODY, _NOBODY)
    if sys.platform == "linux":
        libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)  # changing the user has unset it
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    interpreter = sys.executable
    command = [interpreter, "-I", "-B", "-u", "-X", "utf8", "-c", _RUN, str(script)]
    os.execve(interpreter, command, {"PATH": os.environ["PATH"], "HOME": str(place)})


def _reachable_by_nobody() -> bool:
    """Whether the interpreter can be started without being root; one below /root often cannot."""
    os.setegid(_NOBODY)
    os.seteuid(_NOBODY)
    reachable = os.access(sys.executable, os.X_OK, effective_ids=True)
    os.seteuid(0)
    os.setegid(0)
    return reachable


def _tasks_of_user() -> int:
    """The threads that the user runs already, which the system counts into the process limit."""
    user = os.getuid()
    tasks = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            if process.stat().st_uid == user:
                tasks += len(list((process / "task").iterdir()))
    return tasks


def _set_limits(request: dict[str, Any], others: int) -> None:
    """`others`: processes of the same user that are counted with those of the sandbox."""
    limits = {
        resource.RLIMIT_CPU: request["seconds"],
        resource.RLIMIT_AS: request["memory"],
        resource.RLIMIT_FSIZE: request["disk"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_NPROC: request["processes"] + others,
    }
    for which, limit in limits.items():
        with contextlib.suppress(
            ValueError, OSError
        ):  # the system has a lower limit already, or macOS does not know this one
            resource.setrlimit(which, (limit, limit))


if __name__ == "__main__":
    main()
