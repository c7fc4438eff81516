"""Splits a bill among people, to the cent."""

from .money import MoneyError, format_cents, parse_cents
from .split import split_by_weight, split_evenly

__all__ = ["MoneyError", "format_cents", "parse_cents", "split_by_weight", "split_evenly"]
