"""The time limit of a wait for the end of a command."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal

from .._io.async_parts import limited
from .._options import Seconds, seconds
from ..errors import Timeout


def limited_wait(
    command_id: str, timeout_secs: Seconds | None, handle: Literal["command", "terminal"]
) -> AbstractContextManager[None]:
    """Returns a block that raises `Timeout` when it has taken so long. The command continues.

    `handle` is the name in the hint of the object that waits.
    """
    secs = float("inf") if timeout_secs is None else seconds(timeout_secs)

    def late() -> Timeout:
        return Timeout(
            f"The command {command_id} has not ended after {secs} s",
            hint=f"The command continues: wait again with {handle}.wait(), or end it with command.kill().",
            details={"command_id": command_id},
        )

    return limited(secs, late)
