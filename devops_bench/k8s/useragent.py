"""What this process calls itself towards an API server, so that its requests are known as its own.

Whoever has the harness's credentials could call itself ``devops-bench``; the rest of the name is
new with every process, is given to no agent, and stands nowhere but in the requests and in the
server's audit log. Who reads it there, or in this process's memory, can use it.
"""

from __future__ import annotations

import secrets
from typing import Final

NONCE: Final = secrets.token_hex(16)
"""Never to be printed or written to the results."""

# What is before the slash is the manager in managedFields:
# https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
PROGRAM: Final = "devops-bench/"
"""What the name of every process of this program begins with, and of whoever says so."""

USER_AGENT: Final = f"{PROGRAM}{NONCE}"
"""Sent with every request of this process."""
