"""Real programs: how they are started, what they are given, what they say, when they are ended."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from devops_bench.core import reaper
from devops_bench.core.errors import SupervisionError
from devops_bench.core.marking import MARKER_VARIABLE
from devops_bench.core.process import EndedBy, run_program
from tests.unit.core.programs import SetWhen, is_running, pids_in, program, run


class TestOrdinaryPrograms:
    def test_the_exit_code_is_reported(self, tmp_path: Path) -> None:
        result = run(tmp_path, "exit 7")
        assert (result.ended_by, result.exit_code, result.leftovers) == (EndedBy.ITSELF, 7, 0)

    def test_where_nobody_can_look_for_leftovers_their_number_is_not_known(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A system without prctl(2), as the reaper finds it."""
        text = Path(reaper.__file__).read_text()
        assert "ctypes.CDLL(None)" in text
        (tmp_path / "reaper.py").write_text(text.replace("ctypes.CDLL(None)", "object()"))
        monkeypatch.setattr(reaper, "__file__", str(tmp_path / "reaper.py"))
        result = run(tmp_path, "exit 7")
        assert (result.exit_code, result.leftovers, result.lost) == (7, None, False)

    def test_a_signal_is_a_negative_exit_code(self, tmp_path: Path) -> None:
        assert run(tmp_path, "kill -SEGV $$").exit_code == -signal.SIGSEGV

    def test_both_streams_are_kept_apart_in_private_files(self, tmp_path: Path) -> None:
        run(tmp_path, "echo out; echo err >&2")
        assert (tmp_path / "stdout").read_text() == "out\n"
        assert (tmp_path / "stderr").read_text() == "err\n"
        assert (tmp_path / "stdout").stat().st_mode & 0o777 == 0o600

    def test_stdin_is_given_whole_and_then_ends(self, tmp_path: Path) -> None:
        data = os.urandom(300_000)
        result = run(tmp_path, "cat", stdin=data)
        assert result.exit_code == 0
        assert (tmp_path / "stdout").read_bytes() == data

    def test_a_program_that_does_not_read_its_stdin_is_no_problem(self, tmp_path: Path) -> None:
        assert run(tmp_path, "exec <&-; exit 0", stdin=b"x" * 300_000).exit_code == 0

    def test_without_stdin_a_read_ends_at_once(self, tmp_path: Path) -> None:
        assert run(tmp_path, "read x || exit 4").exit_code == 4

    def test_it_runs_in_its_folder_with_exactly_the_environment_given(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET_OF_MINE", "x")
        work = tmp_path / "work"
        work.mkdir()
        run_program(
            program(
                tmp_path, "", argv=["env"], cwd=work, env={"PATH": os.environ["PATH"], "A": "1"}
            ),
            timeout_sec=60,
        )
        names = {line.partition("=")[0] for line in (tmp_path / "stdout").read_text().splitlines()}
        assert names == {"PATH", "A", MARKER_VARIABLE}
        run(tmp_path, "pwd -P", cwd=work)
        assert (tmp_path / "stdout").read_text().strip() == str(work.resolve())

    def test_a_large_environment_and_large_arguments_arrive(self, tmp_path: Path) -> None:
        env = {"PATH": os.environ["PATH"], "BIG": "é" * 60_000}
        run_program(
            program(tmp_path, 'printf "%s" "$BIG"', env=env),
            timeout_sec=60,
        )
        assert (tmp_path / "stdout").read_text() == env["BIG"]

    def test_descriptors_of_ours_do_not_reach_it(self, tmp_path: Path) -> None:
        read_fd, write_fd = os.pipe()
        os.set_inheritable(write_fd, True)
        try:
            run(tmp_path, "ls /proc/self/fd")
        finally:
            os.close(read_fd)
            os.close(write_fd)
        shown = {int(name) for name in (tmp_path / "stdout").read_text().split()}
        assert shown <= {0, 1, 2, 3}  # 3 is ls's own, for the folder


class TestNotStarted:
    def test_a_program_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="no-such-program"):
            run(tmp_path, "", argv=["no-such-program"])

    def test_a_file_that_is_not_executable(self, tmp_path: Path) -> None:
        (tmp_path / "plain").write_text("echo\n")
        with pytest.raises(PermissionError):
            run(tmp_path, "", argv=[str(tmp_path / "plain")])

    def test_a_folder_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            run(tmp_path, "true", cwd=tmp_path / "missing")

    def test_an_argument_that_is_too_long(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="Argument list too long"):
            run(tmp_path, "", argv=["true", "x" * 3_000_000])

    def test_a_nul_character_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="NUL"):
            run(tmp_path, "", argv=["true", "a\0b"])

    def test_a_file_for_its_output_that_cannot_be_made(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="no-such-folder"):
            run(tmp_path, "true", stdout=tmp_path / "no-such-folder" / "stdout")


class TestTheSystemRefuses:
    def test_a_full_disk_does_not_end_the_program(self, tmp_path: Path) -> None:
        result = run(tmp_path, "head -c 300000 /dev/zero; touch done", stdout=Path("/dev/full"))
        assert (result.exit_code, result.stdout_dropped) == (0, 300_000)
        assert "No space left" in result.output_fault
        assert (tmp_path / "done").exists()

    def test_what_is_refused_in_the_middle_is_not_a_program_that_did_not_start(
        self, tmp_path: Path
    ) -> None:
        def refused() -> bool:
            if pids_in(tmp_path):
                raise OSError(24, "Too many open files")
            return False

        script = program(tmp_path, "echo $$ > pid.1; sleep 1000")
        with pytest.raises(SupervisionError, match="Too many open files"):
            run_program(script, timeout_sec=600, cancel=SetWhen(refused))
        assert not any(is_running(pid) for pid in pids_in(tmp_path))


class TestBounds:
    def test_output_over_the_bound_is_counted_not_kept(self, tmp_path: Path) -> None:
        result = run(tmp_path, "head -c 3000000 /dev/zero; printf end >&2", max_output_bytes=1000)
        assert (tmp_path / "stdout").stat().st_size == 1000
        assert result.stdout_dropped == 2_999_000
        assert (tmp_path / "stderr").read_text() == "end"
        assert result.stderr_dropped == 0

    def test_the_deadline_ends_it_and_what_it_said_is_kept(self, tmp_path: Path) -> None:
        result = run(tmp_path, "echo early; sleep 1000", timeout_sec=1.5)
        assert result.ended_by is EndedBy.DEADLINE
        assert result.exit_code == -signal.SIGTERM
        assert (tmp_path / "stdout").read_text() == "early\n"

    def test_it_may_clean_up_after_sigterm(self, tmp_path: Path) -> None:
        script = "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done"
        result = run(tmp_path, script, timeout_sec=1.5, grace_sec=20)
        assert (result.ended_by, result.exit_code) == (EndedBy.DEADLINE, 5)
        assert (tmp_path / "stdout").read_text() == "up\nbye\n"

    def test_ignoring_sigterm_does_not_help(self, tmp_path: Path) -> None:
        result = run(tmp_path, "trap '' TERM; while :; do sleep 1; done", timeout_sec=1.5)
        assert (result.ended_by, result.exit_code) == (EndedBy.DEADLINE, -signal.SIGKILL)

    def test_a_stopped_program_is_ended(self, tmp_path: Path) -> None:
        result = run(tmp_path, "kill -STOP $$", timeout_sec=1.5)
        assert result.ended_by is EndedBy.DEADLINE

    def test_cancelling_ends_it(self, tmp_path: Path) -> None:
        def says_up() -> bool:
            return (tmp_path / "stdout").read_text() == "up\n"

        result = run_program(
            program(tmp_path, "echo up; sleep 1000"), timeout_sec=600, cancel=SetWhen(says_up)
        )
        assert result.ended_by is EndedBy.CANCEL


class TestSinksAndHeldDescriptors:
    def test_a_sink_gets_the_output_and_no_file_is_made(self, tmp_path: Path) -> None:
        class Collected:
            dropped = 0
            fault = ""
            data = b""
            closed = False

            def write(self, data: bytes) -> None:
                self.data += data

            def close(self) -> None:
                self.closed = True

        sink = Collected()
        run(tmp_path, "echo out; echo err >&2", stderr=sink)
        assert (sink.data, sink.closed) == (b"err\n", True)
        assert not (tmp_path / "stderr").exists()

    def test_a_held_descriptor_is_not_the_program_s(self, tmp_path: Path) -> None:
        read_fd, write_fd = os.pipe()
        try:
            result = run(tmp_path, f"[ ! -e /proc/self/fd/{write_fd} ]", held=(write_fd,))
        finally:
            os.close(write_fd)
        with os.fdopen(read_fd, "rb") as pipe:
            assert pipe.read() == b""  # nobody has it open any more
        assert result.exit_code == 0


class TestAloneFirst:
    """A program that ends what it started itself, in order."""

    SCRIPT = """
        (trap 'echo asked >child; exit' TERM
         echo $BASHPID >pid.child; while :; do sleep 0.05; done) &
        trap 'test ! -e child && echo first >order; kill $!; wait; exit 3' TERM
        echo $$ >pid.parent
        while :; do sleep 0.05; done
    """

    def test_it_is_asked_before_what_it_started(self, tmp_path: Path) -> None:
        when = SetWhen(lambda: len(pids_in(tmp_path)) == 2)
        asked = program(tmp_path, self.SCRIPT, grace_sec=20, alone_first=True)
        result = run_program(asked, timeout_sec=60, cancel=when)
        assert (result.ended_by, result.exit_code) == (EndedBy.CANCEL, 3)
        assert (tmp_path / "order").read_text() == "first\n"
        assert not any(is_running(pid) for pid in pids_in(tmp_path))

    def test_one_that_does_not_end_is_ended_with_all_of_it(self, tmp_path: Path) -> None:
        script = "trap '' TERM; sleep 600 & echo $! >pid.1; echo $$ >pid.2; wait; sleep 600"
        when = SetWhen(lambda: len(pids_in(tmp_path)) == 2)
        result = run_program(
            program(tmp_path, script, alone_first=True), timeout_sec=60, cancel=when
        )
        assert result.exit_code == -signal.SIGKILL
        assert not any(is_running(pid) for pid in pids_in(tmp_path))
