"""The generic mutants: agents that do harm to any task, made from the objects of its setup.

Each does the work first, by the oracle, and then the harm, so that what fails fails because of the
harm. The one that pretends does no work at all. None is wrong in every task (restarting pods may
be right); the list says what a spec lets through, and a person decides whether it should.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from devops_bench.agents import harms
from devops_bench.agents.targets import Target, targets_of
from devops_bench.tasks.model import ControlScript
from devops_bench.tasks.schema import BUILTIN_PREFIX

if TYPE_CHECKING:
    from devops_bench.tasks.model import Task

_LONGEST_NAME: Final = 80
_SET_BY_RUNS: Final = ("RUN_ID", "CLUSTER_NAME")
"""Built-in variables with another value in each run."""


@dataclass(frozen=True, slots=True)
class Harm:
    """One kind of generic mutant.

    Attributes:
        key: Part of the mutants' names.
        title: What it does, for a reader.
        needs: What a setup must have for it, for a reader.
        script: Makes the shell script for one object, ``None`` when it does not apply to it.
        works_first: Whether the oracle runs before it.
        once: Whether one object is enough: the first that it applies to.
    """

    key: str
    title: str
    needs: str
    script: Callable[[Target], str | None]
    works_first: bool = True
    once: bool = False


HARMS: Final = (
    Harm("delete", "delete the object", "an object", harms.delete),
    Harm("scale", "scale to zero and back", "a scalable workload", harms.scale_to_zero_and_back),
    Harm("recreate", "recreate it under the same name", "an object", harms.recreate),
    Harm("restart", "restart its pods", "a workload", harms.restart_pods),
    Harm(
        "flip",
        "change and restore back to back",
        "a workload, Service, ConfigMap, Secret or policy",
        harms.change_and_restore,
    ),
    Harm("end-namespace", "delete the namespace", "a Namespace", harms.delete_namespace),
    Harm("loosen", "loosen the policy", "a policy, a role or a quota", harms.loosen),
    Harm(
        "pretend",
        "edit the status only",
        "a scalable workload",
        harms.pretend_by_status,
        works_first=False,
    ),
    Harm("relabel", "label it away from the selector", "an object with labels", harms.label_away),
    Harm(
        "blind", "delete the harness's rights to read", "a Namespace", harms.drop_rights, once=True
    ),
    Harm(
        "later",
        "leave a CronJob behind that deletes it later",
        "a namespaced object",
        harms.leave_a_cron_job,
        once=True,
    ),
)
"""Every kind of generic mutant, in the order of the report."""


@dataclass(frozen=True, slots=True)
class BuiltinMutant:
    """A generic mutant made for one object.

    Attributes:
        name: Unique within the task.
        title: What it does to what, for a reader.
        does: Its script.
    """

    name: str
    title: str
    does: ControlScript


@dataclass(frozen=True, slots=True)
class BuiltinMutants:
    """Which generic mutants a task can have.

    Attributes:
        mutants: Those that apply.
        not_applicable: A sentence for each kind of harm that applies to no object of the setup.
    """

    mutants: tuple[BuiltinMutant, ...]
    not_applicable: tuple[str, ...]


def builtin_mutants(task: Task) -> BuiltinMutants:
    """Return the generic mutants of a task; the same task always has the same ones."""
    mutants: list[BuiltinMutant] = []
    missing: list[str] = []
    names: set[str] = set()
    targets = targets_of(task.setup.objects)
    works = task.controls.oracle is not None
    for harm in HARMS:
        made = 0
        for target in targets:
            script = harm.script(target)
            if script is None or (harm.once and made):
                continue
            made += 1
            stem = _stem(harm, target, task)
            mutants.append(_mutant(harm, target, script, _unique(stem, names), works=works))
        if not made:
            missing.append(f"{harm.title}: the setup has not {harm.needs}")
    return BuiltinMutants(tuple(mutants), tuple(missing))


def _stem(harm: Harm, target: Target, task: Task) -> str:
    """Return how its name begins: the same in every run, also where a run names the object."""
    named = target.name
    for variable in _SET_BY_RUNS:
        value = task.variables.get(variable)
        named = named.replace(value, "x") if value else named
    words = f"{harm.key}-{target.kind}-{named}".lower()
    return BUILTIN_PREFIX + re.sub(r"[^a-z0-9-]+", "-", words)[:_LONGEST_NAME]


def _unique(stem: str, names: set[str]) -> str:
    name, number = stem, 2
    while name in names:
        name, number = f"{stem}-{number}", number + 1
    names.add(name)
    return name


def _mutant(harm: Harm, target: Target, script: str, name: str, *, works: bool) -> BuiltinMutant:
    before = 'bash "$ORACLE"\n' if works and harm.works_first else ""
    title = harm.title if harm.once else f"{harm.title}: {target.label}"
    script = f"{before}{harms.reported(script, target)}"
    return BuiltinMutant(name, title, ControlScript(run=script))
