"""A task's script as a check of a spec."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.tasks.loader import LoadResult, load_task
from devops_bench.verification.base import ProbeContext
from devops_bench.verification.probes.verify_script import (
    VerifyScript,
    as_verification_result,
)
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.runner import VerifierAgent
from devops_bench.verification.spec import VerificationEntry, parse_entries
from devops_bench.verify_protocol.judge import judge
from devops_bench.verify_protocol.model import Ending
from devops_bench.verify_protocol.parser import parse
from devops_bench.verify_protocol.slots import STATE_VARIABLE, leased_slot, slots_dir

SAYS = 'import os, sys\nsys.stderr.write("""{}""")\nsys.exit({})\n'
LONG_SEC = 60.0


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))


def task(parent: Path, script: str, name: str = "board") -> Path:
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / "verify.py").write_text(script)
    return folder


def spec(tmp_path: Path, check: str, more: str = "") -> LoadResult:
    file = tmp_path / "task.yaml"
    file.write_text(
        "id: a\nprompt: Do it.\n"
        f"{more}"
        "verification_spec:\n  - name: b\n    role: objective\n    mode: assert\n"
        f"    check: {{type: verify_script, {check}}}\n"
    )
    return load_task(file)


def test_its_checks_are_the_children_with_their_weights(tmp_path: Path) -> None:
    folder = task(tmp_path, SAYS.format("[PASS] (1pt) a\n[FAIL] (3pt) b  (no)\n", 1))
    result = VerifierAgent().sample(VerifyScript(task_dir=str(folder)), LONG_SEC)
    assert result.status == "fail"
    assert result.reason == "1 of 4 points, failed: b"
    children = [(child.name, child.status, child.raw, child.reason) for child in result.children]
    assert children == [("a", "pass", {"weight": 1}, ""), ("b", "fail", {"weight": 3}, "no")]


@pytest.mark.parametrize(
    ("output", "code", "status"),
    [
        ("[PASS] (1pt) a\n", 0, "pass"),
        ("[PASS] (1pt) a\n", 1, "error"),
        ("[PASS] (1pt) a\nSCORE: 0  PASS: False  (0/1)\n", 0, "fail"),
        ("", 0, "error"),
    ],
)
def test_the_status(output: str, code: int, status: str) -> None:
    result = as_verification_result(judge("t", parse(output.encode()), Ending(code)))
    assert result.status == status
    assert result.reason


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (LONG_SEC, "timeout after 0.5s; "),
        (5.2, "timeout after 0.2s, all that the budget left of its 0.5s; "),
    ],
)
def test_a_timeout_is_told_as_the_spec_has_it(tmp_path: Path, allowed: float, said: str) -> None:
    script = (
        "import sys, threading\nprint('at work', file=sys.stderr)\nthreading.Event().wait(60)\n"
    )
    check = VerifyScript(task_dir=str(task(tmp_path, script)), timeout_sec=0.5)
    result = check.probe(ProbeContext(kubeconfig=None, work_dir=tmp_path), allowed)
    assert result.status == "error"
    # A busy machine may not have come to the output.
    assert f"{result.reason}; ".startswith(said)


def test_of_many_checks_the_failed_ones_are_shown_and_the_rest_is_counted() -> None:
    output = b"[PASS] (1pt) a\n" * 700 + b"[FAIL] (1pt) the one\n"
    result = as_verification_result(judge("t", parse(output), Ending(1)))
    assert len(result.children) == 500
    assert result.children[0].name == "the one"
    assert "201 checks are not shown" in result.reason


def test_without_a_script_it_is_an_error(tmp_path: Path) -> None:
    result = VerifierAgent().sample(VerifyScript(task_dir=str(tmp_path)), LONG_SEC)
    assert (result.status, result.reason) == ("error", "no verify.py")


def test_it_gets_the_cluster_and_its_sites(tmp_path: Path) -> None:
    folder = task(
        tmp_path,
        "import os, sys\nfor name in ('KUBECONFIG', 'TWENTY_PORT', 'TWENTY_CONTAINER'):\n"
        "    print('[PASS] (1pt) ' + os.environ[name], file=sys.stderr)\n",
    )
    (folder / "meta.json").write_text('{"meta_data": {"sites": ["twenty"]}}')
    agent = VerifierAgent(probe_context=ProbeContext(kubeconfig=tmp_path / "kubeconfig"))
    result = agent.sample(VerifyScript(task_dir=str(folder), slot=4, ports={"twenty": 80}), 60)
    names = [child.name for child in result.children]
    assert names == [str(tmp_path / "kubeconfig"), "80", "rollout_4_twenty"]


def test_a_timeout_of_its_own(tmp_path: Path) -> None:
    folder = task(
        tmp_path,
        "import sys, time\nprint('[PASS] (1pt) a', file=sys.stderr)\nwhile True: time.sleep(9)\n",
    )
    result = VerifierAgent().sample(VerifyScript(task_dir=str(folder), timeout_sec=3), LONG_SEC)
    assert result.status == "error"
    assert "timeout after" in result.reason
    assert len(result.children) == 1


def test_a_converge_entry_gives_it_its_time(tmp_path: Path) -> None:
    """More than the 30 seconds that a sample may take by default."""

    class Asked(VerifyScript):
        def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
            return as_verification_result(
                judge("t", parse(f"[PASS] (1pt) {timeout_sec:.0f}".encode()), Ending(0))
            )

    entry = VerificationEntry(
        name="a", role="objective", check=Asked(task_dir="x", timeout_sec=200)
    )
    (child,) = VerifierAgent().run_entry(entry, 1000).children
    assert child.name == str(200 + int(VerifyScript.ending_sec))


def test_a_converge_entry_ends_with_a_look_and_not_for_want_of_time(tmp_path: Path) -> None:
    """A last sample that is too short to run the script would hide what the others saw."""
    folder = task(tmp_path, SAYS.format("[FAIL] (1pt) a\n", 1))
    check = VerifyScript(task_dir=str(folder), timeout_sec=2)
    entry = VerificationEntry(name="a", role="objective", check=check)
    result = VerifierAgent().run_entry(entry, check.own_timeout_sec())
    assert (result.status, result.reason) == ("fail", "0 of 1 points, failed: a")


def test_a_slot_that_another_run_has_is_an_error_in_time(tmp_path: Path) -> None:
    folder = task(tmp_path, SAYS.format("[PASS] (1pt) a\n", 0))
    with leased_slot([0], prefix="rollout", give_up=lambda: False) as lease:
        assert lease is not None
        check = VerifyScript(task_dir=str(folder), timeout_sec=0.2)
        result = VerifierAgent().sample(check, LONG_SEC)
    assert result.status == "error"
    assert "slot 0" in result.reason
    assert list(slots_dir().iterdir())


def test_hold_is_refused_with_the_reason() -> None:
    check = {"type": "all", "checks": [{"type": "verify_script", "task_dir": "x"}]}
    entry = {"name": "a", "role": "objective", "mode": "hold", "hold_window_sec": 5, "check": check}
    entries, errors = parse_entries([entry])
    assert not entries
    assert "mode: hold is not for verify_script, which runs a script" in errors[0]["reason"]
    for mode in ("assert", "converge"):
        assert parse_entries([{"name": "a", "role": "objective", "mode": mode, "check": check}])[0]


def test_a_spec_names_a_folder_below_its_own(tmp_path: Path) -> None:
    task(tmp_path, "", "tasks/board")
    loaded = spec(tmp_path, "task_dir: tasks/board")
    assert loaded.task is not None, loaded.diagnostics
    check = loaded.task.entries[0].check
    assert isinstance(check, VerifyScript)
    assert check.task_dir == str((tmp_path / "tasks" / "board").resolve())


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("task_dir: ../other", "leaves the folder"),
        ("task_dir: /tmp", "is an absolute path"),
        ("task_dir: link", "leaves the folder"),
        ("task_dir: empty", "there is no empty/verify.py"),
        ("slot: 0", "task_dir"),
        ("task_dir: board, timeout_sec: 0", "greater than 0"),
        ("task_dir: board, slot: -1", "at least 0"),
        ("task_dir: board, ports: {a: 0}", "at least 1"),
        ("task_dir: board, timeout_sec: 596", "may take 601 s to its end, more than the 600 s"),
    ],
)
def test_what_a_spec_may_not_say(tmp_path: Path, check: str, said: str) -> None:
    folder = tmp_path / "spec"
    task(folder, "")
    task(tmp_path, "", "other")
    (folder / "empty").mkdir()
    (folder / "link").symlink_to(tmp_path / "other")
    loaded = spec(folder, check)
    assert loaded.task is None
    assert said in "\n".join(str(found) for found in loaded.diagnostics)


def test_scripts_of_one_entry_share_the_budget(tmp_path: Path) -> None:
    task(tmp_path, "")
    script = "{type: verify_script, task_dir: board, timeout_sec: 60}"
    budget = "verification_budget_sec: 100\n"
    file = tmp_path / "task.yaml"
    file.write_text(
        f"id: a\nprompt: Do it.\n{budget}verification_spec:\n  - name: b\n    role: objective\n"
        f"    check: {{type: all, checks: [{script}, {script}]}}\n"
    )
    loaded = load_task(file)
    assert loaded.task is None
    assert "may take 130 s to its end, more than the 100 s" in str(loaded.diagnostics[0])
