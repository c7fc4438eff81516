"""Time limits of blocking calls. The limit of a thread holds for its sleeps and its connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

_never = float("inf")


class _DeadlinePassed(Exception):
    """The end of a step at a deadline. `limited` turns it into the error of its caller."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self.deadline = deadline


class _Thread(threading.local):
    deadline = _never
    """The moment at which the work of this thread ends, by the monotonic clock."""


_thread = _Thread()


@contextmanager
def limited(secs: float, failure: Callable[[], Exception]) -> Generator[None, None, None]:
    """Runs a block that raises `failure()` if it takes longer than `secs`.

    The block ends in a sleep, in a wait of a `Pump`, or in a step of a connection. A limit around
    the block stays in force.
    """
    outer = _thread.deadline
    own = time.monotonic() + secs
    _thread.deadline = min(own, outer)
    try:
        yield
    except _DeadlinePassed as passed:
        if passed.deadline != own:
            raise
        raise failure() from None
    finally:
        _thread.deadline = outer


@contextmanager
def unlimited() -> Generator[None, None, None]:
    """Runs a block that no limit of this thread ends."""
    outer, _thread.deadline = _thread.deadline, _never
    try:
        yield
    finally:
        _thread.deadline = outer


def sleep(secs: float) -> None:
    """Sleeps, at most until the limit of this thread."""
    left = time_left(secs)
    time.sleep(left)
    if left < secs:
        raise limit_passed()


def wait_for(condition: threading.Condition, is_true: Callable[[], bool]) -> None:
    """Waits for a condition, at most until the limit of this thread."""
    left = time_left(_never)
    if not condition.wait_for(is_true, None if left == _never else left):
        raise limit_passed()


def time_left(secs: float) -> float:
    """Returns a time limit, shortened to the limit of this thread."""
    left = _thread.deadline - time.monotonic()
    if left <= 0:
        raise _DeadlinePassed(_thread.deadline)
    return min(secs, left)


def limit_passed() -> Exception:
    """Returns the failure of a step that the limit of this thread has ended."""
    return _DeadlinePassed(_thread.deadline)


def is_limited() -> bool:
    """Returns True if this thread has a limit."""
    return _thread.deadline != _never
