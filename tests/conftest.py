"""What every test shares: a folder for the whole test run, also with several workers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

RUN_FOLDER_VARIABLE = "DEVOPS_BENCH_TEST_RUN"
PLANE_NAME = "tests"
PLANE_STATE = "plane-state"

# A machine that is busy with other things must not fail a property.
settings.register_profile("no-clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no-clock")


def pytest_configure(config: pytest.Config) -> None:
    # A shell without job control ignores SIGINT in what it starts in the background, nohup SIGHUP,
    # and both are inherited: tests that interrupt something must not depend on who started them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # The controlling process makes the folder; workers inherit its name.
    if not hasattr(config, "workerinput") and RUN_FOLDER_VARIABLE not in os.environ:
        os.environ[RUN_FOLDER_VARIABLE] = tempfile.mkdtemp(prefix="devops-bench-tests-")
        config.stash[_OWNED] = Path(os.environ[RUN_FOLDER_VARIABLE])


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_OWNED, None)
    if folder is None:
        return
    del os.environ[RUN_FOLDER_VARIABLE]
    if (folder / PLANE_STATE).exists():
        # The shared plane is ended here because only here every worker is done with it.
        subprocess.run(
            [Path(sys.executable).parent / "devops-bench", "cluster", "down", PLANE_NAME],
            env={**os.environ, "DEVOPS_BENCH_STATE": str(folder / PLANE_STATE)},
            check=True,
            capture_output=True,  # pytest's summary stays the last line
        )
    if (folder / "kind").exists():
        subprocess.run(["kind", "delete", "cluster", "--name", folder.name.lower()], check=True)
    shutil.rmtree(folder)


_OWNED = pytest.StashKey[Path]()
