"""The JSON schema of a verification spec."""

from __future__ import annotations

from typing import Any

import jsonschema

from devops_bench.verification.spec import json_schema
from tests.unit.verification.entries import EXISTS, objective, safeguard


def test_the_json_schema_is_one_and_tells_checks_apart_by_type() -> None:
    schema: Any = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    nested = {"type": "none", "checks": [{"type": "sequence", "checks": [EXISTS]}]}
    assert validator.is_valid([objective(check=nested), safeguard(name="b")])
    for check in (
        {"type": "nope"},
        {"kind": "Deployment", "op": "exists"},
        {**EXISTS, "unknown": 1},
        {"type": "all", "checks": []},
        {"type": "all", "checks": [{"type": "pod_healthy"}]},
    ):
        assert not validator.is_valid([objective(check=check)]), check
    discriminator = schema["$defs"]["Check"]["discriminator"]
    assert discriminator["propertyName"] == "type"
    assert {"resource_property", "all", "some", "spec_test_verifier"} <= set(
        discriminator["mapping"]
    )
