"""Rules about the task around its entries: the prompt, the oracle, the variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from devops_bench.core.diagnostics import Level
from devops_bench.core.json import JsonValue
from devops_bench.lint.controls import may_read, shell_text
from devops_bench.lint.model import Finding, rule, spec
from devops_bench.lint.subject import Subject
from devops_bench.tasks.variables import BUILT_IN_VARIABLES
from devops_bench.tasks.yaml import DocPath

_TRIVIAL = re.compile(r"^(?:set\s|cd\s|echo\s|export\s|exit\b|sleep\s|#|\S+$)")
_COMMENT = re.compile(r"""(?<=\s)#[^'"]*$""")
_PARTS = re.compile(r"""((?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[<>]&|&>|[^'"\\;&|]|\|(?!\|))+)""")
"""A command of a line: what stands between ``;``, ``&&``, ``||`` and ``&``, a pipe as a whole."""
_AROUND = re.compile(
    r"""
      ^\s*(?:(?:(?:if|then|elif|else|while|until|do|time|!|\{)\s+|\(\s*))+
      | \s+(?:\d|&)?>>?\s*(?:&\d|[\w./-]+)\s*$
      | \s*[)}]\s*$
    """,
    re.VERBOSE,
)
"""What stands before and after a command: words of the shell, a redirection of what it says."""
_LOOKS = re.compile(
    r"""^kubectl\s[^|]*?(?<![\w-])
        (?:get|describe|logs|wait|top|events?|explain|rollout\s+(?:status|history))(?![\w-])[^|]*$""",
    re.VERBOSE,
)
_CHANGES = re.compile(
    r"""(?<![\w-])(?:annotate|apply|autoscale|certificate|cordon|cp|create|debug|delete|drain|edit|exec
        |expose|label|patch|replace|restart|run|scale|set|taint|uncordon|undo)(?![\w-])""",
    re.VERBOSE,
)
_HERE_DOCUMENT = re.compile(r"""(?<!<)<<-?\s*["'\\]?([A-Za-z_][\w.-]*)["']?""")
_QUOTES = re.compile(r"""["'`]""")
_SHORTEST = 12
"""Characters of a command below which it may stand in a prompt by chance."""


@rule(
    "DB301",
    "the solution stands in the prompt",
    level=Level.WARNING,
    why="""
        A whole command of the oracle is part of the prompt, so that the agent only has to run it:
        the task measures reading, not operating. Say what is wrong and what is wanted, not how.
        Of a line each command counts by itself, also one behind if or &&. Commands without
        substance (set -eu, cd, echo, comments, kubectl get and what else only looks) do not, nor do
        quotes, a comment behind the command, || true, and where its output goes.
    """,
    fires=spec("""
        prompt: >-
          The shop is slow. Run kubectl scale deployment/web --replicas=8 and tell us when it is up.
        controls:
          oracle:
            run: |
              set -eu
              kubectl scale deployment/web \\
                --replicas=8
        verification_spec:
          - name: eight are ready
            role: objective
            check: {type: scaling_complete, deployment: web, min_replicas: 8}
    """),
    near_miss=spec("""
        prompt: The shop is slow. Have eight replicas of web ready (kubectl works), and tell us.
        controls:
          oracle:
            run: |
              set -eu
              kubectl scale deployment/web \\
                --replicas=8
        verification_spec:
          - name: eight are ready
            role: objective
            check: {type: scaling_complete, deployment: web, min_replicas: 8}
    """),
)
def oracle_in_prompt(subject: Subject) -> Iterator[Finding]:
    """Find commands of the oracle in the prompt."""
    prompt = _normal(subject.task.prompt)
    for command in _commands(_oracle_text(subject)):
        if _stands_in(command, prompt):
            yield Finding(
                ("prompt",),
                f"the prompt holds a whole command of the oracle: {command[:100]}",
                "describe the symptom and the goal, not the commands",
                key=True,
            )


def _stands_in(command: str, prompt: str) -> bool:
    """Return whether the prompt holds it, not as the beginning or end of other words."""
    return re.search(rf"(?<![\w-]){re.escape(command)}(?![\w-])", prompt) is not None


def _oracle_text(subject: Subject) -> str:
    oracle = subject.task.controls.oracle
    return (shell_text(oracle) or "") if oracle is not None else ""


def _commands(script: str) -> Iterator[str]:
    for line in _without_documents(script.replace("\\\n", " ").splitlines()):
        text = _COMMENT.sub("", " ".join(line.split()))
        for part in _PARTS.findall(text):
            command = _normal(_alone(part))
            only_looks = _LOOKS.match(command) and not _CHANGES.search(command)
            if len(command) >= _SHORTEST and not _TRIVIAL.match(command) and not only_looks:
                yield command


def _without_documents(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines without the bodies of here-documents, which are no commands."""
    ends: list[str] = []
    for line in lines:
        if ends:
            if line.strip() == ends[0]:
                ends.pop(0)
            continue
        yield line
        ends = [match[1] for match in _HERE_DOCUMENT.finditer(line)]


def _alone(text: str) -> str:
    """Return a command without what changes nothing about the work that it does."""
    before = None
    while before != text:
        before = text
        text = _AROUND.sub("", text)
    return text


def _normal(text: str) -> str:
    return " ".join(_QUOTES.sub("", text).split())


@rule(
    "DB302",
    "a variable that nothing refers to",
    level=Level.WARNING,
    why="""
        variables: gives it a value, no string of the spec has {{NAME}} for it, and no control,
        which has it in its environment, names it. Either the reference was forgotten, and --var
        NAME=VALUE changes nothing, or the name is misspelt where it is used. Comments, keys and
        manifest files are not replaced. Nothing is said where a control starts a program that is no
        shell: it may read whatever it likes.
    """,
    fires=spec("""
        variables: {REPLICA: "4"}
        prompt: Have four replicas of web.
        verification_spec:
          - name: ready
            role: objective
            check: {type: scaling_complete, deployment: web, min_replicas: 4}
    """),
    near_miss=spec("""
        variables: {REPLICAS: "4"}
        prompt: Have {{REPLICAS}} replicas of web.
        verification_spec:
          - name: ready
            role: objective
            check: {type: scaling_complete, deployment: web, min_replicas: 4}
    """),
)
def unused_variable(subject: Subject) -> Iterator[Finding]:
    """Find variables that are declared and never referred to."""
    for name in sorted(subject.parts.declared - subject.used_variables - BUILT_IN_VARIABLES):
        if may_read(subject.task.controls, name):
            continue
        yield Finding(
            ("variables", name),
            f"the variable {name} is never referred to",
            f"write {{{{{name}}}}} where it is meant, or leave it out",
            key=True,
        )


@rule(
    "DB303",
    "a variable that nothing sets",
    level=Level.NOTICE,
    why="""
        The spec refers to {{NAME}}, and neither gives it a default under variables: nor is it one
        that the run sets (CLUSTER_NAME, NAMESPACE, RUN_ID). run refuses the spec unless --var
        NAME=VALUE sets it. For a spec that others run, a default is kinder.
    """,
    fires=spec("""
        prompt: Have four replicas of {{DEPLOYMENT}}.
        verification_spec:
          - name: ready
            role: objective
            check: {type: scaling_complete, deployment: "{{DEPLOYMENT}}", min_replicas: 4}
    """),
    near_miss=spec("""
        prompt: Have four replicas of web in {{NAMESPACE}}.
        verification_spec:
          - name: ready
            role: objective
            check: {type: scaling_complete, deployment: web, namespace: "{{NAMESPACE}}"}
    """),
)
def unset_variable(subject: Subject) -> Iterator[Finding]:
    """Find variables that only --var could set, each at its first use."""
    said: set[str] = set()

    def in_order(path: DocPath) -> tuple[int, int]:
        place = subject.parts.document.place(path)
        return place.line, place.column

    for path in sorted(subject.parts.open_paths, key=in_order):
        text = _value_at(subject.parts.raw, path)
        for name in re.findall(r"\{\{([A-Za-z_]\w*)\}\}", text if isinstance(text, str) else ""):
            if name in said or name in BUILT_IN_VARIABLES or name not in subject.used_variables:
                continue
            said.add(name)
            yield Finding(
                path,
                f"nothing in the spec sets the variable {name}",
                f"give it a default under variables:, or run with --var {name}=VALUE",
            )


def _value_at(value: JsonValue, path: DocPath) -> JsonValue:
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
    return value
