"""The two bases of everything that can stand under ``check:``, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, model_validator

from devops_bench.core.registry import Registry
from devops_bench.k8s.view import ResourceQuery, View
from devops_bench.verification.problems import Problem, ProblemsError
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.words import Label

VERIFIERS: Registry[type[BaseModel]] = Registry(
    "check type", entry_point_group="devops_bench.verifiers"
)
"""Every check type by its ``type``: subclasses of :class:`Check`, :class:`Probe`,
:class:`BaseVerifier` and the combinators."""

Fields: TypeAlias = tuple[tuple[str, ...], ...]
"""Parts of an object, each as the names from its root to the part; a part holds all below it."""


class RuledModel(BaseModel):
    """A frozen model without unknown fields, whose fields may have rules between them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def problems_between_fields(cls, fields: Mapping[str, object]) -> Sequence[Problem]:
        """Return what is wrong with the fields together.

        Args:
            fields: What was given, by field. When the loader looks for everything that is wrong
                at once, a value may be of any type: a rule passes over what it cannot read, since
                the field's own fault is reported already.
        """
        del fields  # this one has none
        return ()

    @model_validator(mode="after")
    def _rules_between_fields(self) -> RuledModel:
        problems = self.problems_between_fields(
            {name: getattr(self, name) for name in self.model_fields_set}
        )
        if problems:
            raise ProblemsError(problems)
        return self


class CheckNode(RuledModel):
    """What every node of a check tree has. Unknown fields are errors.

    Attributes:
        name: A label for the report; of no meaning to the judgement.
        kubeconfig: A path to another cluster's kubeconfig. It loads; ``run`` refuses it.
        context: Another context of the kubeconfig. It loads; ``run`` refuses it.
    """

    type: str
    name: Label | None = None
    kubeconfig: str | None = None
    context: str | None = None


class Check(CheckNode, ABC):
    """A pure judgement: no I/O, no clock, no threads. It can be watched and replayed."""

    @abstractmethod
    def queries(self) -> tuple[ResourceQuery, ...]:
        """Return everything that :meth:`judge` may read."""

    @abstractmethod
    def judge(self, view: View) -> VerificationResult:
        """Judge the check on what ``view`` shows; never raises on what a cluster may hold."""

    def fields(self) -> Fields | None:
        """Return which parts of the objects :meth:`judge` reads, ``None`` for all of them.

        Only these are recorded, so what is left out here is missing when the run is judged again.
        What every record has need not be named: ``apiVersion``, ``kind``, the name, namespace,
        uid, resourceVersion, generation, deletionTimestamp and labels of ``metadata``, and
        ``status.observedGeneration``.
        """
        return None


@dataclass(frozen=True, slots=True)
class ProbeContext:
    """What a probe may use.

    Attributes:
        kubeconfig: The kubeconfig of the task's cluster, ``None`` without a cluster.
        work_dir: A folder for the probe's files, ``None`` when it must not write.
    """

    kubeconfig: Path | None = None
    work_dir: Path | None = None


class Probe(CheckNode, ABC):
    """A check that does I/O of its own; it can only be sampled, and the report says so.

    Attributes:
        hold_refusal: Why it must not stand in an entry in hold mode, a clause that follows on the
            check's type; empty when it may.
        ending_sec: Seconds of its timeout that it keeps for ending what it started, ≥ 0: with no
            more than that it cannot look at all.
    """

    hold_refusal: ClassVar[str] = ""
    ending_sec: ClassVar[float] = 0.0

    def own_timeout_sec(self) -> float:
        """Return how many seconds it needs where others are bounded by a default; 0 for none."""
        return 0.0

    @abstractmethod
    def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
        """Look once.

        Args:
            context: What the probe may use.
            timeout_sec: Seconds after which it must have returned, > 0.
        """


class BaseVerifier(BaseModel, ABC):
    """The base of plug-ins written for the public harness; run as a probe.

    The same instance is called for every sample of a run, so it may keep state.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    type: str = ""
    name: Label | None = None
    kubeconfig: str | None = None

    @abstractmethod
    def verify(self, timeout_sec: float) -> VerificationResult:
        """Look once, within ``timeout_sec`` seconds."""
