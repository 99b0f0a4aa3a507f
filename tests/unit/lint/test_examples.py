"""Every rule's two examples: one that fires, and a near miss that does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devops_bench.core.diagnostics import Level
from devops_bench.lint.catalogue import all_rules
from devops_bench.lint.model import RULES, Rule, register
from devops_bench.tasks import rule_ids
from tests.unit.lint.helpers import register_example_probe, report, written

EVERY_RULE = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)


@pytest.fixture(autouse=True, scope="module")
def _probe() -> None:
    register_example_probe()


@EVERY_RULE
def test_the_example_fires(rule: Rule, tmp_path: Path) -> None:
    found = report(written(rule.fires, tmp_path)).diagnostics
    mine = [one for one in found if one.rule == rule.id]
    assert mine, [str(one) for one in found]
    assert all(one.line > 0 and one.column > 0 and one.message for one in mine)


@EVERY_RULE
def test_the_near_miss_does_not(rule: Rule, tmp_path: Path) -> None:
    found = report(written(rule.near_miss, tmp_path)).diagnostics
    assert [str(one) for one in found if one.rule == rule.id] == []


@EVERY_RULE
def test_the_near_miss_has_no_error(rule: Rule, tmp_path: Path) -> None:
    found = report(written(rule.near_miss, tmp_path)).diagnostics
    assert [str(one) for one in found if one.level is Level.ERROR] == []


@EVERY_RULE
def test_the_two_differ_little(rule: Rule) -> None:
    before, after = rule.fires.spec.splitlines(), rule.near_miss.spec.splitlines()
    assert len(set(after) - set(before)) <= 21
    assert (before, rule.fires.files) != (after, rule.near_miss.files)


@EVERY_RULE
def test_it_is_explained(rule: Rule) -> None:
    assert re.fullmatch(r"DB\d{3}", rule.id)
    assert rule.title
    assert not rule.title.endswith(".")
    assert len(rule.why) > 40


def test_every_id_of_the_loader_is_explained() -> None:
    ids = {value for name, value in vars(rule_ids).items() if name.isupper()}
    assert ids <= set(RULES)


def test_an_id_means_one_rule() -> None:
    one = all_rules()[0]
    with pytest.raises(ValueError, match="registered twice"):
        register(Rule(one.id, "x", "y", Level.ERROR, one.fires, one.near_miss))
