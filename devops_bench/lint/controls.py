"""What a spec's controls are, as text: the commands they run, the variables they may read. Pure.

A control has the task's variables in its environment. What reads them in a shell's own words is
known; another program could read any of them, in any way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from devops_bench.core.shebang import is_shell_script
from devops_bench.tasks.model import Controls, ControlScript

_MAX_SCRIPT_BYTES: Final = 256 * 1024
_COMMENT_LINE: Final = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_ORACLE: Final = re.compile(r"""\b(?:ba|da|k|z)?sh\s+["']?\$\{?ORACLE\}?["']?""")
"""How a control lets the oracle do its work, which is a control itself."""
_OTHERS: Final = re.compile(
    r"""
      (?<![\w.$-])(?:env|printenv|envsubst|eval|source|declare|typeset|compgen|parallel|sudo|su
        |(?:ba|da|k|mk|z|a)?sh|python[\d.]*|perl|ruby|node|deno|php|lua|tclsh|expect|R|Rscript
        |[gmn]?awk|jq|yq|go|make|just|task|npm|npx|uv|uvx|java|helm|terraform|tofu|ansible[\w-]*
        |docker|podman|ssh|ex|vi|vim|emacs|git|pwsh)(?![\w.=-])
      | (?<!\S)\S+\.(?:sh|bash|py|pl|rb|js|mjs|ts|php|lua)\b
      | (?:^|[;&|(`]|\b(?:then|do|else|exec|time|nohup|command)\b)[ \t]*
        (?: ["']?(?:\$\(|\$\{?\w+\}?|~|\.{0,2})/ | ["']?\$ | \.[ \t] )
      | (?:^|[;&|(])[ \t]*(?:set|export)[ \t]*(?:-p[ \t]*)?(?:$|[;&|)])
      | \$\{!
    """,
    re.MULTILINE | re.VERBOSE,
)
"""Where a shell script gives its environment to another program, or reads it by names it makes."""


def all_controls(controls: Controls) -> Iterator[ControlScript]:
    """Yield the oracle, the partial control and the mutants, those that there are."""
    if controls.oracle is not None:
        yield controls.oracle
    if controls.partial is not None:
        yield controls.partial.does
    for mutant in controls.mutants:
        yield mutant.does


def shell_text(control: ControlScript) -> str | None:
    """Return the text of a shell script; ``None`` for any other program, and what cannot be read.

    A script without ``#!`` is run by bash.
    """
    if control.script is None:
        text = control.run or ""
    else:
        try:
            with control.script.open("rb") as stream:
                data = stream.read(_MAX_SCRIPT_BYTES + 1)
        except OSError:  # the loader has looked at the file; what it says now is the run's business
            return None
        if len(data) > _MAX_SCRIPT_BYTES or b"\0" in data:
            return None
        text = data.decode("utf-8", errors="replace")
    return text if is_shell_script(text) else None


def may_read(controls: Controls, name: str) -> bool:
    """Return whether a control may read the variable ``name`` from its environment."""
    return any(_may_read(shell_text(one), name) for one in all_controls(controls))


def _may_read(text: str | None, name: str) -> bool:
    if text is None:
        return True
    said = _ORACLE.sub("", _COMMENT_LINE.sub("", text))
    if _OTHERS.search(said):
        return True
    # A shell reads it by $NAME, and in arithmetic, tests and declarations by the name alone.
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) is not None
