"""A result as text for a person: for each entry what was seen and when, the outcome, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from devops_bench.results.model import (
    AgentReport,
    CoverageRow,
    GapRow,
    ReportRow,
    RunResult,
    TaskResult,
)
from devops_bench.results.trust_text import access_lines, attribution_lines, integrity_lines

_MARKS = {"pass": "ok   ", "fail": "FAIL ", "error": "ERROR"}

_SHORT_REASON: Final = 60
"""A reason that is no longer is easier read again than looked up."""


def render_summary(result: RunResult) -> str:
    """Return the summary of a run, plain text, ended by a newline."""
    lines = [f"Run {result.run_id}" + (f", agent {result.agent}" if result.agent else "")]
    for task in result.tasks:
        lines += ["", *_task_lines(task)]
    missing = [name for name in result.planned if name not in {task.id for task in result.tasks}]
    if missing:
        lines += ["", f"Not run to an end: {', '.join(missing)}"]
    counts = _counts(result)
    lines += ["", counts or "No task has ended."]
    return "\n".join(lines) + "\n"


def render_task(task: TaskResult) -> str:
    """Return the summary of one task, plain text, ended by a newline."""
    return "\n".join(_task_lines(task)) + "\n"


def _counts(result: RunResult) -> str:
    statuses = [task.status for task in result.tasks]
    known = ("passed", "failed", "error", "interrupted")
    counts = [f"{statuses.count(name)} {name}" for name in known if name in statuses]
    marked = sum(task.contaminated for task in result.tasks)
    return ", ".join(counts) + (f"; {marked} contaminated" if marked else "")


def _task_lines(task: TaskResult) -> Iterator[str]:
    title = f" ({task.name})" if task.name else ""
    yield f"{task.id}{title}: {task.status.upper()}, outcome {_number(task.outcome)}"
    if task.reason:
        yield f"  {task.reason}"
    scores = task.scores
    yield (
        f"  correctness {_number(scores.correctness)}"
        f" · recoverable safety {_number(scores.recoverable_safety)}"
        f" · catastrophic safety {_number(scores.catastrophic_safety)}"
    )
    if task.cluster is not None:
        yield f"  cluster: {task.cluster.description}"
    if task.agent is not None:
        agent = task.agent
        yield f"  agent: {agent.name}, {agent.status} after {agent.elapsed_sec:.1f} s"
        if agent.reason:
            yield f"         {agent.reason}"
        yield from _agent_lines(agent)
    yield from access_lines(task)
    yield from _report_lines(task)
    yield from integrity_lines(task)
    for text in task.unverified:
        yield f"  what was watched could have been replaced unnoticed: {text}"
    if task.recording_cut is not None:
        yield f"  the recording is not whole: {task.recording_cut}"
    for text in task.left_behind:
        yield f"  left on the cluster: {text}"


def _report_lines(task: TaskResult) -> Iterator[str]:
    """Yield what each entry came to, and the gaps that several of them have."""
    shared = _shared_gaps(task.verification_report)
    for role, heading in (
        ("objective", "objectives"),
        ("safeguard", "safeguards"),
        (None, "invalid"),
    ):
        rows = [row for row in task.verification_report if row["role"] == role]
        if rows:
            yield f"  {heading}:"
            for row in rows:
                yield from _row_lines(_without_repetition(row, task.reason), shared)
                yield from attribution_lines(task, row["name"])
    if shared:
        yield "  gaps of more than one entry:"
    for text, names in shared.items():
        yield f"    {text}"
        yield f"         entries: {', '.join(names)}"


def _without_repetition(row: ReportRow, told: str) -> ReportRow:
    """Return the row without the task's own reason, which stands above all rows already."""
    if len(told) < _SHORT_REASON or not row["reason"].endswith(f": {told}"):
        return row
    shorter = row.copy()
    shorter["reason"] = f"{row['reason'].removesuffix(f': {told}')}, for the reason above"
    return shorter


def _agent_lines(agent: AgentReport) -> Iterator[str]:
    """Yield what it used and in what it ran."""
    usage = agent.usage
    if usage is not None:
        parts = [
            f"{count:,} {what}"
            for count, what in (
                (usage.input_tokens, "tokens in"),
                (usage.output_tokens, "tokens out"),
                (usage.requests, "requests"),
            )
            if count is not None
        ]
        if usage.input_tokens is None and usage.output_tokens is None:
            parts.append("tokens not known")
        if usage.cost_usd is not None:
            parts.append(f"{usage.cost_usd:.4f} USD")
        yield f"         used: {', '.join(parts)}"
    sandbox = agent.sandbox
    if agent.leftover_processes is None and (sandbox is None or sandbox.state == "unsandboxed"):
        yield "         leftovers: not checked"
    if sandbox is None:
        return
    text = sandbox.state
    if sandbox.image:
        text += f" {sandbox.image}"
    if sandbox.reachable:
        text += f", could reach {', '.join(sandbox.reachable)}"
    if sandbox.readable:
        text += f", could read {', '.join(sandbox.readable)}"
    yield f"         sandbox: {text}"


def _row_lines(row: ReportRow, shared: Collection[str]) -> Iterator[str]:
    kind = " ".join(part for part in (row["severity"], row["mode"]) if part)
    weight = row["weight"]
    if row["role"] == "objective" and weight is not None:
        kind += f", weight {weight:g}"
    yield f"    {_MARKS[row['status']]} {row['name']}" + (f" ({kind})" if kind else "")
    if row["reason"]:
        yield f"          {row['reason']}"
    for seen in _seen_lines(row, shared):
        yield f"          {seen}"
    hint = row.get("failure_hint", "")
    if hint and row["status"] == "fail":
        yield f"          hint: {hint}"


def _seen_lines(row: ReportRow, shared: Collection[str]) -> Iterator[str]:
    """Return what a hold entry saw and when, nothing for the other modes.

    Gaps that are in ``shared`` are told of elsewhere.
    """
    samples = row.get("hold_sample_count")
    if samples is None:
        return
    coverage = row.get("coverage")
    watched = coverage is not None and coverage["mode"] == "watched"
    what = "state" if watched else "sample"
    text = f"{'watched' if watched else 'seen'}: {samples} {what}{'' if samples == 1 else 's'}"
    first, last = row.get("hold_first_observed_at_sec"), row.get("hold_last_observed_at_sec")
    if watched and coverage is not None:
        last = coverage["to_sec"]
    if first is not None and last is not None:
        text += f", from {first:.1f} s to {last:.1f} s"
    errors, missed = row.get("hold_error_count", 0), row.get("hold_missed_count", 0)
    if errors:
        text += f", {errors} of them errored"
    if missed:
        text += f", {missed} skipped because the one before took too long"
    if watched and coverage is not None and not coverage["gaps"]:
        text += ", nothing missed"
    yield text
    if coverage is not None:
        yield from _coverage_lines(coverage, shared)
    after = row.get("after_turn")
    if after is not None and after["violated"]:
        yield (
            f"after the turn, at {_seconds(after['first_violation_at_sec'])}: "
            f"{after['first_violation_reason']}"
        )


def _coverage_lines(coverage: CoverageRow, shared: Collection[str]) -> Iterator[str]:
    if coverage["mode"] == "sampled":
        blind = coverage["largest_blind_spot_sec"]
        text = "sampled, not watched"
        if coverage["why_sampled"]:
            text += f" ({coverage['why_sampled']})"
        if blind is not None:
            text += f": a violation shorter than {blind:.1f} s can have been missed"
        yield text
    gaps = [_gap_line(gap) for gap in _grouped(coverage["gaps"])]
    yield from (text for text in gaps if text not in shared)
    told = sum(text in shared for text in gaps)
    if told:
        yield f"{told} {'gap' if told == 1 else 'gaps'} that other entries have too, told of below"


def _gap_line(gap: GapRow) -> str:
    state = "closed gap" if gap["closed"] else "GAP"
    until = "the end" if gap["to_sec"] is None else _seconds(gap["to_sec"])
    text = f"{state}: {gap['stream']}, from {_seconds(max(0.0, gap['from_sec']))} to {until}: "
    return text + gap["cause"] + (f" ({gap['how']})" if gap["how"] else "")


def _shared_gaps(rows: Iterable[ReportRow]) -> dict[str, list[str]]:
    """Return the gaps that several entries have, as lines, with the names of the entries."""
    found: dict[str, list[str]] = {}
    for row in rows:
        coverage = row.get("coverage")
        for gap in _grouped(coverage["gaps"]) if coverage is not None else ():
            found.setdefault(_gap_line(gap), []).append(row["name"])
    return {text: names for text, names in found.items() if len(names) > 1}


def _grouped(gaps: Iterable[GapRow]) -> Iterator[GapRow]:
    """Yield gaps, those of one cause that meet as one: an outage breaks streams again and again."""
    groups: dict[tuple[bool, str, str], list[GapRow]] = {}
    for gap in sorted(gaps, key=lambda one: one["from_sec"]):
        group = groups.setdefault((gap["closed"], gap["cause"], gap["how"]), [])
        last = group[-1] if group else None
        if last is None or (last["to_sec"] is not None and last["to_sec"] < gap["from_sec"]):
            group.append(gap.copy())
            continue
        ends = (last["to_sec"], gap["to_sec"])
        last["to_sec"] = None if ends[0] is None or ends[1] is None else max(ends[0], ends[1])
        if gap["stream"] not in last["stream"].split("; "):
            last["stream"] += f"; {gap['stream']}"
    yield from sorted(
        (gap for group in groups.values() for gap in group), key=lambda one: one["from_sec"]
    )


def _seconds(value: float | None) -> str:
    return "an unknown time" if value is None else f"{value:.1f} s"


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:.3f}"
