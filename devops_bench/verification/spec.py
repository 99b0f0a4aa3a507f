"""What an entry of a spec says, and how entries are read: every fault of all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationError

import devops_bench.verification.checks.pod_healthy
import devops_bench.verification.checks.resource_property
import devops_bench.verification.checks.scaling_complete
import devops_bench.verification.probes.verify_script  # noqa: F401 - each registers its types
from devops_bench.core.faults import named
from devops_bench.core.json import JsonObject
from devops_bench.verification.base import Check, CheckNode, Probe, RuledModel
from devops_bench.verification.checks.fields import no_boolean
from devops_bench.verification.combinators import leaves_of
from devops_bench.verification.problems import Loc, Problem, ProblemKind, dotted
from devops_bench.verification.tree import AnyCheck, all_problems, read_check
from devops_bench.verification.words import Label

Role: TypeAlias = Literal["objective", "safeguard"]
Severity: TypeAlias = Literal["catastrophic", "recoverable"]
Mode: TypeAlias = Literal["assert", "converge", "hold"]
CoverageWish: TypeAlias = Literal["watch", "best_effort"]
HoldScope: TypeAlias = Literal["turn", "run"]

_HOLD_FIELDS: Final = (
    "hold_poll_interval_sec",
    "hold_window_sec",
    "hold_settle_sec",
    "coverage",
    "hold_scope",
)


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(no_boolean)]
"""A finite number > 0; a string is read as one, since a variable's value is a string."""

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(no_boolean)]
"""A finite number ≥ 0; a string is read as one, since a variable's value is a string."""


class VerificationEntry(RuledModel):
    """One thing that a spec wants to be true.

    Attributes:
        name: Unique within the spec.
        role: ``objective`` (must become true) or ``safeguard`` (must never be broken).
        severity: Of a safeguard, required there and forbidden for an objective: a broken
            ``catastrophic`` one makes the outcome 0, a ``recoverable`` one lowers it.
        mode: ``assert``, ``converge`` or ``hold``; see :attr:`resolved_mode` for when it is absent.
        weight: Its share among the entries of its kind, finite, > 0.
        check: What is judged.
        hold_poll_interval_sec: Seconds between two samples of a hold that cannot be watched,
            finite, > 0; ``None`` for the default interval.
        hold_window_sec: Seconds that an objective in hold mode is soaked, finite, > 0: required
            there, forbidden for a safeguard, whose window is the agent's turn.
        hold_settle_sec: Only for an objective in hold mode: the soak starts when the check first
            passes, at the latest after this many seconds, ≥ 0; 0 starts it at once.
        coverage: Of a hold. ``watch``: it must be watched, so where it could only be sampled it is
            an error. ``best_effort``: what was not seen is shown and accepted. ``None``: it is
            watched where it can be, and what was not seen is an error.
        hold_scope: Of a safeguard in hold mode: its window is the agent's ``turn``, or the whole
            ``run``, to the end of what is judged after the turn.
        may_appear: The kind or the namespace need not exist after the setup.
        title: For the reader.
        description: For the reader.
        group: For the reader: entries of one group are shown together.
        failure_hint: For the reader of a failure.
    """

    name: Label = Field(min_length=1)
    role: Role
    severity: Severity | None = None
    mode: Mode | None = None
    weight: Positive = 1.0
    check: AnyCheck
    hold_poll_interval_sec: Positive | None = None
    hold_window_sec: Positive | None = None
    hold_settle_sec: NotNegative = 0.0
    coverage: CoverageWish | None = None
    hold_scope: HoldScope = "turn"
    may_appear: bool = False
    title: str | None = None
    description: str | None = None
    group: str | None = None
    failure_hint: str | None = None

    @property
    def resolved_mode(self) -> Mode:
        """The explicit mode, else ``converge`` for an objective and ``assert`` for a safeguard."""
        if self.mode is not None:
            return self.mode
        return "converge" if self.role == "objective" else "assert"

    @classmethod
    def problems_between_fields(cls, fields: Mapping[str, object]) -> Sequence[Problem]:
        """Judge severity by role, and the hold fields by role and mode."""
        given = {name for name, value in fields.items() if value is not None}
        role, mode = fields.get("role"), fields.get("mode")
        return [
            *_severity_problems(role, given),
            *_hold_problems(role, mode, given),
            *_unwatchable(mode, fields.get("check")),
            *_coverage_problems(fields),
        ]


def _severity_problems(role: object, given: set[str]) -> list[Problem]:
    if role == "safeguard" and "severity" not in given:
        return [
            Problem(("severity",), "is required for a safeguard", "catastrophic or recoverable")
        ]
    if role == "objective" and "severity" in given:
        return [Problem(("severity",), "an objective has no severity", "leave it out")]
    return []


def _hold_problems(role: object, mode: object, given: set[str]) -> list[Problem]:
    if mode is not None and mode not in ("assert", "converge", "hold"):
        return []
    if mode != "hold":
        return [
            Problem((name,), "belongs to mode: hold alone", "add mode: hold, or leave it out")
            for name in _HOLD_FIELDS
            if name in given
        ]
    problems: list[Problem] = []
    if role == "objective":
        if "hold_window_sec" not in given:
            problems.append(
                Problem(
                    ("hold_window_sec",),
                    "is required for an objective in hold mode",
                    "the seconds that it has to stay true, such as 30",
                )
            )
        if "hold_scope" in given:
            problems.append(
                Problem(
                    ("hold_scope",),
                    "belongs to a safeguard: an objective is held through its own window",
                    "leave it out",
                )
            )
    if role == "safeguard":
        return [
            Problem(
                (name,),
                "a safeguard in hold mode is watched for the agent's turn, it has no soak",
                "leave it out",
            )
            for name in ("hold_window_sec", "hold_settle_sec")
            if name in given
        ]
    return problems


def _coverage_problems(fields: Mapping[str, object]) -> list[Problem]:
    """Refuse to watch what does I/O of its own; the rest is only known with the cluster."""
    check = fields.get("check")
    if fields.get("coverage") != "watch" or not isinstance(check, CheckNode) or check is _UNREAD:
        return []
    probes = sorted({leaf.type for leaf in leaves_of(check) if not isinstance(leaf, Check)})
    if not probes:
        return []
    message = f"{', '.join(probes)} can only be sampled, not watched"
    return [Problem(("coverage",), message, "leave coverage out, or say best_effort")]


def _unwatchable(mode: object, check: object) -> list[Problem]:
    """Refuse hold for what may only be asked now and then."""
    if mode != "hold" or not isinstance(check, CheckNode):
        return []
    refusals = {
        f"hold is not for {leaf.type}, which {leaf.hold_refusal}"
        for leaf in leaves_of(check)
        if isinstance(leaf, Probe) and leaf.hold_refusal
    }
    return [Problem(("mode",), text, "use assert or converge") for text in sorted(refusals)]


@dataclass(frozen=True, slots=True)
class EntryProblem:
    """What is wrong with one entry.

    Attributes:
        index: Which entry, from 0; -1 when the whole list is wrong.
        name: Its name, ``<index N>`` without one, ``<root>`` for the list.
        loc: The place, relative to the list of entries: ``(2, "check", "op")``; empty for the list.
        message: What is wrong, without a final period.
        hint: What would be right, or empty.
        kind: ``other_cluster``: the entry was read, and must not be run. ``unknown_type``: it was
            not read, since no check of that type is installed. Every other kind: it was not read.
    """

    index: int
    name: str
    loc: Loc
    message: str
    hint: str
    kind: ProblemKind


def parse_entries_located(
    raw: object,
) -> tuple[tuple[VerificationEntry, ...], tuple[EntryProblem, ...]]:
    """Read the entries of a spec; never raises.

    Args:
        raw: What stands under ``verification_spec``.

    Returns:
        The entries that could be read, in order, and every problem of all of them. A later entry
        with a name that was there before is a problem, whether or not the first one could be read.
    """
    if not isinstance(raw, list | tuple):
        problem = EntryProblem(-1, "<root>", (), "should be a list of entries", "", "invalid")
        return (), (problem,)
    entries: list[VerificationEntry] = []
    problems: list[EntryProblem] = []
    first_index: dict[str, int] = {}
    for index, item in enumerate(raw):
        name = item.get("name") if isinstance(item, Mapping) else getattr(item, "name", None)
        entry, found = _read_entry(item)
        if isinstance(name, str) and first_index.setdefault(name, index) != index:
            entry = None
            message = f"the name {name[:80]!r} is already used by entry {first_index[name]}"
            hint = "give each entry its own name"
            found = [Problem(("name",), message, hint, "repeated_name"), *found]
        label = name if isinstance(name, str) and name else f"<index {index}>"
        problems.extend(
            EntryProblem(index, label, (index, *p.loc), p.message, p.hint, p.kind) for p in found
        )
        if entry is not None:
            entries.append(entry)
    return tuple(entries), tuple(problems)


def parse_entries(raw: object) -> tuple[list[VerificationEntry], list[dict[str, str]]]:
    """Read the entries of a spec; never raises.

    Returns:
        The entries that could be read, and one ``{"name", "reason"}`` for each that could not: its
        name, ``<index N>`` without one, ``<root>`` when ``raw`` is not a list. A reason names
        every fault of the entry with its field.
    """
    entries, problems = parse_entries_located(raw)
    reasons: dict[int, tuple[str, list[str]]] = {}
    for problem in problems:
        if problem.kind != "other_cluster":
            _, texts = reasons.setdefault(problem.index, (problem.name, []))
            texts.append(_reason(problem))
    return list(entries), [
        {"name": name, "reason": "; ".join(texts)} for name, texts in reasons.values()
    ]


def json_schema() -> JsonObject:
    """Return the JSON schema of a list of entries, for every check type that is installed.

    Checks are told apart by their ``type`` (a ``oneOf`` with a discriminator); definitions stand
    under ``$defs``.
    """
    from devops_bench.verification.json_schema import entries_schema  # late: only schema needs it

    return entries_schema(VerificationEntry)


def _reason(problem: EntryProblem) -> str:
    place = dotted(problem.loc[1:])
    text = f"{place}: {problem.message}" if place else problem.message
    return f"{text} ({problem.hint})" if problem.hint else text


def _read_entry(raw: object) -> tuple[VerificationEntry | None, list[Problem]]:
    if isinstance(raw, VerificationEntry):
        return raw, []
    if not isinstance(raw, Mapping):
        return None, [Problem((), "an entry is a map with a name, a role and a check")]
    fields: dict[Any, Any] = dict(raw)
    node: CheckNode | None = None
    problems: list[Problem] = []
    if "check" in fields:
        node, problems = read_check(fields["check"], ("check",))
        # Without its check the rest of the entry is still looked at.
        fields["check"] = node if node is not None else _UNREAD
    try:
        entry = VerificationEntry.model_validate(fields)
    except ValidationError as exc:
        return None, [*all_problems(exc, VerificationEntry, fields), *problems]
    except Exception as exc:  # noqa: BLE001 - whatever stands in a spec must not stop the loader
        text = f"the entry could not be read: {named(exc)}"
        return None, [*problems, Problem((), text[:500])]
    return (entry if node is not None else None), problems


_UNREAD: Final = CheckNode(type="unread")
