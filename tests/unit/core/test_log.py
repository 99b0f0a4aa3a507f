"""Logging: where it goes, what it looks like, and what never gets there."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.log import configure_logging
from devops_bench.core.redaction import REDACTED, redact

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("devops_bench")
    before = (root.handlers[:], root.level, ours.level)
    yield
    root.handlers[:], root.level, ours.level = before
    logging.captureWarnings(False)
    structlog.reset_defaults()


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer s3cr3t-value",
        "authorization: basic czNjcjN0LXZhbHVl",
        "token=s3cr3t-value",
        '{"access_token": "s3cr3t-value"}',
        "password: s3cr3t-value",
        "client-key-data: s3cr3t-value",
        "API_KEY=s3cr3t-value",
        f"the token {TOKEN} was refused",
        "-----BEGIN RSA PRIVATE KEY-----\ns3cr3t-value\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ns3cr3t-value",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\ns3cr3t-value",
        "RuntimeError('kaboom token=s3cr3t-value')",
        r'{"text": "{\"access_token\": \"s3cr3t-value\"}"}',
        "Authorization: s3cr3t-value",
        "aws_secret_access_key = s3cr3t-value",
        "passphrase=s3cr3t-value",
        "https://me:s3cr3t-value@example.org/x",
        "Incorrect API key provided: sk-s3cr3t-value0123456789",
        "sk-ant-api03-s3cr3t-value0123456789",
        "ghp_s3cr3t0123456789abcdefghijklmnopqrst",
        "github_pat_s3cr3t0123456789_abcdefghijkl",
        "xoxb-s3cr3t-value",
        "glpat-s3cr3t-value0123456",
        "AIzas3cr3t-value0123456789abcdefghijklm",
    ],
)
def test_credentials_are_removed(text: str) -> None:
    shown = redact(text)
    assert REDACTED in shown
    assert not [part for part in ("s3cr3t", "czNjcjN0", TOKEN) if part in shown]


@pytest.mark.parametrize(
    "text",
    [
        "Deployment web in namespace shop",
        "4 of 4",
        "the kind Secret is forbidden",
        "",
        "Exceeded the total_tokens_limit of 50 (total_tokens=1100). Consider raising it",
        "max_token: 4096, token_count=1000",
        '"output_tokens": 12345678',
        "a basic check of the bearer token",
        "secretName: web-tls",
        "the task-of-a-desk-1234567890123456 is done",
        "see https://example.org:8443/a@b",
        "risk-free-2026-rollout-of-everything",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_what_stands_around_a_credential_stays() -> None:
    text = "it failed (token=abcdefgh12345). Look at AKIAABCDEFGHIJKLMNOP, please"
    assert redact(text) == f"it failed (token={REDACTED}). Look at {REDACTED}, please"


@given(st.text(), st.text())
def test_a_bearer_token_is_removed_wherever_it_stands(before: str, after: str) -> None:
    assert "s3cr3tvalue" not in redact(f"{before} Bearer s3cr3tvalue {after}")


def test_a_line_of_json_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(level="info", json_lines=True)
    structlog.get_logger("devops_bench.x").info(
        "cluster_ready", name="a", token="s3cr3t", nested={"password": "s3cr3t", "n": 1}
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    line = json.loads(captured.err)
    assert line["event"] == "cluster_ready"
    assert (line["level"], line["logger"], line["name"]) == ("info", "devops_bench.x", "a")
    assert line["token"] == line["nested"]["password"] == REDACTED
    assert line["nested"]["n"] == 1


def test_the_standard_librarys_loggers_go_the_same_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging(level="info")
    logging.getLogger("devops_bench.y").info("started pid=%d token=%s", 7, "s3cr3t-value")
    line = capsys.readouterr().err
    assert "level='info' event='started pid=7 token=[redacted]'" in line
    assert "logger='devops_bench.y'" in line


def test_an_exception_is_redacted_too(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging()
    try:
        raise ValueError("password=s3cr3t-value")
    except ValueError:
        logging.getLogger("devops_bench.z").exception("failed")
    err = capsys.readouterr().err
    assert "ValueError" in err
    assert "s3cr3t" not in err


def test_the_level_is_ours_and_libraries_stay_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(level="debug")
    logging.getLogger("urllib3").info("noise")
    logging.getLogger("devops_bench").debug("detail")
    assert "noise" not in (err := capsys.readouterr().err)
    assert "detail" in err
    configure_logging(level="error")
    logging.getLogger("devops_bench").warning("quiet")
    assert capsys.readouterr().err == ""


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no log level 'loud'"):
        configure_logging(level="loud")
