"""The table of the specs says what the specs say."""

from __future__ import annotations

from pathlib import Path

from devops_bench.core.json import JsonObject
from devops_bench.tasks.access import presets
from devops_bench.tasks.loader import LoadOptions, load_tasks
from devops_bench.tasks.model import Task
from devops_bench.verification.combinators import queries_of

SPECS = Path(__file__).resolve().parents[3] / "specs"
TABLE = SPECS / "README.md"


def tasks() -> list[Task]:
    loaded = load_tasks([SPECS], LoadOptions(built_in={"NAMESPACE": "default"}))
    loaded.raise_for_errors()
    return sorted(loaded.tasks, key=lambda task: task.id)


def kinds(task: Task) -> str:
    """What the setup makes and the entries read; custom kinds by the group they are of."""
    made = {_kind(made) for made in task.setup.objects}
    read = {
        query.kind.partition(".")[0] for entry in task.entries for query in queries_of(entry.check)
    }
    known = {kind.lower() for kind in made} | {f"{kind.lower()}s" for kind in made}
    return ", ".join(sorted(made | {kind for kind in read if kind.lower() not in known}))


def _kind(made: JsonObject) -> str:
    return str(made["kind"])


def steps(task: Task) -> int:
    """How many commands of kubectl the oracle gives, as written: a loop's are counted once."""
    assert task.controls.oracle is not None
    text = (task.controls.oracle.run or "").replace("\\\n", " ")
    return text.count("kubectl ")


def access(task: Task) -> str:
    """The preset of the agent's access, and whether rules of the task's own come to it."""
    if task.access is None:
        return "everything"
    assert task.access.preset is not None, task.id
    own = len(task.access.grants) - len(presets()[task.access.preset])
    return (
        f"{task.access.preset}, {own} rules" if own > 1 else task.access.preset + ", 1 rule" * own
    )


def row(task: Task) -> str:
    caught = {name for mutant in task.controls.mutants for name in mutant.caught_by}
    link = f"[{task.id}]({task.id}/task.yaml)"
    mutants = f"{len(task.controls.mutants)} by {len(caught)} of {len(task.entries)} entries"
    return f"| {link} | {task.title} | {kinds(task)} | {access(task)} | {steps(task)} | {mutants} |"


def test_the_table_is_what_the_specs_are() -> None:
    """To write it anew, replace the rows by what this test prints."""
    expected = [row(task) for task in tasks()]
    written = [line for line in TABLE.read_text().splitlines() if line.startswith("| [")]
    assert written == expected, "\n".join(expected)


def test_a_spec_without_access_says_why() -> None:
    for task in tasks():
        text = task.source.read_text(encoding="utf-8")
        assert task.access is not None or "# No `access:`" in text, task.id


def test_each_spec_can_be_qualified_in_full() -> None:
    for task in tasks():
        assert task.controls.oracle is not None, task.id
        assert task.controls.partial is not None, task.id
        assert len(task.controls.mutants) >= 3, task.id
        assert task.verification_budget_sec is not None, task.id


def test_harm_that_can_be_undone_is_watched_for() -> None:
    for task in tasks():
        safeguards = [entry for entry in task.entries if entry.role == "safeguard"]
        assert safeguards, task.id
        assert all(entry.resolved_mode == "hold" for entry in safeguards), task.id
