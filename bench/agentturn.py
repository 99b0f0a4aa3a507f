"""What a turn costs besides the agent: before its first instruction, and after its last one.

The same script is run by hand and as an agent, alone and in a sandbox. It reads the clock as its
first and as its last instruction.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import Figure
from devops_bench.agents.base import AgentTurn
from devops_bench.agents.sandbox.availability import bwrap_availability
from devops_bench.agents.sandbox.options import SandboxKind, SandboxOptions
from devops_bench.agents.script import ScriptAgent
from devops_bench.agents.transcript import Transcript

ROUNDS = 21
# EPOCHREALTIME is bash's own clock, so that reading it starts nothing (bash(1)).
SCRIPT = "#!/bin/bash\necho $EPOCHREALTIME\ncat > prompt\necho $EPOCHREALTIME\n"
PROMPT = "Mend it.\n"
START_AIM_SEC = 0.1
END_AIM_SEC = 0.1


def measure() -> list[Figure]:
    """Run the script in turn by hand, as an agent and in a sandbox, and compare the medians."""
    kinds: list[tuple[str, SandboxKind | None]] = [("a turn", None)]
    if bwrap_availability().available:
        kinds.append(("a turn in a sandbox", "bwrap"))
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "agent"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        by_hand: list[tuple[float, float]] = []
        turns: dict[str, list[tuple[float, float]]] = {what: [] for what, _ in kinds}
        for number in range(ROUNDS + 1):
            taken = [_timed(lambda: _by_hand(script, Path(name)))]
            for what, kind in kinds:
                folder = Path(name) / f"{number}-{what}"
                taken.append(_timed(lambda f=folder, k=kind: _as_agent(script, f, k)))  # type: ignore[misc]
            if number:  # the first round finds cold caches
                by_hand.append(taken[0])
                for (what, _), times in zip(kinds, taken[1:], strict=True):
                    turns[what].append(times)
    return [figure for what, times in turns.items() for figure in _figures(what, times, by_hand)]


def _figures(
    what: str, times: list[tuple[float, float]], by_hand: list[tuple[float, float]]
) -> list[Figure]:
    figures = []
    for index, (part, aim) in enumerate(
        (
            ("its start to the first instruction", START_AIM_SEC),
            ("the last to its end", END_AIM_SEC),
        )
    ):
        ours = statistics.median(pair[index] for pair in times)
        hand = statistics.median(pair[index] for pair in by_hand)
        added = ours - hand
        figures.append(
            Figure(
                f"{what}: from {part}",
                f"{ours * 1000:.1f} ms",
                f"{hand * 1000:.1f} ms (by hand)",
                f"+{added * 1000:.0f} ms",
                f"<= +{aim * 1000:.0f} ms",
                added <= aim,
            )
        )
    return figures


def _timed(run: Callable[[], str]) -> tuple[float, float]:
    began = time.time()
    said = run()
    ended = time.time()
    first, last = (float(line) for line in said.split())
    return first - began, ended - last


def _by_hand(script: Path, folder: Path) -> str:
    done = subprocess.run(
        [script], cwd=folder, input=PROMPT, capture_output=True, text=True, check=True
    )
    return done.stdout


def _as_agent(script: Path, folder: Path, kind: SandboxKind | None) -> str:
    work_dir = folder / "workspace"
    work_dir.mkdir(parents=True)
    transcript = Transcript(folder / "transcript.jsonl")
    turn = AgentTurn(
        prompt=PROMPT,
        kubeconfig=None,
        work_dir=work_dir,
        output_dir=folder,
        timeout_sec=60.0,
        cancel=threading.Event(),
        transcript=transcript,
        sandbox=None if kind is None else SandboxOptions(kind),
    )
    ScriptAgent(script).run(turn)
    transcript.close()
    return (folder / "agent.stdout").read_text()
