"""Calling the callbacks of the caller."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutine
from typing import Any


def tell(callback: Callable[..., object], *values: Any) -> None:
    """Calls a callback. Raises a `TypeError` for a coroutine, which nothing would run."""
    answer = callback(*values)
    if iscoroutine(answer):
        answer.close()
        raise TypeError("A callback must be a plain function, not `async def`. To await, loop over the items instead.")
