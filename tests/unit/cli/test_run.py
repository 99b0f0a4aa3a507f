"""``run``: its options, and what is refused before anything is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devops_bench.cli.clusters import choose_provider
from devops_bench.cli.run import chosen_environment
from devops_bench.cli.words import parse_variables
from devops_bench.core.errors import InvalidInputError

from .conftest import SPEC, Run

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: s3cr3t-token}}]
contexts: [{name: here, context: {cluster: c, user: u}}]
"""


class TestRefused:
    """Each is one clear line and exit code 2, and no results folder is made."""

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("--agent noop", "Missing option '--spec'"),
            ("--spec web.yaml", "Missing option '--agent'"),
            ("--spec web.yaml --agent noop stray", "unexpected extra argument"),
            ("--spec web.yaml --agent nope", "there is no agent 'nope' (did you mean"),
            ("--spec web.yaml --agent noop -- word", "--agent noop takes no words"),
            ("--spec web.yaml --agent script", "--agent script needs the file"),
            ("--spec web.yaml --agent script gone.sh", "script gone.sh does not exist"),
            ("--spec web.yaml --agent command", "--agent command needs the command"),
            ("--spec web.yaml --agent command -- gone", "'gone' is not found on the PATH"),
            ("--spec web.yaml --agent noop --var X", "--var 'X' is not NAME=VALUE"),
            ("--spec web.yaml --agent noop --var X=1 --var X=2", "--var X is given twice"),
            ("--spec web.yaml --agent noop --timeout 0", "--timeout must be a number of seconds"),
            ("--spec web.yaml --agent noop --timeout inf", "--timeout must be a number of seconds"),
            ("--spec web.yaml --agent noop --timeout nan", "--timeout must be a number of seconds"),
            ("--spec web.yaml --agent noop --timeout soon", "Invalid value for '--timeout'"),
            ("--spec web.yaml --agent noop --agent-env NOT_SET", "NOT_SET: that variable is not"),
            ("--spec web.yaml --agent noop --agent-env A=s3cr3t", "takes the name of a variable"),
            ("--spec web.yaml --agent noop --agent-env HOME", "has a HOME of its own"),
            ("--spec web.yaml --agent noop --sandbox docker", "needs an image"),
            ("--spec web.yaml --agent noop --sandbox-image x", "is for --sandbox docker"),
            ("--spec web.yaml --agent noop --allow-host x", "are for a sandbox"),
            (
                "--spec web.yaml --agent noop --sandbox bwrap --allow-host nonexist.invalid",
                "nonexist.invalid does not resolve",
            ),
            ("--spec web.yaml --agent noop --provider kind --context x", "one or the other"),
            ("--spec web.yaml --agent noop --provider local --kubeconfig x", "one or the other"),
            ("--spec web.yaml --agent noop --provider minikube", "'minikube' is not one of"),
            ("--spec web.yaml --agent noop --kubeconfig gone.yaml", "gone.yaml"),
            ("--spec gone.yaml --agent noop", "gone.yaml cannot be read"),
            ("--spec empty --agent noop", "there is no task in empty"),
        ],
    )
    def test_a_request_that_cannot_be(
        self, devops_bench: Run, spec: Path, tmp_path: Path, words: str, said: str
    ) -> None:
        (tmp_path / "empty").mkdir()
        done = devops_bench("run", *words.split())
        assert said in done.stderr
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "s3cr3t" not in done.stderr
        assert not (tmp_path / "results").exists()

    def test_docker_without_a_daemon(
        self, devops_bench: Run, spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "bin").mkdir()
        docker = tmp_path / "bin" / "docker"
        docker.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2; exit 1\n")
        docker.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        words = "--spec web.yaml --agent noop --sandbox docker --sandbox-image some:1"
        done = devops_bench("run", *words.split())
        said = "--sandbox docker is not available: docker version: Cannot connect to the Docker"
        assert said in done.stderr
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert not (tmp_path / "results").exists()

    def test_every_fault_of_every_spec_is_shown_at_once(
        self, devops_bench: Run, tmp_path: Path
    ) -> None:
        (tmp_path / "a.yaml").write_text(SPEC.replace("op: eq", "op: eqq").replace("id:", "iid:"))
        (tmp_path / "b.yaml").write_text(SPEC.replace("prompt: Scale", "promt: Scale"))
        done = devops_bench("run", "--spec", "a.yaml", "--spec", "b.yaml", "--agent", "oracle")
        assert done.returncode == 2
        for part in ("a.yaml:1:1: error", "eqq", "b.yaml:2:1: error", "promt"):
            assert part in done.stderr
        assert not (tmp_path / "results").exists()

    def test_a_task_without_a_prompt_or_an_oracle(self, devops_bench: Run, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text(
            "\n".join(line for line in SPEC.splitlines() if not line.startswith("prompt"))
        )
        done = devops_bench("run", "--spec", "a.yaml", "--agent", "noop")
        assert (done.returncode, "prompt" in done.stderr) == (2, True)

        before, _, after = SPEC.partition("controls:")
        (tmp_path / "b.yaml").write_text(before + after[after.index("verification_spec") :])
        done = devops_bench("run", "--spec", "b.yaml", "--agent", "oracle")
        assert (done.returncode, "has no oracle" in done.stderr) == (2, True)

    def test_a_context_that_is_not_there(
        self, devops_bench: Run, spec: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "config").write_text(KUBECONFIG)
        words = ("--kubeconfig", "config", "--context", "there")
        done = devops_bench("run", "--spec", spec, "--agent", "noop", *words)
        assert done.returncode == 2
        assert "there" in done.stderr
        assert not (tmp_path / "results").exists()

    def test_a_results_folder_that_cannot_be_made(
        self, devops_bench: Run, spec: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        done = devops_bench(
            "run", "--spec", spec, "--agent", "noop", "--results-dir", "file/results"
        )
        assert done.returncode == 2
        assert "cannot be made" in done.stderr


class TestOptions:
    def test_a_value_may_hold_an_equals_sign_or_nothing(self) -> None:
        assert parse_variables(["A=b=c", "E="]) == {"A": "b=c", "E": ""}

    @pytest.mark.parametrize("text", ["", "=x", "1A=x", "A-B=x", "A"])
    def test_a_name_that_is_none(self, text: str) -> None:
        with pytest.raises(InvalidInputError, match="is not NAME=VALUE"):
            parse_variables([text])

    def test_what_is_passed_on_is_what_is_set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL_KEY", "k")
        assert chosen_environment(["MODEL_KEY"]) == {"MODEL_KEY": "k"}

    def test_the_ambient_kubeconfig_chooses_nothing(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "gone"))
        choice = choose_provider(None, None, None, keep=False, say=print)
        provider = choice.provider()
        assert (provider.name, provider.why) == ("local", "the default provider")
        assert choice.cluster_name("r1") == "devops-bench-r1"

    def test_an_existing_cluster_has_its_contexts_name(self, tmp_path: Path) -> None:
        (tmp_path / "config").write_text(KUBECONFIG)
        choice = choose_provider(None, tmp_path / "config", None, keep=False, say=print)
        assert choice.provider().name == "kubeconfig"
        assert choice.cluster_name("r1") == "here"
