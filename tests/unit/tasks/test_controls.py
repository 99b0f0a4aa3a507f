"""``controls:`` and ``requires:``: what loads, and what each mistake is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.tasks.model import ControlScript, Mutant, Partial
from tests.unit.tasks.helpers import TASK, good, load

CONTROLS = """\
controls:
  oracle: {run: echo right}
  partial:
    run: echo half
    score: {min: 0.25, max: 0.75}
  mutants:
    - name: harm
      run: echo wrong
      caught_by: [ready]
"""


def test_all_of_them() -> None:
    controls = good(TASK + CONTROLS).controls
    assert controls.oracle == ControlScript(run="echo right")
    assert controls.partial == Partial(ControlScript(run="echo half"), 0.25, 0.75)
    assert controls.mutants == (Mutant("harm", ControlScript(run="echo wrong"), ("ready",)),)


def test_scripts_are_files_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "harm.sh").write_text("true\n")
    text = CONTROLS.replace("run: echo wrong", "script: harm.sh")
    (mutant,) = good(TASK + text, tmp_path).controls.mutants
    assert mutant.does == ControlScript(script=(tmp_path / "harm.sh").resolve())

    (found,) = load(TASK + CONTROLS.replace("run: echo wrong", "script: ../harm.sh")).diagnostics
    assert found.path == "controls.mutants[0].script"


def test_variables_are_replaced_in_them() -> None:
    text = CONTROLS.replace("echo wrong", '"echo {{WHO}}"').replace("min: 0.25", 'min: "{{LEAST}}"')
    task = good(TASK + text, variables={"WHO": "me", "LEAST": "0.5"})
    assert task.controls.mutants[0].does.run == "echo me"
    assert task.controls.partial is not None
    assert task.controls.partial.min_outcome == 0.5


@pytest.mark.parametrize(
    ("old", "new", "path", "said"),
    [
        ("[ready]", "[raedy]", "controls.mutants[0].caught_by[0]", "no entry is named 'raedy'"),
        ("[ready]", "[]", "controls.mutants[0].caught_by", "the list is empty"),
        ("      caught_by: [ready]\n", "", "controls.mutants[0]", "caught_by is missing"),
        ("name: harm", "name: Harm done", "controls.mutants[0].name", "lower-case letters"),
        ("name: harm", "name: noop", "controls.mutants[0].name", "belongs to another control"),
        ("name: harm", "name: builtin-x", "controls.mutants[0].name", "belongs to another control"),
        ("run: echo wrong", "rum: echo wrong", "controls.mutants[0].rum", "unknown key 'rum'"),
        ("    run: echo half\n", "", "controls.partial", "exactly one of script and run"),
        ("max: 0.75", "max: 0.1", "controls.partial.score", "min is greater than max"),
        ("max: 0.75", "max: 1.5", "controls.partial.score.max", "is out of range"),
        ("min: 0.25", "min: -0.5", "controls.partial.score.min", "is out of range"),
        ("    score: {min: 0.25, max: 0.75}\n", "", "controls.partial", "score is missing"),
        ("partial:", "partail:", "controls.partail", "unknown key 'partail'"),
    ],
)
def test_a_mistake(old: str, new: str, path: str, said: str) -> None:
    assert old in CONTROLS
    found = load(TASK + CONTROLS.replace(old, new))
    assert found.task is None
    assert any(one.path == path and said in one.message for one in found.diagnostics), [
        (one.path, one.message) for one in found.diagnostics
    ]


def test_did_you_mean_the_other_entry() -> None:
    (found,) = load(TASK + CONTROLS.replace("[ready]", "[raedy]")).diagnostics
    assert found.hint == "did you mean 'ready'?"


def test_two_mutants_of_one_name() -> None:
    again = "    - {name: harm, run: echo, caught_by: [ready]}\n"
    (found,) = load(TASK + CONTROLS + again).diagnostics
    assert (found.path, found.message) == (
        "controls.mutants[1].name",
        "another mutant is named 'harm'",
    )


class TestRequires:
    def test_containers(self) -> None:
        assert good(f"{TASK}requires: [containers]\n").requires == {"containers"}

    def test_nothing(self) -> None:
        assert good(TASK).requires == frozenset()

    def test_what_is_not_known(self) -> None:
        (found,) = load(f"{TASK}requires: [gpus]\n").diagnostics
        assert found.path == "requires[0]"
        assert "known: 'containers'" in found.hint
