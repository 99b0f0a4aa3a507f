"""``qualify``: what is refused, what it runs, what it keeps, and how it is continued."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from devops_bench.cli import control_runs, qualification
from devops_bench.cli.outputfile import OutputFile
from devops_bench.cli.qualification import Order, qualify_specs
from devops_bench.core.errors import InvalidInputError, OutputError
from devops_bench.results.qualification.report import QualificationReport
from devops_bench.results.qualification.store import QualificationFolder

from .conftest import SPEC, Run

CONTROLS = """\
  partial:
    run: kubectl -n {{NAMESPACE}} scale deployment/web --replicas=2
    score: {min: 0.4, max: 0.6}
  mutants:
    - name: harm
      run: kubectl -n {{NAMESPACE}} delete deployment/web
      caught_by: [three replicas]
"""
FULL = SPEC.replace("verification_spec:", f"{CONTROLS}verification_spec:")

# Stands in for `devops-bench run`: comes to what ANSWERS says of the control, and notes the call.
STAND_IN = """\
import json, os, sys
from pathlib import Path
name = sys.argv[-1]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(name + chr(10))
answer = json.loads(Path(os.environ["ANSWERS"]).read_text())[name]
if answer == "crash":
    print("error: no cluster to be had", file=sys.stderr)
    sys.exit(3)
status, outcome, verdict = answer
row = {"name": "three replicas", "role": "objective", "severity": None, "mode": "converge",
       "weight": 1.0, "success": verdict == "pass", "status": verdict, "reason": "as told"}
task = {"id": "web", "status": status, "outcome": outcome, "verification_report": [row]}
print(json.dumps({"run_id": "r", "tasks": [task]}))
"""
GOOD = {
    "oracle": ["passed", 1.0, "pass"],
    "noop": ["failed", 0.0, "fail"],
    "partial": ["failed", 0.5, "fail"],
    "harm": ["failed", 0.0, "fail"],
}


class StandIn:
    """The stand-in for ``run``, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self._answers = folder / "answers.json"
        self.calls_file = folder / "calls.txt"
        self.answer(**GOOD)

    def answer(self, **answers: object) -> None:
        """Say what each control comes to from now on."""
        self._answers.write_text(json.dumps({**GOOD, **answers}))

    @property
    def calls(self) -> list[str]:
        """The controls that were run, in order."""
        return self.calls_file.read_text().split() if self.calls_file.exists() else []


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    program = tmp_path / "stand_in.py"
    program.write_text(STAND_IN)
    monkeypatch.setattr(control_runs, "_COMMAND", (sys.executable, str(program)))
    monkeypatch.setenv("ANSWERS", str(tmp_path / "answers.json"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls.txt"))
    return StandIn(tmp_path)


@pytest.fixture
def order(tmp_path: Path) -> Order:
    spec = tmp_path / "web.yaml"
    spec.write_text(FULL)
    return Order(specs=(spec,), results_dir=tmp_path / "results")


def folder_of(order: Order) -> Path:
    (folder,) = order.results_dir.glob("qualify-*")
    return folder


def resumed(order: Order) -> Order:
    return Order(resume=folder_of(order))


def report_of(order: Order) -> QualificationReport:
    text = (folder_of(order) / "report.json").read_text()
    return QualificationReport.model_validate_json(text)


class TestRefused:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("", "say what to qualify"),
            ("--spec web.yaml --repeat 0", "Invalid value for '--repeat'"),
            ("--spec web.yaml --jobs 0", "Invalid value for '--jobs'"),
            ("--spec web.yaml --mutants mine", "Invalid value for '--mutants'"),
            ("--spec web.yaml --provider kind --context x", "one or the other"),
            ("--spec web.yaml --jobs 2 --kubeconfig x", "would meet each other"),
            ("--resume here --spec web.yaml", "only --jobs, --output and --junit go with it"),
            ("--resume here --results-dir x", "only --jobs, --output and --junit go with it"),
            ("--resume here --repeat 3", "only --jobs, --output and --junit go with it"),
            ("--resume here", "here is no folder of a qualification"),
            ("--spec gone.yaml", "gone.yaml"),
            ("--spec web.yaml --var X", "is not NAME=VALUE"),
        ],
    )
    def test_a_request_that_cannot_be(
        self, devops_bench: Run, spec: Path, tmp_path: Path, words: str, said: str
    ) -> None:
        done = devops_bench("qualify", *words.split())
        assert said in done.stderr
        assert done.returncode == 2
        assert not (tmp_path / "results").exists()

    def test_a_task_without_an_oracle(self, devops_bench: Run, tmp_path: Path) -> None:
        spec = tmp_path / "web.yaml"
        start, end = SPEC.index("controls:"), SPEC.index("verification_spec:")
        spec.write_text(SPEC[:start] + SPEC[end:])
        done = devops_bench("qualify", "--spec", spec)
        assert done.returncode == 2
        assert "without controls.oracle a task cannot be qualified: web" in done.stderr
        assert not (tmp_path / "results").exists()

    @pytest.mark.parametrize("command", ["qualify", "run --agent noop"])
    def test_a_task_that_needs_containers_where_none_run(
        self, devops_bench: Run, spec: Path, tmp_path: Path, command: str
    ) -> None:
        spec.write_text(f"{SPEC}requires: [containers]\n")
        done = devops_bench(*command.split(), "--spec", spec)
        assert done.returncode == 2
        assert "task web requires containers: the local control plane plays" in done.stderr
        assert "--provider kind" in done.stderr
        assert not (tmp_path / "results").exists()


class TestRuns:
    def test_each_control_once(
        self, runs: StandIn, order: Order, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert qualify_specs(order) == 0
        assert runs.calls == ["oracle", "noop", "partial", "harm"]
        said = capsys.readouterr().out
        assert "[4/4] web harm #1: failed in" in said
        assert "4 of 4 controls did as expected, each run once" in said

    def test_every_control_once_before_the_first_runs_again(
        self, runs: StandIn, order: Order
    ) -> None:
        twice = Order(specs=order.specs, results_dir=order.results_dir, repeat=2)
        assert qualify_specs(twice) == 0
        assert runs.calls == ["oracle", "noop", "partial", "harm"] * 2
        assert report_of(order).rates.false_pass.total == 6

    def test_several_at_a_time(self, runs: StandIn, order: Order) -> None:
        many = Order(specs=order.specs, results_dir=order.results_dir, repeat=3, jobs=4)
        assert qualify_specs(many) == 0
        assert sorted(runs.calls) == sorted(["oracle", "noop", "partial", "harm"] * 3)

    @pytest.mark.parametrize(
        ("answers", "code", "said"),
        [
            ({"noop": ["passed", 1.0, "pass"]}, 1, "noop: doing nothing passes"),
            ({"harm": ["passed", 1.0, "pass"]}, 1, "harm: not caught by 'three replicas'"),
            ({"partial": ["passed", 1.0, "pass"]}, 1, "its outcome is 1, not 0.4 to 0.6"),
            ({"oracle": "crash"}, 3, "error: no cluster to be had"),
            ({"oracle": "crash", "noop": ["passed", 1.0, "pass"]}, 3, "doing nothing passes"),
        ],
    )
    def test_a_control_that_does_not_as_it_should(
        self,
        runs: StandIn,
        order: Order,
        capsys: pytest.CaptureFixture[str],
        answers: dict[str, object],
        code: int,
        said: str,
    ) -> None:
        runs.answer(**answers)
        assert qualify_specs(order) == code
        assert said in capsys.readouterr().out

    def test_json_and_junit(
        self, runs: StandIn, order: Order, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        junit = tmp_path / "junit.xml"
        named = OutputFile(junit, "--junit")
        asked = Order(specs=order.specs, results_dir=order.results_dir, as_json=True, junit=named)
        assert qualify_specs(asked) == 0
        printed = QualificationReport.model_validate_json(capsys.readouterr().out)
        assert printed == report_of(order)
        assert 'tests="4"' in junit.read_text()

    def test_a_junit_file_that_cannot_be_written_is_found_before_anything_runs(
        self, runs: StandIn, order: Order, tmp_path: Path
    ) -> None:
        for path in (tmp_path, tmp_path / "nowhere" / "x.xml"):
            named = OutputFile(path, "--junit")
            asked = Order(specs=order.specs, results_dir=order.results_dir, junit=named)
            with pytest.raises(InvalidInputError, match="--junit"):
                qualify_specs(asked)
        assert not runs.calls_file.exists()

    def test_a_junit_file_that_is_lost_costs_nothing_else(
        self, runs: StandIn, order: Order, capsys: pytest.CaptureFixture[str]
    ) -> None:
        full = OutputFile(Path("/dev/full"), "--junit")
        asked = Order(specs=order.specs, results_dir=order.results_dir, junit=full)
        with pytest.raises(OutputError, match=r"/dev/full \(--junit\): No space left"):
            qualify_specs(asked)
        assert "4 of 4 controls did as expected" in capsys.readouterr().out
        assert report_of(order).exit_code == 0


class TestContinued:
    @pytest.mark.parametrize(
        "variable", ["VERIFICATION_TIMEOUT_SEC", "VERIFICATION_TOTAL_BUDGET_SEC"]
    )
    def test_the_bounds_are_those_it_began_with(
        self,
        runs: StandIn,
        order: Order,
        monkeypatch: pytest.MonkeyPatch,
        variable: str,
    ) -> None:
        monkeypatch.setenv(variable, "7")
        assert qualify_specs(order) == 0
        before = report_of(order)
        monkeypatch.delenv(variable)
        with pytest.raises(InvalidInputError, match=f"set {variable}=7"):
            qualify_specs(resumed(order))
        assert report_of(order) == before

    def test_only_what_is_missing_runs(self, runs: StandIn, order: Order) -> None:
        assert qualify_specs(order) == 0
        # As a kill would leave it: two have ended, one was at work.
        kept = folder_of(order) / "runs" / "web"
        (kept / "partial" / "1.json").unlink()
        (kept / "harm" / "1.json").unlink()
        runs.calls_file.unlink()

        assert qualify_specs(resumed(order)) == 0
        assert runs.calls == ["partial", "harm"]

    def test_a_run_that_could_not_be_evaluated_is_not_made_again(
        self, runs: StandIn, order: Order
    ) -> None:
        runs.answer(oracle="crash")
        assert qualify_specs(order) == 3
        runs.answer()
        assert qualify_specs(resumed(order)) == 3
        assert runs.calls.count("oracle") == 1

    def test_a_spec_that_has_changed_is_refused(self, runs: StandIn, order: Order) -> None:
        assert qualify_specs(order) == 0
        order.specs[0].write_text(FULL.replace("replicas=2", "replicas=1"))
        with pytest.raises(InvalidInputError, match=r"task web .* has changed since"):
            qualify_specs(resumed(order))

    def test_two_at_once_on_one_folder_are_refused(self, runs: StandIn, order: Order) -> None:
        assert qualify_specs(order) == 0
        with (
            qualification._sole_owner(folder_of(order)),
            pytest.raises(InvalidInputError, match="at work in another process"),
        ):
            qualify_specs(resumed(order))

    def test_what_was_cancelled_is_not_kept(self, runs: StandIn, order: Order) -> None:
        assert qualify_specs(order) == 0
        folder = QualificationFolder(folder_of(order))
        cancel = threading.Event()
        cancel.set()
        plan = folder.request().tasks[0].controls[0]
        job = control_runs.Job(plan, 2, order.specs[0], 60)
        settings = control_runs.RunSettings()
        assert list(control_runs.run_jobs([job], settings, folder, 1, cancel)) == []


def test_generic_mutants_run_and_decide_nothing(runs: StandIn, order: Order) -> None:
    spec = order.specs[0]
    spec.write_text(
        FULL.replace(
            "controls:",
            "setup:\n  objects:\n"
            "    - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\ncontrols:",
        )
    )
    names = ("delete-configmap-c", "recreate-configmap-c", "later-configmap-c")
    runs.answer(**{f"builtin-{name}": ["passed", 1.0, "pass"] for name in names})
    asked = Order(specs=order.specs, results_dir=order.results_dir, builtin=True)
    assert qualify_specs(asked) == 0
    (task,) = report_of(order).tasks
    assert [one.builtin for one in task.controls if one.builtin] == ["missed"] * 3
    assert len(task.not_applicable) == 8
