"""What ``devops-bench lint --explain`` prints, and the table of rules in the documentation."""

from __future__ import annotations

import textwrap

from devops_bench.core.errors import InvalidInputError
from devops_bench.lint.catalogue import all_rules
from devops_bench.lint.model import RULES, Example, closest_rule


def explain(rule_id: str) -> str:
    """Return what a rule is about, with the spec that it finds something in and the near miss.

    Args:
        rule_id: In any case.

    Raises:
        InvalidInputError: There is no such rule.
    """
    found = RULES.get(rule_id.upper())
    if found is None:
        close = closest_rule(rule_id)
        hint = f"did you mean {close}?" if close is not None else "devops-bench lint --explain all"
        raise InvalidInputError(f"there is no rule {rule_id!r} ({hint})")
    fixed = " It keeps the spec from running, and cannot be ignored." if found.is_load_error else ""
    why = textwrap.fill(found.why + fixed, width=88, break_on_hyphens=False)
    head = textwrap.fill(f"{found.id}: {found.title} ({found.levels})", width=88)
    return (
        f"{head}\n\n{why}\n\n"
        f"It finds something here:\n\n{_shown(found.fires)}\n"
        f"And nothing here:\n\n{_shown(found.near_miss)}"
    )


def list_rules() -> str:
    """Return every rule on a line of its own."""
    return "".join(f"{rule.id}  {rule.level:<7}  {rule.title}\n" for rule in all_rules())


def rule_table() -> str:
    """Return every rule as a row of a Markdown table."""
    rows = [f"| {rule.id} | {rule.levels} | {rule.title} |" for rule in all_rules()]
    return "\n".join(["| id | level | what it finds |", "| --- | --- | --- |", *rows]) + "\n"


def _shown(example: Example) -> str:
    text = textwrap.indent(example.spec, "    ")
    for name, content in example.files.items():
        text += f"\n  and beside it {name}:\n\n{textwrap.indent(content, '    ')}"
    return text
