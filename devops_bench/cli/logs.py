"""How much is logged and how it looks, and the commands that log at all."""

from __future__ import annotations

from enum import StrEnum

import typer
import typer.core


class LogLevel(StrEnum):
    """How much is logged to standard error."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a log line looks."""

    TEXT = "text"
    JSON = "json"


class LoggingCommand(typer.core.TyperCommand):
    """A command that logs: logging starts when it runs, and so not for its ``--help``."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Start logging as the options of ``devops-bench`` itself say, then run."""
        from devops_bench.core.log import configure_logging  # imports structlog

        options = ctx.find_root().params
        configure_logging(
            level=options["log_level"].value, json_lines=options["log_format"] is LogFormat.JSON
        )
        return super().invoke(ctx)
