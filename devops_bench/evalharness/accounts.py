"""Keeps account of who did what during a task, and says it at the end; no verdict depends on it."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog

from devops_bench.agents.base import AgentStatus
from devops_bench.agents.sandbox.report import NOT_KNOWN, UNSANDBOXED
from devops_bench.clusters.base import PROGRAMS_FOLDER, Cluster
from devops_bench.core.errors import ClusterError
from devops_bench.core.shielding import memory_is_open
from devops_bench.evalharness.attribution import causes_by_audit, causes_by_managed_fields
from devops_bench.evalharness.auditwatch import AuditWatch, unexplained
from devops_bench.evalharness.canary import (
    CANARY_FILE,
    Canary,
    Quoted,
    find_canaries,
    new_canary,
    place_file,
)
from devops_bench.evalharness.filewatch import FileWatch
from devops_bench.evalharness.integrity import PROBES, Observed, judge_integrity
from devops_bench.evalharness.leash import Leash
from devops_bench.evalharness.observation import HoldObservation
from devops_bench.evalharness.requests import Parties, Requests
from devops_bench.evalharness.taskrun import TaskRun
from devops_bench.evalharness.toolcalls import TRANSCRIPT_NAME, ToolCalls
from devops_bench.k8s.client import connect
from devops_bench.k8s.identity import username
from devops_bench.k8s.useragent import USER_AGENT
from devops_bench.results.evidence.reader import EVIDENCE_NAME
from devops_bench.results.journal import JOURNAL_NAME
from devops_bench.results.trust import Attribution, ViolationCause
from devops_bench.verification.base import Check
from devops_bench.verification.combinators import leaves_of
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import VerificationEntry

log = structlog.get_logger(__name__)

_AGENT_WORDS: Final = ("agent.stdout", "agent.stderr", TRANSCRIPT_NAME, "workspace")
_REQUEST_SEC: Final = 10.0


class Accounts:
    """The accounts of one task; made before its setup.

    Args:
        run: The task.
        cluster: The cluster, with the harness's kubeconfig.
        knows_the_answer: Whether the agent is the task's own control, which may read the spec.
    """

    def __init__(self, run: TaskRun, cluster: Cluster, *, knows_the_answer: bool) -> None:
        self._run = run
        self._cluster = cluster
        self._knows = knows_the_answer
        self._log = None if cluster.audit_log is None else AuditWatch(cluster.audit_log)
        self._leash: Leash | None = None
        self._canaries: list[Canary] = []
        self._watch: FileWatch | None = None
        self._turn: tuple[dt.datetime, dt.datetime] | None = None
        self._opened: list[str] | None = None
        self._transcript_is_ours = True
        self.cluster_canary = new_canary("the Secret in the harness's namespace")

    def leashed(self, held: Leash) -> None:
        """Note the agent's account, and that the Secret with the canary is there."""
        self._leash = held
        self._canaries.append(self.cluster_canary)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Watch over the agent's turn."""
        run = self._run
        try:
            self._canaries.append(place_file(run.folder))
        except OSError as exc:
            log.warning("accounts.no_canary", reason=str(exc))
        run_dir = run.folder.parent
        # What other tasks' agents left in theirs is no secret, and may be very much.
        allowed = run_dir.glob("*/workspace*")
        for name in (JOURNAL_NAME, EVIDENCE_NAME, CANARY_FILE):
            run.records.mark(run.folder / name)
        self._watch = FileWatch(
            [run_dir, *self._cluster.private_folders],
            self._files(),
            [*allowed, *self._allowed_of_the_cluster()],
        )
        self._watch.start()
        began = run.clock.now()
        try:
            with contextlib.nullcontext() if self._log is None else self._log.following():
                yield
        finally:
            self._turn = (began, run.clock.now())
            self._opened = self._watch.stop()

    def _files(self) -> list[Path]:
        """Return the files outside of the run's folder that the agent has no business in."""
        files: list[Path | None] = [self._cluster.audit_log, *self._cluster.credentials]
        if not self._probes_in_the_turn:
            files += [self._cluster.kubeconfig, *self._cluster.kubeconfig_files]
        if not self._knows:
            task = self._run.task
            oracle = task.controls.oracle
            # Not their folder: the agent's own program may be in it.
            files += [task.source, *task.setup.manifests, oracle.script if oracle else None]
        return [file for file in files if file is not None and file.is_file()]

    def _allowed_of_the_cluster(self) -> Iterator[Path]:
        """Yield what in the private folders of the cluster may be opened by others."""
        yield from (folder / PROGRAMS_FOLDER for folder in self._cluster.private_folders)
        if self._probes_in_the_turn:
            yield self._cluster.kubeconfig

    def close(self) -> None:
        """Say in the run what was found; never raises."""
        try:
            if self._turn is not None:
                self._conclude(self._turn)
        except Exception as exc:
            log.exception("accounts.failed", task=self._run.task.id)
            self._run.notice(f"whose doing it was could not be told: {exc}")
        finally:
            if self._log is not None:
                self._log.close()

    def _conclude(self, turn: tuple[dt.datetime, dt.datetime]) -> None:
        run = self._run
        parties = self._parties(turn)
        why = self._why_no_log(parties)
        events, requests = None, None
        if self._log is not None and parties is not None:
            events = self._log.read(parties)
            requests = Requests(events, parties)
            why = (
                self._log.problem
                or unexplained(run.trail.changes_of_the_turn(), requests)
                or self._log.why_unwatched(confined=self._confined)
            )
        lost = self._lost_records()
        run.integrity = judge_integrity(
            Observed(
                events=events,
                why_no_events=why,
                parties=parties,
                harness_namespace=self._leash.identity.namespace if self._leash else "",
                probes=self._probes_in_the_turn,
                quoted=self._quoted(),
                opened=None if self._why_no_watch else self._opened,
                why_not_opened=self._why_not_opened(),
                lost=lost,
                memory_open=self._memory_open(),
            )
        )
        run.attribution = [self._attribution(entry, requests, why) for entry in self._violated()]

    def _lost_records(self) -> list[str]:
        """Return what became of records of the run that are not whole any more, and tell it."""
        run = self._run
        found = run.records.lost()
        if not found:
            return []
        lost = [f"{path.name} {why}" for path, why in found.items()]
        run.record_lost = f"of the run's own record {', '.join(lost)} before its end"
        run.notice(run.record_lost)
        transcript = run.folder / TRANSCRIPT_NAME
        self._transcript_is_ours = transcript not in found
        if run.agent is not None and not transcript.exists():
            run.agent = run.agent.model_copy(update={"transcript": None})
        return lost

    @property
    def _probes_in_the_turn(self) -> bool:
        """Whether programs of ours may use the harness's credentials during the agent's turn."""
        return any(
            entry.role == "safeguard" and entry.resolved_mode == "hold" and _has_probe(entry)
            for entry in self._run.task.entries
        )

    @property
    def _why_no_watch(self) -> str:
        if self._watch is None:
            return "nobody watched"
        return self._watch.why_not or ""

    def _why_not_opened(self) -> str:
        if self._watch is not None and self._watch.why_not:
            return self._watch.why_not
        agent = self._run.agent
        if agent is not None and agent.status == AgentStatus.LOST.value:
            # Whoever is left without a parent is nobody's process to us.
            return "processes of the agent may have escaped, and so not be known as its own"
        return PROBES if self._probes_in_the_turn else ""

    @property
    def _confined(self) -> bool:
        """Whether it is known that nothing of the agent ran outside of a sandbox."""
        agent = self._run.agent
        state = None if agent is None or agent.sandbox is None else agent.sandbox.state
        return state not in (None, UNSANDBOXED, NOT_KNOWN)

    def _memory_open(self) -> str | None:
        if self._run.agent is None:
            return None
        plane = bool(self._cluster.private_folders)
        return "" if self._confined else memory_is_open(plane=plane)

    def _parties(self, turn: tuple[dt.datetime, dt.datetime]) -> Parties | None:
        if self._log is None:
            return None
        try:
            with contextlib.closing(connect(self._cluster.kubeconfig)) as client:
                harness = username(client, _REQUEST_SEC)
        except ClusterError as exc:
            log.warning("accounts.who_are_we", reason=str(exc))
            return None
        agent = self._leash.identity.username if self._leash else ""
        return Parties(harness, agent, turn_from=turn[0], turn_to=turn[1], client=USER_AGENT)

    def _why_no_log(self, parties: Parties | None) -> str:
        if self._log is None:
            return f"there is no audit log on the provider {self._cluster.provider}"
        return "" if parties is not None else "the server did not say who the harness is"

    def _quoted(self) -> list[Quoted] | None:
        if not self._canaries:
            return None
        places = [self._run.folder / name for name in _AGENT_WORDS]
        found, searched = find_canaries(self._canaries, places)
        return found if searched else None

    def _violated(self) -> list[VerificationEntry]:
        return [
            entry
            for entry in self._run.task.entries
            if entry.role == "safeguard" and _violated_at(self._run, entry)[0]
        ]

    def _attribution(
        self, entry: VerificationEntry, requests: Requests | None, why: str
    ) -> Attribution:
        run = self._run
        _, first_at = _violated_at(run, entry)
        trail = run.trail
        violations = trail.violations(entry.name, first_at)
        causes: list[ViolationCause]
        if requests is not None:
            transcript = run.folder / TRANSCRIPT_NAME
            calls = ToolCalls.read(transcript) if self._transcript_is_ours else ToolCalls()
            causes = causes_by_audit(
                violations,
                requests,
                origin_sec=trail.origin_sec,
                started_at=run.started_at,
                place_call=calls.at,
            )
            if first_at is None:
                causes = _of_the_turn(causes, requests.parties)
            return Attribution(entry=entry.name, source="audit", why_source=why, violations=causes)
        causes = causes_by_managed_fields(violations, origin_sec=trail.origin_sec)
        known = any(cause.written_by is not None for cause in causes)
        return Attribution(
            entry=entry.name,
            source="managedFields" if known else "none",
            why_source=why,
            violations=causes,
        )


@contextlib.contextmanager
def accounts(run: TaskRun, cluster: Cluster, *, knows_the_answer: bool) -> Iterator[Accounts]:
    """Keep account of a task from here on, and say it in the run at the end.

    Args:
        run: The task; its setup was not begun.
        cluster: The cluster, with the harness's kubeconfig.
        knows_the_answer: Whether the agent is the task's own control.
    """
    kept = Accounts(run, cluster, knows_the_answer=knows_the_answer)
    try:
        yield kept
    finally:
        kept.close()


def _of_the_turn(causes: list[ViolationCause], parties: Parties) -> list[ViolationCause]:
    """Return the causes that fall into the turn: one look shows what was there before it, too."""
    found = [
        cause
        for cause in causes
        if (by := cause.written_by) is not None
        and by.at is not None
        and parties.turn_from <= by.at <= parties.turn_to
    ]
    note = "it was judged once, and no request of the turn wrote what it read"
    return found or [ViolationCause(at_sec=None, note=note)]


def _violated_at(run: TaskRun, entry: VerificationEntry) -> tuple[bool, float | None]:
    """Return whether a safeguard was violated, and when: seconds into its window."""
    outcome = run.outcomes.get(entry.name)
    if isinstance(outcome, HoldObservation):
        return outcome.violated, outcome.first_violation_at_sec
    return isinstance(outcome, VerificationResult) and outcome.status == "fail", None


def _has_probe(entry: VerificationEntry) -> bool:
    return any(not isinstance(leaf, Check) for leaf in leaves_of(entry.check))
