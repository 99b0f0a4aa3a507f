"""Real scripts that behave badly: nothing of them stays, and nothing they said is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

import pytest

from devops_bench.verify_protocol.model import Check, Status, VerifyResult
from devops_bench.verify_protocol.runner import RunOptions, run_task
from devops_bench.verify_protocol.task import load_task
from tests.integration.harness import wait_until

HEAD = """\
import os, pathlib, signal, subprocess, sys, time
HERE = pathlib.Path(__file__).parent

def passed(label="a", weight=1):
    print(f"[PASS] ({weight}pt) {label}", file=sys.stderr, flush=True)

def note_pid():
    part = HERE / f"{os.getpid()}.part"
    part.write_text(str(os.getpid()))
    part.rename(HERE / f"{os.getpid()}.pid")
"""
SLEEPER = "note_pid()\nwhile True: time.sleep(60)\n"
LONG_SEC = 60.0
SHORT_SEC = 5.0


def run(
    tmp_path: Path,
    script: str,
    options: RunOptions | None = None,
    cancel: threading.Event | None = None,
) -> VerifyResult:
    (tmp_path / "verify.py").write_text(HEAD + script)
    chosen = RunOptions(timeout_sec=LONG_SEC) if options is None else options
    return run_task(load_task(tmp_path), 0, chosen, cancel=cancel)


def pids(folder: Path) -> list[int]:
    return [int(file.stem) for file in folder.glob("*.pid")]


def is_gone(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state in {"Z", "X"}
    return True


def test_a_child_that_holds_the_pipe_is_ended_and_does_not_hold_us(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""
if os.fork() == 0:
    {SLEEPER.replace(chr(10), chr(10) + "    ")}
while not list(HERE.glob("*.pid")): time.sleep(0.01)
passed()
""",
    )
    assert result.status is Status.PASS
    assert len(pids(tmp_path)) == 1
    assert all(map(is_gone, pids(tmp_path)))


def test_a_double_fork_into_a_new_session_is_ended(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        f"""
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    {SLEEPER.replace(chr(10), chr(10) + "    ")}
while not list(HERE.glob("*.pid")): time.sleep(0.01)
passed()
sys.exit(0)
""",
    )
    assert result.status is Status.PASS
    assert all(map(is_gone, pids(tmp_path)))


def test_a_timeout_keeps_the_checks_and_ends_what_ignores_sigterm(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
passed("before")
print("[FAIL] (2pt) half", file=sys.stderr, end="", flush=True)
if os.fork() == 0:
    os.setsid()
"""
        + SLEEPER,
        RunOptions(timeout_sec=SHORT_SEC),
    )
    assert (result.status, result.error) == (Status.ERROR, "timeout after 5s")
    assert result.checks == (Check("before", 1, True), Check("half", 2, False))
    assert (result.earned, result.total, result.all_pass) == (1, 3, False)
    assert len(pids(tmp_path)) == 2
    assert all(map(is_gone, pids(tmp_path)))


def test_a_script_can_be_interrupted(tmp_path: Path) -> None:
    cancel = threading.Event()
    results: list[VerifyResult] = []
    thread = threading.Thread(
        target=lambda: results.append(run(tmp_path, "passed()\n" + SLEEPER, cancel=cancel))
    )
    thread.start()
    wait_until(lambda: bool(pids(tmp_path)), "the script's start")
    cancel.set()
    thread.join(30)
    assert [(r.status, r.error, len(r.checks)) for r in results] == [
        (Status.ERROR, "interrupted", 1)
    ]
    assert all(map(is_gone, pids(tmp_path)))


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_an_end_by_a_signal_is_an_error_with_the_checks(
    tmp_path: Path, number: signal.Signals
) -> None:
    result = run(
        tmp_path,
        f"import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        f"passed()\nsignal.signal(signal.SIGTERM, signal.SIG_DFL)\nos.kill(os.getpid(), {number})",
    )
    assert (result.status, result.returncode) == (Status.ERROR, -number)
    assert result.error == f"it was ended by signal {number.name}"
    assert result.checks == (Check("a", 1, True),)


def test_a_line_without_an_end_counts(tmp_path: Path) -> None:
    result = run(tmp_path, 'os.write(2, b"[FAIL] (1pt) a  (x)")\nos._exit(1)')
    assert (result.status, result.checks) == (Status.FAIL, (Check("a", 1, False, "x"),))


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    result = run(tmp_path, 'os.write(2, b"[PASS] (1pt) caf\\xc3")')
    assert (result.status, result.checks) == (Status.PASS, (Check("caf\ufffd", 1, True),))


def test_a_closed_stderr_is_no_verdict(tmp_path: Path) -> None:
    result = run(tmp_path, "os.close(2)")
    assert (result.status, result.checks, result.returncode) == (Status.ERROR, (), 0)


def test_a_closed_stderr_after_the_checks_is_one(tmp_path: Path) -> None:
    assert run(tmp_path, "passed(); sys.stderr.close()").status is Status.PASS


def test_a_gigabyte_on_stdout_is_read_and_not_kept(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        'data = b"x" * (1 << 20)\nfor _ in range(1024): os.write(1, data)\npassed()',
        RunOptions(timeout_sec=250, max_output_bytes=1 << 20),
    )
    assert result.status is Status.PASS


def test_more_on_stderr_than_is_kept_is_no_verdict(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        'passed("first")\ndata = b"[PASS] (1pt) b\\n" * 70_000\n'
        "for _ in range(8): os.write(2, data)\n"
        'os.write(2, b"[FAIL] (1pt) the last\\n")',
        RunOptions(timeout_sec=LONG_SEC, max_output_bytes=1 << 20),
    )
    assert result.status is Status.ERROR
    assert result.error is not None
    assert "it wrote too much: 1048576 bytes" in result.error
    assert result.checks[0].label == "first"


def test_stdin_is_at_its_end_and_the_folder_is_new_and_empty(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "assert sys.stdin.read() == ''\nassert os.listdir('.') == []\n"
        "assert pathlib.Path.cwd() != HERE\npassed()",
    )
    assert result.status is Status.PASS, result.error


def test_the_environment_is_an_allow_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hidden-value")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("LC_TIME", "C")
    (tmp_path / "meta.json").write_text('{"meta_data": {"sites": ["code-server", "twenty"]}}')
    result = run(
        tmp_path,
        "for name, value in sorted(os.environ.items()): passed(f'{name}={value}')",
        RunOptions(
            timeout_sec=LONG_SEC,
            server_hostname="example.test",
            ports={"twenty": 39001, "other": 1},
            environment={"JUDGE_KEY": "k"},
        ),
    )
    seen = dict(check.label.split("=", 1) for check in result.checks)
    assert "A_SECRET" not in seen
    assert "PYTHONPATH" not in seen
    assert seen["LC_TIME"] == "C"
    assert seen["JUDGE_KEY"] == "k"
    assert seen["SERVER_HOSTNAME"] == "example.test"
    assert seen["CODE_SERVER_CONTAINER"] == "rollout_0_code-server"
    assert seen["TWENTY_PORT"] == "39001"
    assert "OTHER_PORT" not in seen


def test_a_secret_that_a_script_prints_is_not_in_the_result(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "passed('key ' + os.environ['JUDGE_KEY'])\n"
        "print('[FAIL] (x) ' + os.environ['JUDGE_KEY'], file=sys.stderr)\n"
        "sys.exit(os.environ['JUDGE_KEY'])",
        RunOptions(timeout_sec=LONG_SEC, environment={"JUDGE_KEY": "sk-very-secret"}),
    )
    assert result.checks[0].label == "key [redacted]"
    assert result.error is not None
    assert "[redacted]" in result.error
    assert "sk-very-secret" not in str(result.as_json())


def test_an_interpreter_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, "", RunOptions(python=str(tmp_path / "none")))
    assert (result.status, result.returncode) == (Status.ERROR, None)
    assert "could not be started" in (result.error or "")


def test_a_syntax_error_is_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, "def f(:")
    assert result.status is Status.ERROR
    assert "SyntaxError" in (result.error or "")
