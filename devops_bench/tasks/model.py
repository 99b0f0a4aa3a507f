"""A task as the rest of the harness sees it: validated, variables replaced, read-only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devops_bench.core.json import JsonObject
from devops_bench.k8s.rbac import Grant
from devops_bench.verification.spec import VerificationEntry

DEFAULT_TIMEOUT_SEC: Final = 1800.0
"""Seconds of the agent's turn when neither the task nor ``--timeout`` says any."""
DEFAULT_TOTAL_BUDGET_SEC: Final = 600.0
"""Seconds of everything after the turn when the task does not say any."""


@dataclass(frozen=True, slots=True)
class EntryError:
    """An entry that did not parse; it is an error in the report.

    Attributes:
        name: The entry's name, ``<index N>`` without one, ``<root>`` for the whole list.
        reason: What is wrong with it.
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Setup:
    """What the task needs before the baseline.

    Attributes:
        objects: Everything to create: the manifests' objects in the order of the files, then the
            inline ones.
        ready: What must pass before the baseline, each an objective in ``converge`` mode;
            ``None`` for the default (every workload rolled out), empty for nothing.
        manifests: The files that ``objects`` came from, absolute.
    """

    objects: tuple[JsonObject, ...] = ()
    ready: tuple[VerificationEntry, ...] | None = None
    manifests: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Oracle:
    """The right solution; exactly one of the two is set.

    Attributes:
        script: A file below the spec's folder, absolute.
        run: The text of a shell script.
    """

    script: Path | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Controls:
    """Agents whose result is known.

    Attributes:
        oracle: The one that passes, ``None`` when the task has none.
    """

    oracle: Oracle | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """What the agent may do on the cluster, and nothing else.

    Attributes:
        preset: The preset's name, ``None`` without one.
        grants: The rules and where they hold, those of the preset included; none escalates.
    """

    preset: str | None = None
    grants: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One spec.

    Attributes:
        id: Safe as a folder name.
        prompt: What the agent is told; not blank when it was loaded for a run.
        source: The file, absolute.
        name: Short, for people; empty when absent, as ``title`` and ``description``.
        title: One line for people.
        description: Some lines for people.
        timeout_sec: Seconds of the agent's turn, finite and > 0; ``None`` when not said
            (:data:`DEFAULT_TIMEOUT_SEC`).
        verification_budget_sec: Seconds of everything after the turn, finite and > 0; ``None``
            when not said (:data:`DEFAULT_TOTAL_BUDGET_SEC`).
        variables: Every variable and the value it was replaced by.
        setup: What is needed before.
        controls: Agents whose result is known.
        entries: What is judged.
        entry_errors: Entries that did not parse; only with ``--allow-invalid-entries``.
        access: What the agent may do; ``None`` when the task does not say: it then gets the
            harness's own credentials.
    """

    id: str
    prompt: str
    source: Path
    name: str = ""
    title: str = ""
    description: str = ""
    timeout_sec: float | None = None
    verification_budget_sec: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    setup: Setup = field(default_factory=Setup)
    controls: Controls = field(default_factory=Controls)
    entries: tuple[VerificationEntry, ...] = ()
    entry_errors: tuple[EntryError, ...] = ()
    access: Access | None = None
