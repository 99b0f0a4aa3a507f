"""Controls by their names, and what their scripts find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentStatus, AgentTurn
from devops_bench.agents.factory import make_agent
from devops_bench.agents.mutants import builtin_mutants
from devops_bench.agents.options import AgentOptions
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject
from devops_bench.tasks.model import (
    Controls,
    ControlScript,
    Mutant,
    Partial,
    Setup,
    Task,
)

MakeTask = Callable[..., Task]
MakeTurn = Callable[..., AgentTurn]

HARM = Mutant("harm", ControlScript(run='bash "$ORACLE"; echo "harm in $PLACE"'), ("x",))


def controls(**fields: object) -> Controls:
    return Controls(oracle=ControlScript(run="echo right"), **fields)  # type: ignore[arg-type]


def run(task: Task, name: str, turn: AgentTurn) -> str:
    result = make_agent("control", AgentOptions((name,)))(task).run(turn)
    assert result.status is AgentStatus.COMPLETED, result
    return (turn.output_dir / "agent.stdout").read_text()


def test_a_mutant_can_do_the_work_by_the_oracle(make_task: MakeTask, make_turn: MakeTurn) -> None:
    task = make_task(controls=controls(mutants=(HARM,)), variables={"PLACE": "shop"})
    assert run(task, "harm", make_turn()) == "right\nharm in shop\n"


def test_also_when_the_oracle_is_a_file(
    make_task: MakeTask, make_turn: MakeTurn, tmp_path: Path
) -> None:
    file = tmp_path / "fix.sh"
    file.write_text("echo file\n")
    oracle = Controls(oracle=ControlScript(script=file), mutants=(HARM,))
    task = make_task(controls=oracle, variables={"PLACE": "shop"})
    assert run(task, "harm", make_turn()) == "file\nharm in shop\n"


@pytest.mark.parametrize("words", ['bash "$ORACLE" now', '"$ORACLE" now'])
def test_also_when_it_is_no_shell_that_runs_it(
    make_task: MakeTask, make_turn: MakeTurn, tmp_path: Path, words: str
) -> None:
    file = tmp_path / "fix it.py"
    file.write_text("#!/usr/bin/env python3\nimport sys\nprint('by Python', *sys.argv[1:])\n")
    file.chmod(0o755)
    harm = Mutant("harm", ControlScript(run=words), ("x",))
    task = make_task(controls=Controls(oracle=ControlScript(script=file), mutants=(harm,)))
    assert run(task, "harm", make_turn()) == "by Python now\n"
    assert run(task, "oracle", make_turn()) == "by Python\n"


def test_the_oracle_and_the_partial_one(make_task: MakeTask, make_turn: MakeTurn) -> None:
    task = make_task(controls=controls(partial=Partial(ControlScript(run="echo half"), 0.1, 0.9)))
    assert run(task, "oracle", make_turn()) == "right\n"
    assert run(task, "partial", make_turn()) == "half\n"


def test_doing_nothing_is_one_of_every_task(make_task: MakeTask, make_turn: MakeTurn) -> None:
    agent = make_agent("control", AgentOptions(("noop",)))(make_task())
    assert agent.run(make_turn()).exit_code is None


def test_a_generic_mutant(make_task: MakeTask) -> None:
    namespace: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    task = make_task(setup=Setup(objects=(namespace,)))
    name = "builtin-end-namespace-namespace-shop"
    assert make_agent("control", AgentOptions((name,)))(task).name == name


def test_a_generic_mutant_of_an_object_that_the_run_names(make_task: MakeTask) -> None:
    names = set()
    for run_id in ("x", "20261201-101500-4f2a1c"):
        named: JsonObject = {"name": f"shop-{run_id}"}
        namespace: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": named}
        task = make_task(setup=Setup(objects=(namespace,)), variables={"RUN_ID": run_id})
        names |= {one.name for one in builtin_mutants(task).mutants if "end-namespace" in one.name}
    assert names == {"builtin-end-namespace-namespace-shop-x"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "takes one word, the control's name"),
        (("a", "b"), "takes one word, the control's name"),
        (("hram",), "no control 'hram'; it has noop, oracle, harm"),
        (("partial",), "no control 'partial'"),
        (("builtin-x",), "no generic mutant 'builtin-x'"),
    ],
)
def test_a_name_that_it_does_not_have(
    make_task: MakeTask, words: tuple[str, ...], said: str
) -> None:
    task = make_task(controls=controls(mutants=(HARM,)))
    with pytest.raises(InvalidInputError, match=said):
        make_agent("control", AgentOptions(words))(task)


def test_a_script_that_is_gone(make_task: MakeTask, tmp_path: Path) -> None:
    gone = Mutant("harm", ControlScript(script=tmp_path / "gone"), ("x",))
    with pytest.raises(InvalidInputError, match="is not a file"):
        make_agent("control", AgentOptions(("harm",)))(
            make_task(controls=controls(mutants=(gone,)))
        )
