"""Logging: structlog through the standard library's logging, on standard error, without secrets."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, MutableMapping

import structlog

from devops_bench.core.redaction import REDACTED, SECRET_NAMES, redact


def configure_logging(*, level: str = "warning", json_lines: bool = False) -> None:
    """Send all logging of this process to standard error, ours and that of libraries.

    Args:
        level: ``debug``, ``info``, ``warning`` or ``error``; libraries log at ``warning`` at most.
        json_lines: One JSON object per line instead of ``key=value``.

    Raises:
        ValueError: There is no such level.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"there is no log level {level!r} (debug, info, warning, error)")
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        structlog.processors.StackInfoRenderer(),
        _redact_event,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if json_lines
        else structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"])
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(number, logging.WARNING))
    logging.getLogger("devops_bench").setLevel(number)
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _redact_event(
    logger: object,  # noqa: ARG001 - structlog's signature
    method: str,  # noqa: ARG001 - as above
    event: MutableMapping[str, object],
) -> Mapping[str, object]:
    """Remove secrets from every field, by its name and by what it looks like."""
    return {name: _redacted(name, value) for name, value in event.items()}


def _redacted(name: str, value: object) -> object:
    if name.startswith("_"):
        return value  # structlog's own
    if SECRET_NAMES.search(name) and isinstance(value, str | bytes):
        return REDACTED
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _redacted(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(name, item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return redact(str(value))
