"""The words of ``run`` that belong to the agent, told apart from those that are a mistake."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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
