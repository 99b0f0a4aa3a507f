"""``devops-bench schema``."""

from __future__ import annotations

import json

from devops_bench.cli.output import write_report
from devops_bench.tasks.schema import task_json_schema


def schema() -> None:
    """Print the JSON Schema of a spec, for editors.

    In VS Code with the YAML extension, put it in a file and name it in the first line of the spec:
    # yaml-language-server: $schema=devops-bench.schema.json
    """
    write_report(json.dumps(task_json_schema(), indent=2, sort_keys=False) + "\n")
