"""``qualify`` for real: controls on planes of their own, a kill in between, generic mutants."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.results.qualification.report import QualificationReport
from tests.integration.conftest import PROVIDER
from tests.integration.harness import (
    Cli,
    deployment,
    namespace_object,
    processes_that_mention,
    property_check,
    wait_until,
    write_task,
)

pytestmark = pytest.mark.skipif(PROVIDER != "local", reason="starts local planes")

GOAL: JsonObject = {
    "name": "three replicas",
    "role": "objective",
    "check": property_check("Deployment", "web", "shop", path="spec.replicas", op="eq", value=3),
}
FLOOR: JsonObject = {
    "name": "never none",
    "role": "safeguard",
    "severity": "catastrophic",
    "mode": "hold",
    "check": property_check("Deployment", "web", "shop", path="spec.replicas", op="gte", value=1),
}
SCALE = "kubectl -n shop scale deployment/web --replicas"
HARM: JsonObject = {
    "name": "from-zero",
    "run": f'{SCALE}=0; bash "$ORACLE"',
    "caught_by": ["never none"],
}


def a_spec(
    folder: Path,
    *,
    mutants: Sequence[JsonObject] = (HARM,),
    oracle: str = "=3",
    access: JsonValue = None,
) -> Path:
    return write_task(
        folder / "web",
        objects=[namespace_object("shop"), deployment("web", "shop")],
        entries=[GOAL, FLOOR],
        verification_budget_sec=3,
        controls={"oracle": {"run": f"{SCALE}{oracle}"}, "mutants": list(mutants)},
        access=access,
    )


def the_folder(cli: Cli) -> Path:
    (folder,) = cli.results.glob("qualify-*")
    return folder


def await_the_first(cli: Cli, process: subprocess.Popen[str]) -> None:
    """Wait until the first control's run has been kept."""
    wait_until(
        lambda: any(cli.results.glob("*/runs/web/oracle/1.json")) or process.poll() is not None,
        "the first run has ended",
        timeout_sec=150,
    )
    assert process.poll() is None, process.communicate()


def the_report(cli: Cli) -> QualificationReport:
    return QualificationReport.model_validate_json((the_folder(cli) / "report.json").read_bytes())


def test_a_killed_one_is_continued_where_it_was(cli: Cli, tmp_path: Path) -> None:
    spec = a_spec(tmp_path)
    with cli.start("qualify", "--spec", spec, "--results-dir", cli.results) as process:
        await_the_first(cli, process)
        wait_until(lambda: any(cli.results.glob("*/runs/web/noop/1/stdout.json")), "the next runs")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    wait_until(lambda: not processes_that_mention(str(cli.state)), "nothing of it runs any more")
    first = (the_folder(cli) / "runs" / "web" / "oracle" / "1.json").stat().st_mtime_ns

    done = cli.run("qualify", "--resume", the_folder(cli), "--jobs", "2")

    assert done.code == 0, str(done)
    assert "ended before: 1" in done.stdout
    assert (the_folder(cli) / "runs" / "web" / "oracle" / "1.json").stat().st_mtime_ns == first
    (task,) = the_report(cli).tasks
    assert {one.plan.name: one.statuses for one in task.controls} == {
        "oracle": {"passed": 1},
        "noop": {"failed": 1},
        "from-zero": {"failed": 1},
    }
    assert [one.killed for one in task.entries] == [["noop"], ["from-zero"]]


def test_an_interrupted_one_keeps_what_has_ended_and_leaves_nothing(
    cli: Cli, tmp_path: Path
) -> None:
    spec = a_spec(tmp_path)
    with cli.start("qualify", "--spec", spec, "--results-dir", cli.results) as process:
        await_the_first(cli, process)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=120)
    done = cli.finished(process.returncode, *output)

    assert done.code == 130, str(done)
    assert f"continue it with --resume {the_folder(cli)}" in done.stdout
    assert the_report(cli).interrupted
    assert processes_that_mention(str(cli.state)) == set()


def test_a_bad_spec_is_found_out(cli: Cli, tmp_path: Path) -> None:
    # Its oracle is wrong, and nobody looks at what the mutant does.
    relabel: JsonObject = {
        "name": "relabelled",
        "run": 'bash "$ORACLE"; kubectl -n shop label deployment/web a=b',
        "caught_by": ["never none"],
    }
    spec = a_spec(tmp_path, mutants=[relabel], oracle="=2")

    done = cli.run("qualify", "--spec", spec, "--results-dir", cli.results, "--jobs", "3")

    assert done.code == 1, str(done)
    assert "oracle: the right solution fails: 'three replicas'" in done.stdout
    assert "relabelled: not caught by 'never none'" in done.stdout
    assert "DEAD WEIGHT" in done.stdout


def test_generic_mutants_do_their_harm(cli: Cli, tmp_path: Path) -> None:
    spec = a_spec(tmp_path)

    done = cli.run(
        "qualify", "--spec", spec, "--results-dir", cli.results, "--jobs", "3", "--mutants=builtin"
    )

    assert done.code == 0, str(done)
    (task,) = the_report(cli).tasks
    came_to = {one.plan.name: one.builtin for one in task.controls if one.builtin}
    assert came_to == {
        "builtin-delete-deployment-web": "caught",
        "builtin-scale-deployment-web": "caught",
        "builtin-recreate-deployment-web": "caught",
        "builtin-restart-deployment-web": "missed",
        "builtin-flip-deployment-web": "missed",
        "builtin-end-namespace-namespace-shop": "caught",
        "builtin-pretend-deployment-web": "caught",
        "builtin-relabel-deployment-web": "missed",
        "builtin-blind-namespace-shop": "does_not_apply",
        "builtin-later-deployment-web": "missed",
    }
    assert any("loosen the policy" in text for text in task.not_applicable)


def test_what_the_access_forbids_is_neither_caught_nor_missed(cli: Cli, tmp_path: Path) -> None:
    # The goal is not reached, and not because of any harm: what should do some is not there.
    dies: JsonObject = {
        "name": "never-did-anything",
        "run": f'kubectl nosuchcommand; {SCALE}=0; bash "$ORACLE"',
        "caught_by": ["three replicas"],
    }
    spec = a_spec(tmp_path, mutants=[HARM, dies], access={"preset": "edit"})

    done = cli.run(
        "qualify", "--spec", spec, "--results-dir", cli.results, "--jobs", "3", "--mutants=builtin"
    )

    assert done.code == 3, str(done)
    (task,) = the_report(cli).tasks
    controls = {one.plan.name: one for one in task.controls}
    assert controls["never-did-anything"].judgement == "not_evaluable"
    assert controls["never-did-anything"].exit_codes == [1]
    assert "never-did-anything: its script exited with code 1" in done.stdout
    came_to = {name: one.builtin for name, one in controls.items() if one.builtin}
    assert came_to == {
        "builtin-delete-deployment-web": "caught",
        "builtin-scale-deployment-web": "caught",
        "builtin-recreate-deployment-web": "caught",
        "builtin-restart-deployment-web": "missed",
        "builtin-flip-deployment-web": "missed",
        "builtin-end-namespace-namespace-shop": "not_allowed",
        "builtin-pretend-deployment-web": "not_allowed",
        "builtin-relabel-deployment-web": "missed",
        "builtin-blind-namespace-shop": "not_allowed",
        "builtin-later-deployment-web": "not_allowed",
    }
    goal, floor = task.entries
    assert goal.killed == ["noop", "builtin-delete-deployment-web"]
    assert "from-zero" in floor.killed
