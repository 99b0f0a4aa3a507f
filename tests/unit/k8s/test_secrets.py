"""Every spelling that may mean Secrets is known for one."""

from __future__ import annotations

import pytest

from devops_bench.k8s.secrets import may_mean_secrets


@pytest.mark.parametrize(
    ("kind", "may"),
    [
        ("Secret", True),
        ("secrets", True),
        ("secrets.", True),
        ("secrets.v1", True),
        ("Secret.v1.", True),
        ("v1/Secret", True),
        ("core/v1/secrets", True),
        (" secret ", True),
        ("configmaps,secrets", True),
        ("secrets.example.com", True),
        ("SealedSecret", False),
        ("ConfigMap", False),
        ("externalsecrets.external-secrets.io", False),
    ],
)
def test_it_is_known_by_its_words(kind: str, may: bool) -> None:
    assert may_mean_secrets(kind) is may
