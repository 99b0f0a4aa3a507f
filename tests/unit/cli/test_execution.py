"""What a run says, writes down and exits with."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from devops_bench.agents.base import AGENTS, Agent
from devops_bench.agents.idle import NoopAgent
from devops_bench.cli import execution
from devops_bench.cli.clusters import ClusterChoice
from devops_bench.cli.execution import RunRequest, execute
from devops_bench.clusters.base import Cluster
from devops_bench.core.errors import DevopsBenchError, InvalidInputError
from devops_bench.evalharness.default import HarnessOptions
from devops_bench.evalharness.events import Phase, Reporter
from devops_bench.results.model import RunResult, TaskResult
from devops_bench.results.writer import ResultWriter, read_result
from devops_bench.scoring.outcome import TaskStatus
from devops_bench.tasks.model import Task

from .conftest import SPEC


class FakeProvider:
    """Never asked for a cluster: the harness is a fake, too."""

    name = "fake"
    why = "of the test"

    @contextmanager
    def provide(self, run_id: str, run_dir: Path) -> Iterator[Cluster]:
        raise NotImplementedError
        yield


Outcome = TaskStatus | Callable[[], TaskStatus] | Exception


class Harness:
    """Stands where ``DefaultEvalHarness`` does, and gives each task the outcome it is told."""

    outcomes: tuple[Outcome, ...] = ()

    def __init__(
        self,
        provider: FakeProvider,
        agent_factory: Callable[[Task], Agent],
        *,
        run_id: str,
        reporter: Reporter,
        options: HarnessOptions,
        cancel: object,
    ) -> None:
        self.agent_factory = agent_factory
        self.reporter = reporter
        self.options = options
        self.left = list(self.outcomes)

    def run_task(self, task: Task, run_dir: Path) -> TaskResult:
        self.agent_factory(task)
        self.reporter.task_started(task.id, task.title)
        self.reporter.phase_started(task.id, Phase.TURN, "")
        outcome = self.left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        status = outcome() if callable(outcome) else outcome
        result = TaskResult(id=task.id, status=status, reason=f"because {status}")
        self.reporter.task_finished(result)
        return result


@pytest.fixture
def outcomes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[RunRequest, Path]]:
    """Return a request whose tasks come to the outcomes that are given."""
    choice = ClusterChoice(FakeProvider, lambda _: "c")
    monkeypatch.setattr(execution, "choose_provider", lambda *_, **__: choice)
    monkeypatch.setattr(execution, "DefaultEvalHarness", Harness)
    monkeypatch.chdir(tmp_path)

    def make(*wanted: Outcome, **fields: object) -> tuple[RunRequest, Path]:
        monkeypatch.setattr(Harness, "outcomes", wanted)
        (tmp_path / "specs").mkdir()
        for number in range(len(wanted)):
            text = SPEC.replace("id: web", f"id: web{number}")
            (tmp_path / "specs" / f"{number}.yaml").write_text(text)
        values: dict[str, object] = {"specs": (tmp_path / "specs",), "agent": "noop", **fields}
        return RunRequest(**values), tmp_path / "results"  # type: ignore[arg-type]

    return make


Outcomes = Callable[..., tuple[RunRequest, Path]]


def only_result(results: Path) -> RunResult:
    (folder,) = results.iterdir()
    return read_result(folder)


class TestRun:
    @pytest.mark.parametrize(
        ("statuses", "code"),
        [
            (("passed",), 0),
            (("passed", "failed"), 1),
            (("failed", "error"), 3),
            (("error", "passed"), 3),
            (("interrupted",), 130),
        ],
    )
    def test_the_exit_code(
        self, outcomes: Outcomes, statuses: tuple[TaskStatus, ...], code: int
    ) -> None:
        request, results = outcomes(*statuses)
        assert execute(request) == code
        assert [task.status for task in only_result(results).tasks] == list(statuses)

    def test_the_first_line_says_which_cluster_and_why(
        self, outcomes: Outcomes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        request, results = outcomes("passed")
        execute(request)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "cluster: fake (of the test)"
        assert lines[-1] == f"result: results/{next(results.iterdir()).name}/result.json"

    def test_with_json_the_result_is_all_that_goes_to_stdout(
        self, outcomes: Outcomes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        request, results = outcomes("passed", "failed", as_json=True)
        execute(request)
        captured = capsys.readouterr()
        assert RunResult.model_validate(json.loads(captured.out)) == only_result(results)
        assert captured.err.splitlines()[0] == "cluster: fake (of the test)"

    def test_a_task_that_could_not_be_evaluated_is_an_error_line(
        self, outcomes: Outcomes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        request, _ = outcomes("passed", "error")
        execute(request)
        assert capsys.readouterr().err == "error: task web1: because error\n"

    def test_a_variable_that_nobody_reads_is_probably_a_mistake(
        self, outcomes: Outcomes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        request, _ = outcomes("passed", variables={"NAMESPACE": "a", "NAMESPCE": "b"})
        assert execute(request) == 0
        assert capsys.readouterr().err == (
            "warning: --var NAMESPCE: no spec refers to that variable\n"
        )

    def test_a_file_that_the_agent_will_not_find_is_pointed_out(
        self, outcomes: Outcomes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ("bash", "agent.sh", "--flag", "/bin/sh")
        request, results = outcomes("passed", agent="command", agent_words=words)
        (results.parent / "agent.sh").write_text("true\n")
        assert execute(request) == 0
        assert capsys.readouterr().err == (
            "warning: agent.sh is a file here, but the agent starts in a new empty folder: "
            "give its full path if it is meant\n"
        )

    def test_a_script_among_the_words_is_no_file_however_long_it_is(
        self, outcomes: Outcomes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ("sh", "-c", "echo; " * 100)
        request, _ = outcomes("passed", agent="command", agent_words=words)
        assert execute(request) == 0
        assert capsys.readouterr().err == ""

    def test_who_ran_what_is_written_down(self, outcomes: Outcomes) -> None:
        request, results = outcomes(
            "passed", agent="command", agent_words=("true", "--flag"), timeout_sec=5.0
        )
        execute(request)
        result = only_result(results)
        assert result.agent == "command true --flag"
        assert result.planned == ["web0"]
        assert result.started_at is not None
        assert result.finished_at is not None
        assert result.run_id == next(results.iterdir()).name

    def test_each_task_has_one_agent_that_is_made_once(
        self, outcomes: Outcomes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[str] = []

        def for_task(task: Task, options: object) -> NoopAgent:
            made.append(task.id)
            return NoopAgent()

        monkeypatch.setattr(NoopAgent, "for_task", for_task)
        request, _ = outcomes("passed", "passed")
        execute(request)
        assert made == ["web0", "web1"]

    def test_a_plug_in_that_is_passed_over_is_told(
        self,
        outcomes: Outcomes,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr(AGENTS, "passed_over", lambda name: [f"theirs:{name}"])
        request, _ = outcomes("passed")
        execute(request)
        assert "warning: the plug-in theirs:noop is called noop too" in capsys.readouterr().err

    def test_bad_input_that_shows_late_leaves_nothing(self, outcomes: Outcomes) -> None:
        request, results = outcomes(InvalidInputError("no such context"))
        with pytest.raises(InvalidInputError):
            execute(request)
        assert list(results.iterdir()) == []

    def test_what_was_done_before_a_fault_is_kept(self, outcomes: Outcomes) -> None:
        request, results = outcomes("passed", OSError(28, "No space left on device"))
        with pytest.raises(OSError, match="No space"):
            execute(request)
        kept = only_result(results)
        assert [task.id for task in kept.tasks] == ["web0"]
        assert kept.finished_at is None
        assert kept.exit_code == 3

    def test_a_result_that_cannot_be_written_is_said(
        self, outcomes: Outcomes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        request, _ = outcomes("passed")
        monkeypatch.setattr(ResultWriter, "write", full)
        with pytest.raises(DevopsBenchError, match=r"result\.json: No space left on device"):
            execute(request)

    def test_a_result_that_is_lost_on_the_way_is_told_once_and_not_pointed_to(
        self,
        outcomes: Outcomes,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        write, calls = ResultWriter.write, []

        def fills_up(writer: ResultWriter, result: RunResult) -> None:
            calls.append(result)
            if len(calls) > 1:
                raise OSError(28, "No space left on device")
            write(writer, result)

        request, _ = outcomes("passed", "passed")
        monkeypatch.setattr(ResultWriter, "write", fills_up)
        assert execute(request) == 3
        said = capsys.readouterr()
        assert said.err.count("could not be written") == 1
        assert "\nresult: " not in said.out
        assert "is not up to date" in said.out


class TestInterrupted:
    def test_no_further_task_begins(self, outcomes: Outcomes) -> None:
        def interrupted() -> TaskStatus:
            signal.raise_signal(signal.SIGTERM)
            return "interrupted"

        request, results = outcomes(interrupted, "passed")
        assert execute(request) == 130
        result = only_result(results)
        assert [task.status for task in result.tasks] == ["interrupted"]
        assert result.planned == ["web0", "web1"]

    def test_a_signal_that_came_too_late_for_the_task_still_ends_the_run(
        self, outcomes: Outcomes, capfd: pytest.CaptureFixture[str]
    ) -> None:
        def passed() -> TaskStatus:
            signal.raise_signal(signal.SIGINT)
            return "passed"

        request, results = outcomes(passed, "passed")
        assert execute(request) == 130
        assert [task.status for task in only_result(results).tasks] == ["passed"]
        assert "SIGINT: ending the run" in capfd.readouterr().err
