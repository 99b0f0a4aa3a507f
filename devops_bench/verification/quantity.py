"""Kubernetes' quantities (``192Mi``, ``500m``, ``0.5``, ``1e3``) as exact decimals.

The grammar is that of ``resource.Quantity``
(https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/). Two things of it
are left out on purpose: the API server caps a quantity at 2^63-1 and rounds it up to nano; here
nothing is rounded, since a judgement compares what stands in the object.
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from typing import Final

from devops_bench.core.json import JsonValue

_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<binary>[KMGTPE])i|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_DECIMAL_POWERS: Final = {
    "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_FACTORS: Final = {
    letter: Decimal(1024**power) for power, letter in enumerate("KMGTPE", start=1)
}
_MAX_LENGTH: Final = 256
_MAX_EXPONENT: Final = 1000


def parse_quantity(text: str) -> Decimal:
    """Return the exact value of ``text``.

    Args:
        text: A quantity as an object or a spec holds it, at most 256 characters, its exponent
            within ±1000; no white space, no ``NaN``, no underscores.

    Raises:
        ValueError: ``text`` is not a quantity.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a quantity (such as 4, 0.5, 500m, 192Mi or 1e3)")
    number = Decimal(match["number"])
    if match["binary"] is not None:
        return _exact().multiply(number, _BINARY_FACTORS[match["binary"]])
    if match["decimal"] is not None:
        return _exact().scaleb(number, _DECIMAL_POWERS[match["decimal"]])
    if match["exponent"] is not None:
        if len(match["exponent"]) > 5 or abs(int(match["exponent"])) > _MAX_EXPONENT:
            raise ValueError(f"{text[:40]!r} has an exponent outside of ±{_MAX_EXPONENT}")
        return _exact().scaleb(number, int(match["exponent"]))
    return number


def is_marked(text: str) -> bool:
    """Return whether ``text`` is a quantity that carries a suffix or an exponent.

    A plain ``1.20`` may be a version as well as a number; ``1.20Gi`` may not.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    return match is not None and match.lastgroup != "number"


def quantity_of(value: JsonValue) -> Decimal | None:
    """Return ``value`` as a quantity, or ``None`` if it is none.

    A number counts as the digits that JSON shows for it (``0.1`` is exactly one tenth); a boolean
    is not a number; a string has to follow the grammar.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        number = Decimal(repr(value))
        return number if number.is_finite() else None
    if isinstance(value, str):
        try:
            return parse_quantity(value)
        except ValueError:
            return None
    return None


def _exact() -> Context:
    # Wide enough for every text of the length we take, and loud if it were not.
    return Context(
        prec=_MAX_LENGTH + 32, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation]
    )
