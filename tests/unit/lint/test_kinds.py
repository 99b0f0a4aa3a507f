"""A word for a kind means the same to lint, with schemas or without, and to ``check``."""

from __future__ import annotations

import pytest

from devops_bench.k8s.offline import built_in
from devops_bench.lint.kinds import Kinds, common_kinds, kinds_of
from devops_bench.lint.schemas import DEFAULT_VERSION, load_definitions


@pytest.fixture(scope="module")
def kinds() -> Kinds:
    definitions = load_definitions(DEFAULT_VERSION)
    assert definitions is not None
    return kinds_of(definitions, DEFAULT_VERSION)


@pytest.mark.parametrize(
    ("word", "api_version"),
    [
        ("hpa", "autoscaling/v2"),
        # kubectl: a short name takes the preferred version, whatever version follows it.
        ("hpa.v1.autoscaling", "autoscaling/v2"),
        ("deploy.v1beta1.apps", "apps/v1"),
        ("horizontalpodautoscalers.v1.autoscaling", "autoscaling/v1"),
        ("HorizontalPodAutoscaler.v1.autoscaling", "autoscaling/v1"),
        ("horizontalpodautoscalers.v2.autoscaling", "autoscaling/v2"),
        ("Deployment.v1beta1.apps", None),
        ("ev", "v1"),
        ("pods.v1.", "v1"),
        ("apps/v1/Deployment", None),
    ],
)
def test_what_a_word_means(kinds: Kinds, word: str, api_version: str | None) -> None:
    for found in (kinds.find(word), common_kinds().find(word), built_in(word)):
        assert (found.api_version if found is not None else None) == api_version


def test_check_knows_every_kind_as_lint_does(kinds: Kinds) -> None:
    for one in kinds.catalogue.resources:
        other = built_in(f"{one.resource}.{one.version}.{one.group}")
        if other is not None:
            assert (other.resource, other.namespaced) == (one.resource, one.namespaced)
            assert other.short_names == one.short_names
