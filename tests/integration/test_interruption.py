"""A run that is ended from outside: what it says then, and that nothing of it lives on."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from devops_bench.results.journal import read_journal
from tests.integration.harness import (
    SPECS,
    Cli,
    Plane,
    processes_that_mention,
    wait_until,
)


def agent_that_blocks(witness: Path) -> tuple[str, ...]:
    """An agent that says when it runs, and never ends by itself."""
    return ("--agent", "command", "--", "sh", "-c", f"touch {witness}; exec tail -f /dev/null")


def wait_for_the_agent(process: subprocess.Popen[str], witness: Path) -> None:
    wait_until(
        lambda: witness.exists() or process.poll() is not None, "the agent's turn", timeout_sec=120
    )
    assert process.poll() is None, process.communicate()


def test_a_killed_run_leaves_no_process_behind(cli: Cli, tmp_path: Path) -> None:
    witness = tmp_path / "agent-runs"
    arguments: tuple[str | Path, ...] = (
        "run",
        "--spec",
        SPECS / "scale-out",
        *agent_that_blocks(witness),
    )

    with cli.start(*arguments) as process:
        wait_for_the_agent(process, witness)
        plane = processes_that_mention(str(cli.state))
        assert len(plane) >= 5, "a plane runs: etcd, API server, controllers, scheduler, kwok"

        process.kill()
        process.wait()

    wait_until(lambda: not processes_that_mention(str(tmp_path)), "every process has ended")
    (run_dir,) = cli.results.iterdir()
    events = [line["event"] for line in read_journal(run_dir / "scale-out")]
    assert events, "the journal says how far it came"


def test_ctrl_c_ends_the_turn_and_writes_a_result(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    witness = tmp_path / "agent-runs"
    arguments: tuple[str | Path, ...] = (
        *("run", "--spec", SPECS / "scale-out", "--kubeconfig", plane.kubeconfig),
        *("--var", f"NAMESPACE={namespace_name}"),
        *agent_that_blocks(witness),
    )

    with cli.start(*arguments) as process:
        wait_for_the_agent(process, witness)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=120)

    done = cli.finished(process.returncode, *output)
    assert done.code == 130, str(done)
    assert done.task().status == "interrupted"
    assert "Traceback" not in done.stderr
    wait_until(lambda: not plane.exists("namespace", namespace_name), "what was made is taken down")
    wait_until(lambda: not processes_that_mention(str(witness)), "the agent has ended")


def test_sigterm_is_the_same(cli: Cli, tmp_path: Path) -> None:
    witness = tmp_path / "agent-runs"
    arguments: tuple[str | Path, ...] = (
        "run",
        "--spec",
        SPECS / "scale-out",
        *agent_that_blocks(witness),
    )

    with cli.start(*arguments) as process:
        wait_for_the_agent(process, witness)
        process.terminate()
        output = process.communicate(timeout=120)

    done = cli.finished(process.returncode, *output)
    assert done.code == 130, str(done)
    assert done.task().status == "interrupted"
    wait_until(lambda: not processes_that_mention(str(tmp_path)), "every process has ended")


def test_the_agent_is_ended_at_the_end_of_its_turn_and_safeguards_are_judged(
    cli: Cli, plane: Plane, namespace_name: str, tmp_path: Path
) -> None:
    witness = tmp_path / "agent-runs"

    done = cli.run(
        *("run", "--spec", SPECS / "scale-out", "--kubeconfig", plane.kubeconfig),
        *("--var", f"NAMESPACE={namespace_name}", "--timeout", "2"),
        *agent_that_blocks(witness),
        env={"VERIFICATION_TIMEOUT_SEC": "2"},
    )

    assert done.code == 1, str(done)
    agent = done.task().agent
    assert agent is not None
    assert agent.status == "timed_out"
    assert done.row("never fewer than four replicas")["status"] == "pass"
    assert done.row("eight replicas are ready")["status"] == "fail"
    assert not processes_that_mention(str(witness))
