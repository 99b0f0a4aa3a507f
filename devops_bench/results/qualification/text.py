"""The report of a qualification as a table for a person. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from devops_bench.results.qualification.report import (
    Bound,
    ControlReport,
    EntryReport,
    QualificationReport,
    Rates,
    TaskReport,
)
from devops_bench.scoring.statistics import percent

_BUILTIN = {
    "caught": "caught",
    "missed": "MISSED: the task passes",
    "error": "not a pass: it could not be evaluated",
    "not_done": "its script failed, nothing can be said",
    "not_allowed": "the access does not allow it",
    "does_not_apply": "does not apply on this cluster",
}
_MARKS = {"as_expected": "ok", "unexpected": "WRONG", "not_evaluable": "ERROR", None: "-"}


def render_report(report: QualificationReport) -> str:
    """Return the report as plain text, ended by a newline."""
    lines: list[str] = []
    for task in report.tasks:
        lines += [*_task_lines(task), ""]
    if len(report.tasks) > 1:
        lines += ["all tasks", *_rate_lines(report.rates), ""]
    lines.append(_conclusion(report))
    return "\n".join(lines) + "\n"


def _task_lines(task: TaskReport) -> Iterator[str]:
    yield task.task
    own = [one for one in task.controls if one.plan.kind != "builtin"]
    rows = [("control", "", "expected", "got", "failed entries")]
    rows += [
        (
            one.plan.name,
            _MARKS[one.judgement],
            one.plan.expected,
            _got(one),
            _caught(one, one.failed_entries),
        )
        for one in own
    ]
    yield from _table(rows, widths=(24, 5, 34, 26, 60))
    for one in own:
        for reason in one.reasons:
            yield f"  {one.plan.name}: {reason}"
    yield ""
    yield from _entry_lines(task)
    yield from _builtin_lines(task)
    yield ""
    yield from _rate_lines(task.rates)
    for text in task.notices:
        yield f"  note: {text}"


def _got(control: ControlReport) -> str:
    parts = [f"{count} {status}" for status, count in sorted(control.statuses.items())]
    text = ", ".join(parts) or "no run has ended"
    least, most = control.outcome_min, control.outcome_max
    if control.plan.kind == "partial" and least is not None and most is not None:
        text += f", outcome {least:.2f}" + (f" to {most:.2f}" if most - least >= 0.005 else "")
    return text + _exit(control)


def _exit(control: ControlReport) -> str:
    codes = " and ".join(map(str, control.exit_codes))
    return f", exit code {codes}" if codes else ""


def _caught(control: ControlReport, entries: Mapping[str, int]) -> str:
    return ", ".join(
        name if count == control.runs else f"{name} ({count} of {control.runs})"
        for name, count in entries.items()
    )


def _entry_lines(task: TaskReport) -> Iterator[str]:
    rows = [("entry", "role", "kills", "by")]
    for one in task.entries:
        role = one.entry.severity or one.entry.role
        by = ", ".join(one.killed) or _why_no_kills(one, task)
        rows.append((one.entry.name, role, str(len(one.killed)), by))
    yield from _table(rows, widths=(45, 12, 5, 80))


def _why_no_kills(entry: EntryReport, task: TaskReport) -> str:
    if entry.dead_weight:
        return "DEAD WEIGHT: no control makes it fail"
    if any(one.failed_entries.get(entry.entry.name) for one in task.controls):
        return "only runs whose script did not end well, or the oracle's"
    return "no control so far"


def _builtin_lines(task: TaskReport) -> Iterator[str]:
    generic = [one for one in task.controls if one.plan.kind == "builtin"]
    if not generic and not task.not_applicable:
        return
    yield ""
    rows = [("generic mutant", "result", "failed entries")]
    rows += [(one.plan.title, _said(one), _caught(one, one.kills)) for one in generic]
    yield from _table(rows, widths=(50, 28, 60))
    for text in task.not_applicable:
        yield f"  does not apply: {text}"


def _said(control: ControlReport) -> str:
    if control.builtin is None:
        return "not run"
    # The other codes are how a generic mutant says what the text says already.
    return _BUILTIN[control.builtin] + (_exit(control) if control.builtin == "not_done" else "")


def _rate_lines(rates: Rates) -> Iterator[str]:
    yield f"  false pass   {_rate(rates.false_pass)}"
    yield f"  false fail   {_rate(rates.false_fail)}"
    yield f"  flake        {_rate(rates.flake)}"
    if rates.not_evaluable.count:
        yield f"  no verdict   {_rate(rates.not_evaluable)}"


def _rate(bound: Bound) -> str:
    if not bound.total:
        return "no run tells"
    return f"{bound.count} of {bound.total} runs (at most {percent(bound.upper)}, 95 % sure)"


def _conclusion(report: QualificationReport) -> str:
    controls = [one for task in report.tasks for one in task.controls if one.plan.kind != "builtin"]
    good = sum(one.judgement == "as_expected" for one in controls)
    text = f"{good} of {len(controls)} controls did as expected, {_times(controls, report.repeat)}"
    text += f"; an entry had {report.verification_timeout_sec:g} s to become true, or its task's"
    text += " own budget"
    if report.missing:
        text += f"; {report.missing} {'run has' if report.missing == 1 else 'runs have'} not ended"
    dead = sum(one.dead_weight for task in report.tasks for one in task.entries)
    if dead:
        text += f"; {dead} {'entry is' if dead == 1 else 'entries are'} dead weight"
    return text + ("; INTERRUPTED" if report.interrupted else "")


def _times(controls: Sequence[ControlReport], asked: int) -> str:
    least = min((one.runs for one in controls), default=asked)
    most = max((one.runs for one in controls), default=asked)
    if least < asked:
        made = f"{most}" if least == most else f"{least} to {most}"
        return f"each run {made} of {asked} times"
    return "each run once" if asked == 1 else f"each run {asked} times"


def _table(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """Return a table whose cells are wrapped at ``widths``, each column as wide as it needs."""
    wrapped = [
        [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
        for row in rows
    ]
    needed = [
        max(len(line) for row in wrapped for line in row[column]) for column in range(len(widths))
    ]
    for row in wrapped:
        for index in range(max(map(len, row))):
            cells = [lines[index] if index < len(lines) else "" for lines in row]
            padded = [cell.ljust(width) for cell, width in zip(cells, needed, strict=True)]
            yield f"  {'  '.join(padded)}".rstrip()
