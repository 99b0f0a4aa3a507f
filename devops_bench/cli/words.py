"""Words of the command line: the agent's told apart from mistakes, variables taken apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from devops_bench.core.errors import InvalidInputError

HIDDEN: Final = "[hidden]"
"""What stands where the value of a flag that names a secret stood."""


def split_agent_words(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the command's own arguments, and the words for the agent.

    The agent's are those after the first ``--``, and, because it reads so naturally, the one word
    after ``--agent script``: ``--agent script FILE -- ARGUMENT…``. Any other word without an option
    stays where it is, and is refused as a mistake.

    Args:
        arguments: What stands after ``run``.
    """
    own = list(arguments)
    words: list[str] = []
    if "--" in own:
        at = own.index("--")
        own, words = own[:at], own[at + 1 :]
    for index, argument in enumerate(own):
        if argument == "--agent" and own[index + 1 : index + 2] == ["script"]:
            at = index + 2
        elif argument == "--agent=script":
            at = index + 1
        else:
            continue
        if at < len(own) and not own[at].startswith("-"):
            words.insert(0, own.pop(at))
        break
    return own, words


def misplaced_options(words: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the agent's words that look as if they were meant for devops-bench.

    Args:
        words: What stands after ``--``.
        known: The options of the command itself, such as ``--results-dir``.
    """
    names = [word.partition("=")[0] for word in words]
    return list(dict.fromkeys(name for name in names if name.startswith("--") and name in known))


_SECRET_FLAG = re.compile(r"token|passw|secret|credential|api-?_?key|auth(?!or)", re.IGNORECASE)


def shown_words(words: Sequence[str]) -> str:
    """Return the agent's words for the result, without the values of flags that name a secret.

    Args:
        words: The program and its arguments: ``--api-key VALUE``, ``--api-key=VALUE`` and
            ``API_KEY=VALUE`` lose the value.
    """
    shown: list[str] = []
    hide = False
    for word in words:
        name, equals, _ = word.partition("=")
        secret = _SECRET_FLAG.search(name) is not None
        if hide:
            shown.append(HIDDEN)
        elif secret and equals:
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(word)
        hide = not hide and secret and not equals and word.startswith("-")
    return " ".join(shown)


def parse_variables(values: Iterable[str]) -> dict[str, str]:
    """Return ``NAME=VALUE`` words as a table; the value may hold anything, also ``=``.

    Raises:
        InvalidInputError: One is not of that form, its name is none, or a name is there twice.
    """
    from devops_bench.tasks.variables import is_variable_name  # not for --help

    variables: dict[str, str] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not is_variable_name(name):
            raise InvalidInputError(
                f"--var {text!r} is not NAME=VALUE (a name is letters, digits and _)"
            )
        if name in variables:
            raise InvalidInputError(f"--var {name} is given twice")
        variables[name] = value
    return variables
