"""Which words of the command line are the agent's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.cli.words import HIDDEN, misplaced_options, shown_words, split_agent_words

WORDS = st.lists(
    st.sampled_from(["--agent", "script", "command", "--", "--spec", "x", "-v", "--agent=script"])
)


@pytest.mark.parametrize(
    ("arguments", "own", "words"),
    [
        ("--spec s --agent noop", "--spec s --agent noop", ""),
        ("--agent command -- my-agent --flag", "--agent command", "my-agent --flag"),
        ("--agent script FILE --spec s", "--agent script --spec s", "FILE"),
        ("--agent script FILE -- a -b", "--agent script", "FILE a -b"),
        ("--agent script -- FILE a", "--agent script", "FILE a"),
        ("--agent=script FILE", "--agent=script", "FILE"),
        ("--agent script --spec s", "--agent script --spec s", ""),
        ("--agent command stray", "--agent command stray", ""),
        ("--agent script FILE stray", "--agent script stray", "FILE"),
        ("-- -- x --", "", "-- x --"),
    ],
)
def test_who_gets_what(arguments: str, own: str, words: str) -> None:
    assert split_agent_words(arguments.split()) == (own.split(), words.split())


@given(WORDS)
def test_no_word_is_lost_or_made_up(arguments: list[str]) -> None:
    own, words = split_agent_words(arguments)
    separators = 1 if "--" in arguments else 0
    assert sorted(own + words + ["--"] * separators) == sorted(arguments)


@given(WORDS, WORDS)
def test_what_stands_after_the_separator_is_the_agents_untouched(
    before: list[str], after: list[str]
) -> None:
    before = [word for word in before if word != "--"]
    _, words = split_agent_words([*before, "--", *after])
    assert words[len(words) - len(after) :] == after


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("my-agent --api-key s3cret --fast", f"my-agent --api-key {HIDDEN} --fast"),
        ("my-agent --api-key=s3cret", f"my-agent --api-key={HIDDEN}"),
        ("env OPENAI_API_KEY=s3cret my-agent", f"env OPENAI_API_KEY={HIDDEN} my-agent"),
        (
            "my-agent --password -s3cret --token s3cret",
            f"my-agent --password {HIDDEN} --token {HIDDEN}",
        ),
        ("my-agent --author me --model=x token", "my-agent --author me --model=x token"),
        (
            "--max-tokens 4096 --api-key-env MY_KEY --max-tokens=8k --token-file f",
            "--max-tokens 4096 --api-key-env MY_KEY --max-tokens=8k --token-file f",
        ),
        ("--tokens abcd --token 1234", f"--tokens {HIDDEN} --token {HIDDEN}"),
        (
            "my-agent sk-s3cr3t0123456789abc https://me:s3cret@example.org",
            "my-agent [redacted] https://[redacted]@example.org",
        ),
    ],
)
def test_values_of_secrets_are_not_shown(words: str, shown: str) -> None:
    assert shown_words(words.split()) == shown


@pytest.mark.parametrize(
    ("words", "misplaced"),
    [
        ("FILE --results-dir R", ["--results-dir"]),
        ("FILE --results-dir=R --spec x --spec y", ["--results-dir", "--spec"]),
        ("FILE --flag -- results-dir", []),
        ("", []),
    ],
)
def test_options_of_ours_among_the_words_are_found(words: str, misplaced: list[str]) -> None:
    assert misplaced_options(words.split(), {"--spec", "--results-dir"}) == misplaced
