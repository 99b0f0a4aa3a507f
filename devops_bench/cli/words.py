"""The words of ``run`` that belong to the agent, told apart from those that are a mistake."""

from __future__ import annotations

from collections.abc import Sequence


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
