"""Words of the command line: the agent's told apart from mistakes, variables taken apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.redaction import redact

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
# What such a flag may say of a secret without holding it: where it is, or how many there may be.
_ABOUT_A_SECRET = re.compile(
    r"[-_](?:env|var|file|path|dir|name|url|uri|host|type|mode|limit|count|budget|ttl|timeout)\Z",
    re.IGNORECASE,
)
_NUMBER_OF_TOKENS = re.compile(r"tokens\Z|max[-_]?token\Z", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,9}[kKmM]?\Z")


def shown_words(words: Sequence[str]) -> str:
    """Return the agent's words for the result, without secrets.

    Args:
        words: The program and its arguments: ``--api-key VALUE``, ``--api-key=VALUE`` and
            ``API_KEY=VALUE`` lose the value, and so does whatever looks like a credential.
            ``--max-tokens 4096`` and ``--api-key-env NAME`` name none, and stay.
    """
    shown: list[str] = []
    flag = ""
    for word in words:
        name, equals, value = word.partition("=")
        if flag:
            shown.append(HIDDEN if _holds_secret(flag, word) else redact(word))
        elif equals and _holds_secret(name, value):
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(redact(word))
        flag = name if not flag and not equals and name.startswith("-") else ""
        if flag and _SECRET_FLAG.search(flag) is None:
            flag = ""
    return " ".join(shown)


def _holds_secret(name: str, value: str) -> bool:
    """Whether the value of a flag or a variable is a secret, by its name."""
    if _SECRET_FLAG.search(name) is None or _ABOUT_A_SECRET.search(name) is not None:
        return False
    return not (_NUMBER_OF_TOKENS.search(name) and _NUMBER.match(value))


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
