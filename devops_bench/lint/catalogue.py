"""Every rule, those of the loader included: importing this module completes ``RULES``."""

from __future__ import annotations

import textwrap
from typing import Final

import devops_bench.lint.rules.comments
import devops_bench.lint.rules.compares
import devops_bench.lint.rules.holds
import devops_bench.lint.rules.namespaces
import devops_bench.lint.rules.outcomes
import devops_bench.lint.rules.reads
import devops_bench.lint.rules.setup
import devops_bench.lint.rules.text
import devops_bench.lint.rules.weights  # noqa: F401 - each registers its rules
from devops_bench.core.diagnostics import Level
from devops_bench.lint.model import RULES, Example, Rule, register, spec
from devops_bench.tasks import rule_ids

_ENTRY: Final = """
verification_spec:
  - name: ready
    role: objective
    check: {type: pod_healthy, selector: app=web}
"""


def all_rules() -> list[Rule]:
    """Return every rule, by id."""
    return [RULES[name] for name in sorted(RULES)]


def _loader(
    rule_id: str,
    title: str,
    why: str,
    fires: Example,
    near_miss: Example,
    level: Level = Level.ERROR,
) -> None:
    register(Rule(rule_id, title, textwrap.dedent(why).strip(), level, fires, near_miss))


def _property(fields: str) -> Example:
    """Return a spec of one ``resource_property`` with these further fields."""
    lines = "\n".join(f"      {line}" for line in textwrap.dedent(fields).strip().splitlines())
    return Example(
        "id: example\nverification_spec:\n  - name: web\n    role: objective\n    check:\n"
        "      type: resource_property\n      kind: Deployment\n" + lines + "\n"
    )


_loader(
    rule_ids.NOT_YAML,
    "this is not YAML, or more of it than a spec may hold",
    """
    The file is strict YAML, one document in UTF-8 with JSON's values. Tags, merge keys, aliases
    within their own anchor, a second document and whatever passes a bound (1 MiB, 100,000 values,
    64 levels) are refused, so that every reader sees the same spec.
    """,
    Example("id: example\nprompt: [\n"),
    Example(f"id: example\nprompt: ' ['{_ENTRY}"),
)
_loader(
    rule_ids.DUPLICATE_KEY,
    "a key is there twice",
    "Readers differ in which of the two counts. Keep one.",
    Example(f"id: example\nprompt: Fix it.\nprompt: Mend it.{_ENTRY}"),
    Example(f"id: example\nprompt: Fix it.\ntitle: Fix it.{_ENTRY}"),
)
_loader(
    rule_ids.AMBIGUOUS_SCALAR,
    "a plain scalar that two readers read differently",
    """
    Plain words such as on and no are booleans in YAML 1.1 and text in 1.2; 0017 and 1:30 are other
    numbers in each; 1.20 is a number whose text does not survive. Quotes make it text.
    """,
    Example(f"id: example\ntitle: no{_ENTRY}"),
    Example(f"id: example\ntitle: 'no'{_ENTRY}"),
)
_loader(
    rule_ids.UNKNOWN_FIELD,
    "a field that is not known here",
    """
    A misspelt field would silently have no effect. The message names the field that is close to it,
    or all that there are. Keys of the public format without an effect here load with a notice.
    """,
    Example(f"id: example\npromt: Fix it.{_ENTRY}"),
    Example(f"id: example\ntags: [web]{_ENTRY}"),
)
_loader(
    rule_ids.TASK_FIELD,
    "a field of the task is missing, or holds the wrong thing",
    """
    A task needs an id that can name a folder, and entries under verification_spec. timeout_sec and
    verification_budget_sec are finite seconds, greater than 0 and at most a week.
    """,
    Example(f"id: example\ntimeout_sec: 0{_ENTRY}"),
    Example(f"id: example\ntimeout_sec: 0.5{_ENTRY}"),
)
_loader(
    rule_ids.UNUSED_KEY,
    "a key of the public format that has no effect here",
    "It loads, so that one file serves both harnesses; nothing in it is read.",
    Example(f"id: example\nexpected_output: A report.{_ENTRY}"),
    Example(f"id: example\ndescription: A report.{_ENTRY}"),
    Level.NOTICE,
)
_loader(
    rule_ids.REPEATED_ID,
    "two tasks have the same id",
    "The id names the task's folder among the results: within one run every task needs its own.",
    Example(f"id: example{_ENTRY}", {"second/task.yaml": f"id: example{_ENTRY}"}),
    Example(f"id: example{_ENTRY}", {"second/task.yaml": f"id: example-2{_ENTRY}"}),
)
_loader(
    rule_ids.VARIABLE_FORM,
    "a variable that is malformed",
    """
    {{NAME}} refers to a variable: letters, digits and _, not a digit first, no spaces. {{{{ stands
    for a literal {{. A default is taken as it is and cannot refer to another variable.
    """,
    Example(f"id: example\nprompt: Fix {{{{ NAME }}}}.{_ENTRY}"),
    Example(f"id: example\nprompt: Fix {{{{{{{{ NAME }}}}.{_ENTRY}"),
)
_loader(
    rule_ids.SETUP_FILE,
    "a file of the task that is not there, or must not be opened",
    """
    setup.manifests and controls.oracle.script name files below the spec's folder, relative to it.
    Nothing outside of that folder is ever opened, also not through a link.
    """,
    Example(f"id: example\nsetup: {{manifests: [web.yaml]}}{_ENTRY}"),
    Example(
        f"id: example\nsetup: {{manifests: [web.yaml]}}{_ENTRY}",
        {"web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"},
    ),
)
_loader(
    rule_ids.SETUP_OBJECT,
    "an object of the setup that cannot be created",
    "Every object needs an apiVersion, a kind and a name; a namespace is text.",
    Example(f"id: example\nsetup:\n  objects:\n    - {{apiVersion: v1, kind: ConfigMap}}{_ENTRY}"),
    Example(
        "id: example\nsetup:\n  objects:\n"
        f"    - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: web}}}}{_ENTRY}"
    ),
)
_loader(
    rule_ids.ACCESS_ESCALATES,
    "a rule of the access by which the agent could have more",
    """
    Impersonation, tokens and Secrets that become tokens, roles and bindings, nodes/proxy, labels of
    namespaces (they enforce Pod Security), admission webhooks, the namespaces of the cluster, and
    what is written in all namespaces at once. docs/access.md has the list and the reasons.
    """,
    spec("""
        access:
          rules:
            - {resources: [secrets], verbs: [create], namespaces: [shop]}
        verification_spec:
          - name: ready
            role: objective
            check: {type: pod_healthy, selector: app=web}
    """),
    spec("""
        access:
          rules:
            - {resources: [secrets], resourceNames: [db], verbs: [get, patch], namespaces: [shop]}
        verification_spec:
          - name: ready
            role: objective
            check: {type: pod_healthy, selector: app=web}
    """),
)
_loader(
    rule_ids.ENTRY_FIELD,
    "a field of an entry or a check is missing, or holds the wrong thing",
    """
    An entry needs a name, a role and a check; severity belongs to safeguards, the hold_* fields to
    mode: hold, hold_window_sec to objectives. docs/specs.md has the tables.
    """,
    spec("""
        verification_spec:
          - name: ready
            role: safeguard
            check: {type: pod_healthy, selector: app=web}
    """),
    spec("""
        verification_spec:
          - name: ready
            role: safeguard
            severity: recoverable
            mode: hold
            check: {type: pod_healthy, selector: app=web}
    """),
)
_loader(
    rule_ids.UNKNOWN_CHECK_TYPE,
    "a check type that is not installed",
    """
    A later version or a plug-in (entry point devops_bench.verifiers) may know it; run refuses the
    spec until then, and lint looks at nothing else of the entry.
    """,
    spec("""
        verification_spec:
          - name: ready
            role: objective
            check: {type: pods_healthy, selector: app=web}
    """),
    Example(f"id: example{_ENTRY}"),
    Level.WARNING,
)
_loader(
    rule_ids.PATH_FORM,
    "a path in a form that is not allowed",
    """
    Paths are names, quoted names, [0], slices, [*], .. and filters. kubectl's braces, arithmetic,
    sorting, backtick functions and bare words in filters are refused, with the right form.
    """,
    _property("""
        path: "{.spec.replicas}"
        op: exists
    """),
    _property("""
        path: $.spec.replicas
        op: exists
    """),
)
_loader(
    rule_ids.PATTERN_FORM,
    "a pattern that RE2 refuses",
    """
    Patterns run on RE2, which is linear in the text: no look-around, no back-references, at most
    1,000 repetitions. Two checks under all or none say what a look-around would.
    """,
    _property("""
        path: spec.template.spec.containers[0].image
        op: matches
        value: ^(?!nginx)
    """),
    _property("""
        path: spec.template.spec.containers[0].image
        op: matches
        value: ^(?:nginx)
    """),
)
_loader(
    rule_ids.SELECTOR_FORM,
    "a label selector that is none",
    "Selectors follow kubectl's grammar: a=b,c!=d,e in (x,y),f notin (z),g,!h.",
    _property("""
        selector: app=web,tier in
        op: exists
    """),
    _property("""
        selector: app=web,tier in (web)
        op: exists
    """),
)
_loader(
    rule_ids.REPEATED_NAME,
    "two entries have the same name",
    "Names tell the rows of a report apart; the later entry is not read.",
    spec("""
        verification_spec:
          - name: ready
            role: objective
            check: {type: pod_healthy, selector: app=web}
          - name: ready
            role: objective
            check: {type: pod_healthy, selector: app=api}
    """),
    spec("""
        verification_spec:
          - name: web ready
            role: objective
            check: {type: pod_healthy, selector: app=web}
          - name: api ready
            role: objective
            check: {type: pod_healthy, selector: app=api}
    """),
)
_loader(
    rule_ids.WINDOW_OVER_BUDGET,
    "a window that does not fit in the budget",
    """
    Everything after the turn has verification_budget_sec (600). A soak that is cut short by it is
    an error, never a pass: hold_settle_sec and hold_window_sec together have to fit.
    """,
    spec("""
        verification_budget_sec: 60
        verification_spec:
          - name: stays ready
            role: objective
            mode: hold
            hold_settle_sec: 31
            hold_window_sec: 30
            check: {type: pod_healthy, selector: app=web}
    """),
    spec("""
        verification_budget_sec: 60
        verification_spec:
          - name: stays ready
            role: objective
            mode: hold
            hold_settle_sec: 30
            hold_window_sec: 30
            check: {type: pod_healthy, selector: app=web}
    """),
)
_loader(
    rule_ids.NAME_SELECTS_NOTHING,
    "name where resource_name was meant",
    """
    name is a label of the check for the report. Without resource_name and selector the check reads
    every object of the kind in the namespace: with several of them it fails as ambiguous, with
    another one it judges that one. A name that no object can have (it has blanks, say) is a title,
    and nothing is said of it.
    """,
    _property("""
        name: web
        path: spec.replicas
        op: eq
        value: 4
    """),
    _property("""
        name: web
        resource_name: web
        path: spec.replicas
        op: eq
        value: 4
    """),
    Level.WARNING,
)
