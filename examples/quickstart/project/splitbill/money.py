"""Amounts of money as whole cents, so that no amount is ever rounded by accident."""

import re

_AMOUNT = re.compile(r"^(-?)(\d+)(?:[.,](\d{1,2}))?$")


class MoneyError(ValueError):
    """Raised for text that is no amount of money."""


def parse_cents(text: str) -> int:
    """Reads ``12``, ``12.5`` or ``12,50`` as cents."""
    match = _AMOUNT.match(text.strip())
    if match is None:
        raise MoneyError(f"not an amount of money: {text!r}")
    sign, whole, fraction = match.groups()
    cents = int(whole) * 100 + int((fraction or "0").ljust(2, "0"))
    return -cents if sign else cents


def format_cents(cents: int) -> str:
    """Writes cents as ``12.50``."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
