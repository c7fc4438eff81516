"""Records which public methods of E2B's packages a program calls, and what its checks say of them.

Each check is written once and runs with the classes of both kinds, sync and async: `await the(...)`
waits for whatever a call returns.
"""

import asyncio
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import e2b

# The methods that the check under way has called, as `Class.method` or the name of a function.
called: set[str] = set()
outcomes: list[dict[str, Any]] = []
failures: list[dict[str, str]] = []


class Recorded:
    """A method of a class in a wrapper, which notes that it is called."""

    def __init__(self, ids: set[str], wrapped: Any) -> None:
        self.ids = ids
        self.wrapped = wrapped

    def __get__(self, instance: Any, owner: type) -> Any:
        bound = self.wrapped.__get__(instance, owner)

        def call(*args: Any, **kwargs: Any) -> Any:
            called.update(self.ids)
            return bound(*args, **kwargs)

        return call


def record(cls: type, name: str) -> None:
    """Records the methods that a class has of itself and of its bases within E2B's packages."""
    for holder in cls.__mro__:
        if not holder.__module__.startswith("e2b"):
            continue
        for method, value in list(vars(holder).items()):
            if method.startswith("_") or isinstance(value, property) or inspect.isclass(value):
                continue
            if inspect.ismemberdescriptor(value):
                continue  # A slot, which is no method.
            if isinstance(value, Recorded):
                value.ids.add(f"{name}.{method}")
            elif hasattr(value, "__get__"):
                setattr(holder, method, Recorded({f"{name}.{method}"}, value))


def record_function(module: Any, name: str) -> None:
    """Records a function of a module."""
    wrapped = getattr(module, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        called.add(name)
        return wrapped(*args, **kwargs)

    setattr(module, name, call)


def check(
    name: str,
    body: Callable[[], Awaitable[None]],
    *,
    works: str = "",
    differs: dict[str, str] | None = None,
    absent: dict[str, str] | None = None,
) -> None:
    """Runs a check, and notes what it shows. `works` has methods, the others a phrase for each.

    A method that the check names and does not call is a failure.
    """
    called.clear()
    shown = [{"method": method, "status": "works", "note": None} for method in works.split()]
    for status, phrases in (("differs", differs or {}), ("absent", absent or {})):
        for methods, note in phrases.items():
            shown += [{"method": method, "status": status, "note": note} for method in methods.split()]
    try:
        loop.run_until_complete(body())
        missed = [one["method"] for one in shown if one["method"] not in called]
        assert not missed, f"the check names methods that it does not call: {missed}"
        outcomes.extend(shown)
    except BaseException:
        failures.append({"name": name, "reason": traceback.format_exc()})


def finish() -> None:
    """Writes the outcomes to the file that the command line names, and ends the process."""
    with open(sys.argv[1], "w") as file:
        json.dump({"outcomes": outcomes, "failures": failures}, file)
    sys.stdout.flush()
    # The newest SDK sometimes aborts while the interpreter exits.
    os._exit(0 if not failures else 1)


async def the(value: Any) -> Any:
    """Returns a value, or waits for it."""
    return await value if inspect.isawaitable(value) else value


async def until(holds: Callable[[], Any], seconds: float = 60) -> None:
    """Waits until a condition holds."""
    deadline = time.monotonic() + seconds
    while not await the(holds()):
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.2)


async def refused(call: Callable[[], Any], kind: type[BaseException], words: str = "") -> None:
    """Expects that a call raises an exception with these words."""
    try:
        await the(call())
    except kind as error:
        assert words in str(error), f"{words!r} is not in {error!r}"
        return
    raise AssertionError(f"nothing was raised instead of {kind.__name__}")


loop = asyncio.new_event_loop()
kinds = (e2b.Sandbox, e2b.AsyncSandbox)
