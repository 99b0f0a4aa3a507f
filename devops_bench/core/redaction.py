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

PRIVATE_KEY_BEGIN: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
PRIVATE_KEY_END: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")

LEAST_SECRET_LENGTH: Final = 8
"""A shorter known value is not looked for: it would be found in words that are no secret."""

# How keys and tokens begin that are made to be found; each as who issues it documents it, or as
# https://docs.github.com/code-security/secret-scanning lists it.
_ISSUED: Final = r"""
    sk-(?=[\w-]*\d)[\w-]{16,}                   # OpenAI, Anthropic, OpenRouter, DeepSeek and others
  | (?:gsk|xai|hf|r8|npm|pplx|sk_live|rk_live|whsec|dop_v1|dckr_pat|shpat)[_-][\w-]{16,}
  | (?:AKIA|ASIA)[A-Z0-9]{16}                    # AWS
  | gh[pousr]_\w{16,} | github_pat_\w{16,}       # GitHub
  | glpat-[\w.-]{16,}                            # GitLab
  | xox[a-z]-[\w-]{8,} | xapp-[\w-]{8,}          # Slack
  | AIza[\w-]{30,} | ya29\.[\w-]{16,}            # Google
"""

# "max_token: 4096" tells how many.
_NO_COUNT: Final = r"""(?! [\w-]* (?:\\*["'])? \s* [:=] \s* \d{1,9} (?![\w.-]) )"""

_SECRET_VALUES = re.compile(
    r"""(?ix)
    (?P<keep>
        \b authorization (?:\\*["'])? \s* [:=] \s* (?:\\*["'])? (?:(?:bearer|basic|token) \s+)?
      | \b (?:bearer|basic) \s+                  # without the header's name only what is no word
        (?= [^\s"',;]* (?: \d | (?-i:[a-z][A-Z]) | [^\s"',;]{24} | = ))
      | \b [\w-]* (?: passw(?:or)?d | passphrase | secret | token{count} | client-key
                    | (?:api|private)[_-]?key )
        (?: [_-]? (?: access | hash | key | value | data | text | base64 | b64 ) )* \d*
        (?:\\*["'])? \s* [:=] \s* (?:\\*["'])?
      | ://                                      # a user and a password in a URL
        (?= [^\s/@:"']* : [^\s/@"']+ @ )
    )
    (?: (?<=://) [^\s/@:"']* : [^\s/@"']+ (?=@)
      | (?<!://) [^\s"',;]{3,} [^\s"',;.)\]}\\]
    )
    | \b eyJ[\w-]{8,} \. [\w-]+ \. [\w-]*        # a JSON Web Token
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY(?:\ BLOCK)?-----.*?
      (?: -----END\ [A-Z ]*PRIVATE\ KEY(?:\ BLOCK)?----- | \Z )
    | (?<![\w-]) (?-i: {known} ) (?![\w-])
    """.replace("{known}", _ISSUED).replace("{count}", _NO_COUNT),
    re.DOTALL,
)


def redact(text: str) -> str:
    """Return the text without what looks like a credential.

    Found are Authorization values, ``token=…`` and its like, passwords in URLs, JSON Web Tokens,
    private keys, and keys that begin as their issuers' do (``sk-…``, ``ghp_…``, ``AKIA…``). It is
    the last line of defence: nothing writes a secret on purpose. Secrets that are known are found
    by :mod:`devops_bench.core.secretforms`.
    """
    return _SECRET_VALUES.sub(lambda match: (match["keep"] or "") + REDACTED, text)
