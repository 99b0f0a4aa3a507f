"""``devops-bench schema``."""

from __future__ import annotations

import json

import typer

from devops_bench.tasks.schema import task_json_schema


def schema() -> None:
    """Print the JSON Schema of a spec, for editors.

    In VS Code with the YAML extension, put it in a file and name it in the first line of the spec:
    # yaml-language-server: $schema=devops-bench.schema.json
    """
    typer.echo(json.dumps(task_json_schema(), indent=2, sort_keys=False))
