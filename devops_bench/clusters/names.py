"""The name of the cluster that is made for a run."""

from __future__ import annotations

import re
from typing import Final

PREFIX: Final = "devops-bench-"
_MAX_ID: Final = 36
"""kind appends ``-control-plane`` and makes a host name of it: 63 characters at most."""


def cluster_name(run_id: str) -> str:
    """Return ``devops-bench-RUN_ID``, what cannot stand in a host name replaced by dashes.

    Args:
        run_id: The id of the run; one of at most 36 lower-case letters, digits and single dashes
            stays as it is.
    """
    readable = re.sub(r"[^a-z0-9]+", "-", run_id.lower())[:_MAX_ID].strip("-")
    return f"{PREFIX}{readable or 'run'}"
