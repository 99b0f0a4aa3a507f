"""``devops-bench version``."""

from __future__ import annotations

import json
import platform
from enum import StrEnum
from typing import Annotated

import typer

from devops_bench import __version__


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
        typer.echo(
            json.dumps(
                {
                    "version": __version__,
                    "python": platform.python_version(),
                    "platform": system,
                }
            )
        )
    else:
        typer.echo(f"devops-bench {__version__} (Python {platform.python_version()}, {system})")
