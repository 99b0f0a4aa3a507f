"""A task as the rest of the harness sees it: validated, variables replaced, read-only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from devops_bench.core.json import JsonObject
from devops_bench.k8s.rbac import Grant
from devops_bench.verification.spec import VerificationEntry

DEFAULT_TIMEOUT_SEC: Final = 1800.0
"""Seconds of the agent's turn when neither the task nor ``--timeout`` says any."""
DEFAULT_TOTAL_BUDGET_SEC: Final = 600.0
"""Seconds of everything after the turn when the task does not say any."""

EXIT_DOES_NOT_APPLY: Final = 97
"""What a generic mutant exits with that finds nothing it could do on this cluster."""
EXIT_NOT_ALLOWED: Final = 96
"""What a generic mutant exits with whose harm the API server refused for want of rights."""


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
        manifest_items: For each object of a manifest the item of ``setup.manifests`` that it came
            from, from 0; those of ``objects`` beyond are inline.
    """

    objects: tuple[JsonObject, ...] = ()
    ready: tuple[VerificationEntry, ...] | None = None
    manifests: tuple[Path, ...] = ()
    manifest_items: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlScript:
    """What a control does; exactly one of the two is set.

    Attributes:
        script: A file below the spec's folder, absolute.
        run: The text of a shell script.
    """

    script: Path | None = None
    run: str | None = None


Oracle: TypeAlias = ControlScript
"""The right solution."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A control that does a part of the work.

    Attributes:
        does: What it does.
        min_outcome: The least outcome that it must come to, 0 to 1.
        max_outcome: The greatest, ``min_outcome`` to 1.
    """

    does: ControlScript
    min_outcome: float
    max_outcome: float


@dataclass(frozen=True, slots=True)
class Mutant:
    """A control that does harm.

    Attributes:
        name: Unique within the task, safe as a folder name.
        does: What it does.
        caught_by: The names of the entries that must fail because of it, at least one.
    """

    name: str
    does: ControlScript
    caught_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Controls:
    """Agents whose result is known. Doing nothing is one that every task has.

    Attributes:
        oracle: The one that passes, ``None`` when the task has none.
        partial: One that is neither right nor idle, ``None`` when the task has none.
        mutants: Those that do harm, in the order of the file.
    """

    oracle: Oracle | None = None
    partial: Partial | None = None
    mutants: tuple[Mutant, ...] = ()


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server of the Model Context Protocol: a program, or an address.

    Attributes:
        command: The program, ``None`` for one over HTTP.
        args: Its arguments.
        env: Variables that it gets besides those of the agent.
        url: The address, ``None`` for a program.
        headers: Headers of the requests to it.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


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
        requires: What a cluster must offer for the task to make sense, such as ``containers``.
        setup: What is needed before.
        controls: Agents whose result is known.
        mcp_servers: MCP servers by name, for agents that take them.
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
    requires: frozenset[str] = frozenset()
    setup: Setup = field(default_factory=Setup)
    controls: Controls = field(default_factory=Controls)
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict)
    entries: tuple[VerificationEntry, ...] = ()
    entry_errors: tuple[EntryError, ...] = ()
    access: Access | None = None
