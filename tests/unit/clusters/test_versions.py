"""What counts as a version, and which versions fit together."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.clusters import versions
from tests.unit.clusters.standins import VERSIONS, binaries, says, stand_in

NUMBER = st.integers(min_value=0, max_value=10**6)


@given(NUMBER, NUMBER, NUMBER, st.sampled_from(["", "-rc.1", "-alpha.0"]), st.booleans())
def test_a_version_is_found_wherever_it_stands(
    major: int, minor: int, patch: int, suffix: str, prefixed: bool
) -> None:
    text = f"some Version: {'v' if prefixed else ''}{major}.{minor}.{patch}{suffix} and go"

    version = versions.parse_version(text)

    assert version == f"v{major}.{minor}.{patch}{suffix}"
    assert versions.minor(version) == f"{major}.{minor}"


@given(st.text(alphabet=st.characters(exclude_categories=["Nd"])))
def test_a_text_without_numbers_has_no_version(text: str) -> None:
    assert versions.parse_version(text) is None


def test_the_server_version_is_the_first_of_kubectl() -> None:
    assert versions.parse_version(VERSIONS["kubectl"]) == "v1.36.3"


@pytest.mark.parametrize("wrong", ["", "1", "v1.36", "latest", "v1.36.3 "])
def test_what_is_no_version_has_no_minor(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not a version"):
        versions.minor(wrong)


def test_a_patch_release_apart_fits_and_a_minor_apart_does_not() -> None:
    same = dict.fromkeys(versions.REQUIRED, "v1.36.3")
    assert versions.mismatch({**same, "kube-scheduler": "v1.36.0", "etcd": "v3.6.8"}) == ""

    fault = versions.mismatch({**same, "kubectl": "v1.35.9", "kube-scheduler": "v1.37.0"})

    assert fault == ("kube-scheduler v1.37.0, kubectl v1.35.9 does not fit kube-apiserver v1.36.3")


@pytest.mark.parametrize("name", versions.KUBERNETES)
def test_every_program_of_kubernetes_must_fit(name: str) -> None:
    same = dict.fromkeys(versions.REQUIRED, "v1.36.3")

    assert versions.mismatch({**same, name: "v1.35.0"})


def test_all_six_are_asked(tmp_path: Path) -> None:
    assert versions.ask_versions(binaries(tmp_path)) == {
        **dict.fromkeys(versions.KUBERNETES, "v1.36.3"),
        "etcd": "v3.6.8",
        "kwok": "v0.8.0",
    }


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (says("hello"), "kwok did not say its version: hello"),
        ("echo broken >&2; exit 3", "kwok did not say its version: broken"),
        (says("v1.2.3") + "; exit 1", "kwok did not say its version: v1.2.3"),
    ],
)
def test_a_program_that_does_not_answer_is_named(
    tmp_path: Path, script: str, complaint: str
) -> None:
    program = stand_in(tmp_path / "kwok", script)

    with pytest.raises(versions.VersionUnknownError, match=complaint):
        versions.ask_version(program, "kwok")


def test_a_program_of_another_machine_is_named(tmp_path: Path) -> None:
    program = tmp_path / "etcd"
    program.write_bytes(b"\x7fELF not really")
    program.chmod(0o755)

    with pytest.raises(versions.VersionUnknownError, match="etcd could not be run"):
        versions.ask_version(program, "etcd")
