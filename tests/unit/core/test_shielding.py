"""With real processes: one that shields itself, and one of the same user that wants its memory."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import pytest

from devops_bench.core import shielding
from devops_bench.core.shielding import memory_is_open

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prctl(2) is there on Linux only")

PTRACE = 1 << 19
_NOBODY = 65534
# Its own may be where no other user may go.
_PYTHON = "/usr/bin/python3" if os.geteuid() == 0 else sys.executable
_WAIT = "\nprint('ready', flush=True)\nsys.stdin.readline()\n"
_SHIELD = "\nshield_memory()\n"
_SAY = "\nprint(memory_is_open(plane=False))\n"
_READ = """
import sys
for name in ("mem", "environ"):
    try:
        open(f"/proc/{sys.argv[1]}/{name}", "rb").close()
        print("open")
    except PermissionError:
        print("refused")
"""


def start(code: str, *words: str) -> subprocess.Popen[str]:
    """Start a program as a user who is not root: root may read everything."""
    user = _NOBODY if os.geteuid() == 0 else None
    return subprocess.Popen(
        [_PYTHON, "-I", "-S", "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )


@pytest.mark.parametrize(("extra", "answer"), [("", "open"), (_SHIELD, "refused")])
def test_a_process_of_the_same_user_cannot_read_it(extra: str, answer: str) -> None:
    with start(inspect.getsource(shielding) + extra + _WAIT) as target:
        assert target.stdin is not None
        assert target.stdout is not None
        assert target.stdout.readline() == "ready\n"
        with start(_READ, str(target.pid)) as reader:
            found, _ = reader.communicate()
        target.stdin.close()
    read = found.split()
    if answer == "open" and shielding._scope() > 0:
        assert read[0] == "refused"  # Yama lets only ancestors do it
        return
    assert read == [answer] * 2


def test_it_says_of_itself_whether_it_can_be_read() -> None:
    for extra, empty in (("", False), (_SHIELD, True)):
        with start(inspect.getsource(shielding) + extra + _SAY) as asked:
            said, _ = asked.communicate()
        assert (said.strip() == "") is empty
        assert empty or "could read the memory of the harness" in said


@pytest.mark.parametrize(
    ("capabilities", "root", "may"),
    [
        ({"CapBnd": PTRACE, "CapEff": 0, "CapPrm": 0, "CapAmb": 0}, True, True),
        ({"CapBnd": 0, "CapEff": 0, "CapPrm": 0, "CapAmb": 0}, True, False),
        ({"CapBnd": PTRACE, "CapEff": 0, "CapPrm": 0, "CapAmb": 0}, False, False),
        ({"CapBnd": PTRACE, "CapEff": 0, "CapPrm": 0, "CapAmb": PTRACE}, False, True),
        ({}, True, True),
    ],
)
def test_who_may_trace(capabilities: dict[str, int], root: bool, may: bool) -> None:
    assert shielding._may_trace(capabilities, root=root) is may


def test_the_plane_of_the_same_user_has_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shielding, "_may_trace", lambda *_, **__: False)
    monkeypatch.setattr(shielding, "_dumpable", lambda: False)
    monkeypatch.setattr(shielding, "_scope", lambda: 0)
    assert memory_is_open(plane=False) == ""
    assert "the control plane" in memory_is_open(plane=True)
    monkeypatch.setattr(shielding, "_scope", lambda: 1)
    assert memory_is_open(plane=True) == ""


def test_a_run_shields_itself_before_it_does_anything() -> None:
    code = """
import ctypes
from pathlib import Path
from devops_bench.cli.execution import RunRequest, execute
from devops_bench.core.errors import DevopsBenchError
try:
    execute(RunRequest(specs=(Path("/nonexistent"),), agent="noop"))
except DevopsBenchError:
    print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "0"
