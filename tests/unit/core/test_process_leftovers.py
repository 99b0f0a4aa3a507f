"""Real programs that behave badly, each of which must leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from devops_bench.core.process import EndedBy, run_program
from tests.unit.core.programs import SetWhen, is_running, pids_in, program, run, wait_for


def children_of_this_process() -> set[str]:
    """Return the pids of all children, zombies included."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {pid for children in tasks for pid in children.read_text().split()}


DOUBLE_FORK = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1]) or not os.path.getsize(sys.argv[1]):
    time.sleep(0.01)
"""


class TestNothingIsLeft:
    def test_a_child_that_holds_the_pipe_is_ended_and_counted(self, tmp_path: Path) -> None:
        result = run(tmp_path, "sleep 1000 & echo $! > pid.1; exit 0")
        assert (result.ended_by, result.exit_code, result.leftovers) == (EndedBy.ITSELF, 0, 1)
        assert not any(is_running(pid) for pid in pids_in(tmp_path))

    def test_a_double_forked_daemon_that_ignores_sigterm_is_ended(self, tmp_path: Path) -> None:
        result = run(tmp_path, "", argv=[sys.executable, "-c", DOUBLE_FORK, "pid.1"])
        assert (result.exit_code, result.leftovers) == (0, 1)
        (pid,) = pids_in(tmp_path)
        assert not is_running(pid)

    def test_many_generations_are_ended_together(self, tmp_path: Path) -> None:
        script = """
        f() { if [ $1 -gt 0 ]; then (f $(($1 - 1))) & fi; echo $BASHPID > pid.$1; sleep 1000; }
        f 12 & setsid sleep 1000 & echo $! > pid.99; wait
        """
        result = run_program(
            program(tmp_path, script),
            timeout_sec=600,
            cancel=SetWhen(lambda: len(pids_in(tmp_path)) == 14),
        )
        assert result.ended_by is EndedBy.CANCEL
        assert not any(is_running(pid) for pid in pids_in(tmp_path))

    def test_no_zombie_and_no_thread_is_left(self, tmp_path: Path) -> None:
        # Other tests of this process may have children and threads of their own.
        threads, children = set(threading.enumerate()), children_of_this_process()
        run(tmp_path, "sleep 1000 & exit 0")
        assert children_of_this_process() <= children
        assert set(threading.enumerate()) <= threads

    def test_a_program_that_kills_its_supervisor_gains_nothing(self, tmp_path: Path) -> None:
        script = "setsid sleep 1000 & echo $! > pid.1; echo $$ > pid.2; kill -9 $PPID; sleep 1000"
        result = run(tmp_path, script)
        assert result.lost
        assert result.exit_code is None
        assert result.leftovers is not None
        assert result.leftovers >= 1
        assert not any(is_running(pid) for pid in pids_in(tmp_path))

    def test_one_that_escapes_when_its_supervisor_is_killed_is_not_passed_over(
        self, tmp_path: Path
    ) -> None:
        escape = "env -i setsid sh -c 'echo $$ > pid.1; exec sleep 1000' & "
        try:
            result = run(tmp_path, escape + "until [ -s pid.1 ]; do :; done; kill -9 $PPID")
            assert result.lost
        finally:
            for pid in filter(is_running, pids_in(tmp_path)):
                os.kill(pid, signal.SIGKILL)

    def test_the_end_cannot_be_forged(self, tmp_path: Path) -> None:
        forge = r"""
        fd=$(tr '\0' '\n' < /proc/$PPID/cmdline | tail -n 1)
        echo '{"status": 0, "asked": false, "leftovers": 0, "unkillable": 0}' > /proc/$PPID/fd/$fd
        kill -9 $PPID
        """
        result = run(tmp_path, forge)
        assert result.lost
        assert result.exit_code is None

    @pytest.mark.parametrize("script", ["exit 0", "exit 3", "kill -9 $$", "sleep 1000 &"])
    def test_what_ends_in_its_sight_is_not_lost(self, tmp_path: Path, script: str) -> None:
        assert not run(tmp_path, script).lost

    def test_an_exception_in_our_thread_ends_it(self, tmp_path: Path) -> None:
        def interrupted() -> bool:
            if pids_in(tmp_path):
                raise KeyboardInterrupt
            return False

        script = program(tmp_path, "echo $$ > pid.1; sleep 1000")
        with pytest.raises(KeyboardInterrupt):
            run_program(script, timeout_sec=600, cancel=SetWhen(interrupted))
        assert not any(is_running(pid) for pid in pids_in(tmp_path))

    def test_kill_dash_nine_of_ourselves_leaves_nothing(self, tmp_path: Path) -> None:
        code = f"""
import os, sys, time
from pathlib import Path
from devops_bench.core.process import Program, run_program
here = Path({str(tmp_path)!r})
script = "trap '' TERM; setsid sleep 1000 & echo $! > pid.1; echo $$ > pid.2; echo 1 > up; wait"
run_program(Program(["bash", "-c", script], here, {{"PATH": os.environ["PATH"]}}, here / "o",
                    here / "e", grace_sec=0.3), timeout_sec=600)
"""
        ours = subprocess.Popen([sys.executable, "-c", code])
        try:
            wait_for((tmp_path / "up").exists, "the program runs")
            assert all(is_running(pid) for pid in pids_in(tmp_path))
        finally:
            ours.kill()
            ours.wait()
        wait_for(lambda: not any(map(is_running, pids_in(tmp_path))), "everything ended")

    def test_kill_dash_nine_of_ourselves_loses_no_more_than_may_begin_a_secret(
        self, tmp_path: Path
    ) -> None:
        code = f"""
import os
from pathlib import Path
from devops_bench.core.process import Program, run_program
from devops_bench.core.secretforms import KnownSecrets
here = Path({str(tmp_path)!r})
run_program(Program(["bash", "-c", "printf 'my-secret said my-s'; sleep 1000"], here,
                    {{"PATH": os.environ["PATH"]}}, here / "o", here / "e", grace_sec=0.3,
                    secrets=KnownSecrets(["my-secret"])), timeout_sec=600)
"""
        ours = subprocess.Popen([sys.executable, "-c", code])
        said = tmp_path / "o"
        try:
            wait_for(lambda: said.exists() and b"said" in said.read_bytes(), "it is written")
        finally:
            ours.kill()
            ours.wait()
        assert said.read_text() == "[redacted] said "

    def test_leftovers_that_end_after_the_deadline_do_not_make_it_a_timeout(
        self, tmp_path: Path
    ) -> None:
        script = "(trap '' TERM; echo 1 > up; sleep 1000; sleep 1000) & until [ -s up ]; do :; done"
        result = run(tmp_path, script, timeout_sec=2.0, grace_sec=3.0)
        assert (result.ended_by, result.exit_code) == (EndedBy.ITSELF, 0)
