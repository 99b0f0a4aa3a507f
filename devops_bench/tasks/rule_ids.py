"""Stable ids of what the loader finds; ``devops-bench lint --explain ID`` tells about each.

Ids are never reused. Those that begin with ``DB0`` are found while a spec is read, with or without
lint; what they mean is written in :mod:`devops_bench.lint.catalogue`.
"""

from __future__ import annotations

from typing import Final

NOT_YAML: Final = "DB001"
DUPLICATE_KEY: Final = "DB002"
AMBIGUOUS_SCALAR: Final = "DB003"
UNKNOWN_FIELD: Final = "DB004"
TASK_FIELD: Final = "DB005"
UNUSED_KEY: Final = "DB006"
REPEATED_ID: Final = "DB007"
VARIABLE_FORM: Final = "DB008"
SETUP_FILE: Final = "DB009"
SETUP_OBJECT: Final = "DB010"
ACCESS_ESCALATES: Final = "DB011"
ENTRY_FIELD: Final = "DB020"
UNKNOWN_CHECK_TYPE: Final = "DB021"
PATH_FORM: Final = "DB022"
PATTERN_FORM: Final = "DB023"
SELECTOR_FORM: Final = "DB024"
REPEATED_NAME: Final = "DB025"
WINDOW_OVER_BUDGET: Final = "DB026"
NAME_SELECTS_NOTHING: Final = "DB107"
