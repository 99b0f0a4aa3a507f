from __future__ import annotations

import pytest

from devops_bench.k8s.names import is_dns_subdomain


@pytest.mark.parametrize("name", ["web", "a", "0", "web-1", "a.b-c.d", "w" * 253])
def test_names_that_objects_have(name: str) -> None:
    assert is_dns_subdomain(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Web",
        "web web",
        "web/",
        "-web",
        "web-",
        "a..b",
        ".a",
        "web*",
        "a_b",
        "w" * 254,
        "wéb",
        "a\n",
    ],
)
def test_names_that_none_has(name: str) -> None:
    assert not is_dns_subdomain(name)
