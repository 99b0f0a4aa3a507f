"""``devops-bench verify`` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.integration.harness import PROGRAM, wait_until
from tests.unit.verify_protocol.corpus import ROWS, needs_corpus

PASSES = 'import sys; print("[PASS] (2pt) a", file=sys.stderr)'
FAILS = 'import sys; sys.exit("[PASS] (1pt) a\\n[FAIL] (3pt) b  (no)")'
CRASHES = 'import sys; print("[PASS] (1pt) a", file=sys.stderr); raise KeyError("x")'
WAITS = """
import pathlib, sys, time
here = pathlib.Path(__file__).parent
print("[PASS] (1pt) a", file=sys.stderr, flush=True)
(here / "started").touch()
while not (here / "go").exists(): time.sleep(0.02)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "DEVOPS_BENCH_STATE": str(tmp_path / "state"),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }


def task(parent: Path, name: str, script: str | None, meta: str = "{}") -> Path:
    folder = parent / name
    folder.mkdir()
    (folder / "meta.json").write_text(meta)
    if script is not None:
        (folder / "verify.py").write_text(script)
    return folder


def start(
    tmp_path: Path, environment: Mapping[str, str], *words: str | Path
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [PROGRAM, "verify", *map(str, words), "--result-dir", str(tmp_path / "results")],
        env=dict(environment),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def verify(
    tmp_path: Path, environment: Mapping[str, str], *words: str | Path
) -> tuple[int, str, str]:
    process = start(tmp_path, environment, *words)
    stdout, stderr = process.communicate(timeout=120)
    assert "Traceback" not in stderr
    return process.returncode, stdout, stderr


@pytest.mark.parametrize(
    ("scripts", "code"),
    [
        ([PASSES], 0),
        ([PASSES, FAILS], 1),
        ([PASSES, FAILS, CRASHES], 3),
        ([PASSES, None], 3),
    ],
)
def test_exit_codes_and_files(
    tmp_path: Path, environment: dict[str, str], scripts: list[str | None], code: int
) -> None:
    folders = [task(tmp_path, f"t{n}", script) for n, script in enumerate(scripts)]
    done, stdout, _ = verify(tmp_path, environment, *folders)
    assert done == code
    results = [json.loads((tmp_path / "results" / f"t{n}_verify.json").read_text())
               for n in range(len(scripts))]  # fmt: skip
    wanted = {PASSES: "PASS", FAILS: "FAIL", CRASHES: "ERROR", None: "SKIP"}
    assert [result["status"] for result in results] == [wanted[script] for script in scripts]
    assert len({tuple(result) for result in results}) == 1  # one shape
    for result in results:
        assert f"{result['task_id']}" in stdout
        assert result["status"] in stdout


def test_json_on_stdout_and_progress_on_stderr(tmp_path: Path, environment: dict[str, str]) -> None:
    folders = [task(tmp_path, "a", PASSES), task(tmp_path, "b", FAILS)]
    code, stdout, stderr = verify(
        tmp_path, environment, *folders, "--output", "json", "--slot", "0,1"
    )
    printed = json.loads(stdout)
    assert code == 1
    assert printed["summary"] == {"PASS": 1, "FAIL": 1, "ERROR": 0, "SKIP": 0}
    assert [result["task_id"] for result in printed["results"]] == ["a", "b"]
    assert "b: FAIL 0.250" in stderr


def test_junit(tmp_path: Path, environment: dict[str, str]) -> None:
    odd = (
        'import sys; sys.stderr.write("[PASS] (1pt) a\\x00\\x1b<&\\nSCORE: 0  PASS: False  (0/1)")'
    )
    scripts = {"ok": PASSES, "bad": FAILS, "crash": CRASHES, "none": None, "odd": odd}
    folders = [task(tmp_path, name, script) for name, script in scripts.items()]
    verify(tmp_path, environment, *folders, "--junit", tmp_path / "junit.xml")
    root = ET.fromstring((tmp_path / "junit.xml").read_bytes())
    found = {
        suite.attrib["name"]: [child.tag for case in suite for child in case] for suite in root
    }
    assert found == {
        "ok": [], "bad": ["failure"], "crash": ["error"], "none": ["skipped"], "odd": ["failure"],
    }  # fmt: skip


def test_select(tmp_path: Path, environment: dict[str, str]) -> None:
    folders = [task(tmp_path, name, PASSES) for name in ("media_1", "media_2", "business_1")]
    code, _, _ = verify(tmp_path, environment, *folders, "--select", "media_*")
    assert code == 0
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == ["media_1_verify.json", "media_2_verify.json"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--jobs", "2"], "--jobs must be from 1 to the number of slots, 1"),
        (["--jobs", "0"], "--jobs must be from 1"),
        (["--slot", "0,0"], "names a slot twice"),
        (["--slot", "a"], "should be numbers"),
        (["--timeout", "nan"], "--timeout must be"),
        (["--timeout", "0"], "--timeout must be"),
        (["--env", "NOT_SET_AT_ALL"], "that variable is not set"),
        (["--env", "A=b"], "takes the name of a variable"),
        (["--python", "no-such-python"], "there is no such program"),
        (["--port-map", "none.json"], "cannot be read"),
        (["--sites", "none.json"], "cannot be read"),
        (["--select", "other*"], "no task has an id like other*"),
        (["none"], "is no folder"),
    ],
)
def test_bad_input_is_two_and_nothing_runs(
    tmp_path: Path, environment: dict[str, str], words: list[str], said: str
) -> None:
    folder = task(tmp_path, "a", "import pathlib; pathlib.Path(__file__).with_name('ran').touch()")
    code, _, stderr = verify(tmp_path, environment, folder, *words)
    assert code == 2
    assert said in stderr
    assert not (folder / "ran").exists()
    assert not (tmp_path / "results").exists()


def test_an_interrupt_ends_the_script_keeps_its_checks_and_starts_no_other(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    first, second = task(tmp_path, "a", WAITS), task(tmp_path, "b", PASSES)
    process = start(tmp_path, environment, first, second)
    wait_until(lambda: (first / "started").exists(), "the first script's start")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    result = json.loads((tmp_path / "results" / "a_verify.json").read_text())
    assert (result["status"], result["error"], len(result["checks"])) == ("ERROR", "interrupted", 1)
    assert not (tmp_path / "results" / "b_verify.json").exists()


def test_two_runs_never_share_a_slot(tmp_path: Path, environment: dict[str, str]) -> None:
    first, second = task(tmp_path, "a", WAITS), task(tmp_path, "b", WAITS)
    one = start(tmp_path, environment, first)
    wait_until(lambda: (first / "started").exists(), "the first script's start")
    two = start(tmp_path, environment, second)
    assert two.stdout is not None
    assert "another run uses slot 0" in two.stdout.readline()
    assert not (second / "started").exists()
    three = task(tmp_path, "c", PASSES)
    assert verify(tmp_path, environment, three, "--slot", "0,1")[0] == 0  # on the one that is free
    (first / "go").touch()
    one.communicate(timeout=60)
    wait_until(lambda: (second / "started").exists(), "the second script's start")
    (second / "go").touch()
    two.communicate(timeout=60)
    assert (one.returncode, two.returncode) == (0, 0)


def test_a_run_that_is_killed_gives_its_slot_back(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    first, second = task(tmp_path, "a", WAITS), task(tmp_path, "b", PASSES)
    one = start(tmp_path, environment, first)
    wait_until(lambda: (first / "started").exists(), "the first script's start")
    one.kill()
    one.communicate(timeout=60)
    assert verify(tmp_path, environment, second)[0] == 0
    assert not (tmp_path / "results" / "a_verify.json").exists()


def test_an_old_result_is_not_taken_for_a_new_one(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = task(tmp_path, "a", WAITS)
    (tmp_path / "results").mkdir()
    old = tmp_path / "results" / "a_verify.json"
    old.write_text('{"status": "PASS"}')
    process = start(tmp_path, environment, folder)
    wait_until(lambda: (folder / "started").exists(), "the script's start")
    assert not old.exists()
    process.kill()
    process.communicate(timeout=60)


# Rows from 103 on are output of SaaS-Bench task scripts (tasks: CC BY 4.0, UniPat AI; unchanged).
@needs_corpus
def test_compat_writes_what_the_reference_wrote(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    rows = [row for row in ROWS if row.agrees]
    folders = []
    for row in rows:
        folder = task(
            tmp_path,
            row.id,
            "import os, pathlib, signal\n"
            "data = pathlib.Path(__file__).with_name('out').read_bytes()\n"
            "while data: data = data[os.write(2, data):]\n"
            f"os._exit({row.returncode})\n",
        )
        (folder / "out").write_bytes(row.stderr)
        folders.append(folder)
    verify(tmp_path, environment, *folders, "--compat", "reference", "--slot", "0,1")
    for row in rows:
        written = json.loads((tmp_path / "results" / f"{row.id}_verify.json").read_bytes())
        assert written == row.reference
