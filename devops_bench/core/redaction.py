"""Taking what looks like a credential out of text; imports nothing but ``re``."""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "[redacted]"
"""What stands where a secret stood."""

SECRET_NAMES: Final = re.compile(
    r"token|passw|secret|authorization|credential|api[_-]?key|client[_-]?key|private[_-]?key", re.I
)
"""Names of fields whose text is a secret, whatever it looks like."""

PRIVATE_KEY_BEGIN: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
PRIVATE_KEY_END: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")

LEAST_SECRET_LENGTH: Final = 8
"""A shorter known value is not looked for: it would be found in words that are no secret."""

_SECRET_VALUES = re.compile(
    r"""(?ix)
    (?P<keep>
        \b (?:bearer|basic) \s+                  # an Authorization header
      | \b [\w-]* (?:token|password|secret|api[_-]?key|client-key-data) [\w-]* ["']?
        \s* [:=] \s* ["']?
    )
    [^\s"',;]{4,}
    | \b eyJ[\w-]{8,} \. [\w-]+ \. [\w-]*        # a JSON Web Token
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.DOTALL,
)


def redact(text: str) -> str:
    """Return the text without what looks like a credential.

    Found are Authorization values, ``token=…`` and its like, JSON Web Tokens and private keys. It
    is the last line of defence: nothing writes a secret on purpose. Secrets that are known are
    found by :mod:`devops_bench.core.secretforms`.
    """
    return _SECRET_VALUES.sub(lambda match: (match["keep"] or "") + REDACTED, text)
