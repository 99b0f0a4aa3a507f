"""``devops-bench version``."""

from __future__ import annotations

import json
import platform
from enum import StrEnum
from typing import Annotated

import typer

from devops_bench import __version__
from devops_bench.cli.output import write_report


class Output(StrEnum):
    """How a command prints its result."""

    TEXT = "text"
    JSON = "json"


def version(
    output: Annotated[Output, typer.Option(help="How to print it.")] = Output.TEXT,
) -> None:
    """Print the version of devops-bench, of Python and of the platform."""
    # Not platform.platform(): it reads the C library to find its version, and takes 70 ms.
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    if output is Output.JSON:
        body = {
            "version": __version__,
            "python": platform.python_version(),
            "platform": system,
        }
        text = json.dumps(body)
    else:
        text = f"devops-bench {__version__} (Python {platform.python_version()}, {system})"
    write_report(f"{text}\n")
