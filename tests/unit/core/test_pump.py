"""Somebody else's program writes into a sink of ours, and cannot keep us from ending."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from devops_bench.core.boundedfile import BoundedFile
from devops_bench.core.pump import pumped
from devops_bench.core.secretforms import KnownSecrets, RedactedOutput


def test_what_comes_through_is_kept_without_secrets(tmp_path: Path) -> None:
    sink = RedactedOutput(BoundedFile(tmp_path / "o", 10_000), KnownSecrets(["my-secret"]))
    with pumped(sink) as file:
        subprocess.run(["sh", "-c", "printf my- >&2; printf 'secret my-' >&2"], stderr=file)
    assert (tmp_path / "o").read_text() == "[redacted] my-"
    assert not [thread for thread in threading.enumerate() if thread.name == "pump"]


def test_one_that_outlives_it_and_holds_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    with pumped(BoundedFile(tmp_path / "o", 10_000)) as file:
        survivor = subprocess.Popen(["sh", "-c", "echo said; exec sleep 1000"], stdout=file)
        held = os.dup(file.fileno())
        os.write(held, b"the last words")
    try:
        assert survivor.poll() is None
        assert "the last words" in (tmp_path / "o").read_text()
    finally:
        os.close(held)
        survivor.kill()
        survivor.wait()


def test_an_exception_ends_it(tmp_path: Path) -> None:
    def work() -> None:
        with pumped(BoundedFile(tmp_path / "o", 10)) as file:
            file.write("x" * 20)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert (tmp_path / "o").read_text() == "x" * 10
