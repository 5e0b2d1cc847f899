"""Code of a model tries to get out, to fill the machine and to stay; none of it succeeds.

What only namespaces can stop is tried where the machine has them.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from carryforward.tools import Toolbox
from carryforward.tools.python_tool import python_tool
from carryforward.tools.sandbox import Limits, isolation, run_python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="code is run on Linux and macOS only")

QUICK = Limits(seconds=20, memory=256 * 2**20, disk=16 * 2**20, processes=16)


@pytest.fixture
def shut_off():
    if isolation() != "namespaces":
        pytest.skip("this machine refuses namespaces: files and network are not shut off here")


def call(code: str, limits: Limits = QUICK) -> str:
    return Toolbox([python_tool(limits)]).call("python", {"code": code})


def processes_with(word: str) -> list[str]:
    lines = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if word in line and not line.startswith("Z")]


def test_shows_what_is_printed_and_the_last_value():
    assert call("print('a')\n[n * n for n in range(4)]").startswith("a\n[0, 1, 4, 9]\n(isolation: ")
    assert call("x = 1").startswith("(nothing was printed)")
    assert "(exit code 3; " in call("raise SystemExit(3)")


def test_an_error_shows_its_line():
    answer = call("def f():\n    return 1 / 0\nf()")
    assert "return 1 / 0" in answer
    assert "ZeroDivisionError" in answer
    assert "exit code 1" in answer


def test_the_environment_holds_a_path_and_no_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-000")
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    answer = call("import os\nprint(sorted(os.environ))\nprint(os.environ['PATH'] != '')\nopen('/proc/self/environ')")
    assert "'PATH'" in answer
    assert "True" in answer
    for secret in ("OPENAI_API_KEY", "sk-test-000", "hunter2"):
        assert secret not in answer


def test_a_grandchild_that_keeps_the_pipe_open_ends_at_the_limit():
    started = time.monotonic()
    code = "import subprocess,time\nsubprocess.Popen(['sleep','3141'], start_new_session=True)\ntime.sleep(300)"
    answer = call(code, Limits(seconds=2))
    assert time.monotonic() - started < 60
    assert "timed out" in answer
    assert processes_with("sleep 3141") == []


def test_endless_output_is_cut_and_ended():
    started = time.monotonic()
    answer = call("while True:\n    print('x'*1000)", Limits(seconds=3))
    assert time.monotonic() - started < 60
    assert len(answer) <= 20_000 + 200
    assert "truncated" in answer


def test_long_output_keeps_its_beginning_and_end():
    outcome = run_python("for n in range(9999): print('第', n)", QUICK)
    assert outcome.output.startswith("第 0\n第 1\n")
    assert outcome.output.endswith("第 9998\n")
    assert len(outcome.output) <= QUICK.output


def test_nothing_outlives_the_code():
    code = (
        "import os, subprocess\nif os.fork() == 0:\n  os.setsid()\n  subprocess.run(['sleep', '2718'])\nprint('done')"
    )
    assert "done" in call(code)
    assert processes_with("sleep 2718") == []


def test_nothing_outlives_the_process_that_called(tmp_path: Path):
    script = """
from carryforward.tools.sandbox import run_python
run_python("import subprocess; open('/tmp/up', 'w'); print(1, flush=True); subprocess.run(['sleep', '1618'])")
"""
    caller = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)
    for _ in range(200):
        if processes_with("sleep 1618"):
            break
        time.sleep(0.1)
    assert processes_with("sleep 1618")
    caller.kill()
    caller.wait()
    for _ in range(100):
        if not processes_with("sleep 1618"):
            break
        time.sleep(0.1)
    assert processes_with("sleep 1618") == []


def test_memory_is_bounded():
    assert "MemoryError" in call("x = bytearray(10**10)")
    hoard = "import os, time\nfor _ in range(3): os.fork()\nx = [bytearray(10**6) for _ in range(180)]\ntime.sleep(15)"
    assert run_python(hoard, QUICK).ended_by == "memory"


def test_forking_without_end_is_bounded():
    answer = call("import os\nn = 0\nwhile True:\n    os.fork()")
    assert "BlockingIOError" in answer
    assert processes_with("carryforward-") == []


def test_cpu_time_is_bounded():
    assert run_python("while True: pass", Limits(seconds=1)).ended_by == "time"


def test_the_disk_is_bounded(shut_off: None):
    assert "No space left" in call("for n in range(99):\n    open(f'/tmp/{n}', 'wb').write(b'x' * 10**6)")


def test_no_file_of_the_user_can_be_read_or_written(tmp_path: Path, shut_off: None):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    secret.chmod(0o666)
    tmp_path.chmod(0o777)
    for path in (secret, Path(__file__), "/etc/passwd", "/proc/1/environ", "/../etc/passwd"):
        assert "FileNotFoundError" in call(f"print(open({str(path)!r}).read())")
    assert "Error" in call(f"open({str(secret)!r}, 'w').write('gone')")
    assert "Error" in call("import os; open(os.path.dirname(os.__file__) + '/os.py', 'a')")
    assert secret.read_text() == "the secret"


def test_there_is_no_network(shut_off: None):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        code = f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)"
        assert "unreachable" in call(code)
        with pytest.raises(TimeoutError):
            server.accept()


def test_the_namespaces_cannot_be_left(shut_off: None):
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print([libc.unshare(flag) for flag in (1 << 28, 1 << 17)], libc.mount(b"none", b"/tmp", b"proc", 0, None))
print(libc.ptrace(16, 1, 0, 0), os.getpid() < 4, len(os.listdir("/proc")) if os.path.exists("/proc") else 0)
try:
    os.chroot("/tmp")
except PermissionError:
    print("no chroot")
"""
    answer = call(code)
    assert answer.startswith("[-1, -1] -1\n-1 True 0\nno chroot\n")


@pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root to give up rights"
)
def test_without_namespaces_the_limits_hold_and_it_is_said():
    script = """
from carryforward.tools.sandbox import Limits, run_python
code = "import subprocess, time; subprocess.Popen(['sleep', '1414'], start_new_session=True); time.sleep(99)"
outcome = run_python(code, Limits(seconds=2))
print(outcome.isolation, outcome.ended_by, run_python("x = bytearray(10**10)").exit_code)
"""
    command = ["setpriv", "--bounding-set=-sys_admin", sys.executable, "-c", script]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
    assert answer.split() == ["process", "time", "1"]
    assert processes_with("sleep 1414") == []
