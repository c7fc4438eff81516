"""The output of a command that the caller waits for."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .._bodies import OnCancel
from .._io.async_parts import outlast_cancel, shielded
from .._models.command import OutputExit, OutputItem, OutputStart
from ..errors import CommandNotFound, RuntimeNotFound, RuntimeTerminated
from .items import AsyncItems
from .transport import AsyncTransport

_kill_secs = 5.0
"""The longest wait for a kill. After that the service or its runtime counts as unreachable."""
_start_grace_secs = 5.0
"""The time that a cancellation waits for the answer to a start.

Only it names the command to kill.
"""


class AsyncCommandStream(AsyncItems[OutputItem]):
    """The items of a command, from `start` to `end`.

    As a context manager, it kills a command that has not ended when the block is left, unless
    `on_cancel` is `leave`.
    """

    def __init__(
        self,
        items: AsyncGenerator[OutputItem, None],
        transport: AsyncTransport,
        runtime_id: str,
        on_cancel: OnCancel,
    ) -> None:
        super().__init__(items)
        self._transport = transport
        self._runtime_id = runtime_id
        self._kills = on_cancel == "kill"
        self._is_done = False
        self.command_id: str | None = None
        """The id of the command; None until it has started."""

    async def __anext__(self) -> OutputItem:
        try:
            if self.command_id is None:
                return await outlast_cancel(self._next, _start_grace_secs)
            return await self._next()
        except Exception:
            self._is_done = True  # The stream has ended or failed. A failure does not end the command.
            raise
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Closes the connection. Kills the command if it has not ended, unless it is to be left."""
        is_left = not self._is_done and self._kills and self.command_id is not None
        self._is_done = True
        with shielded(_kill_secs):
            if is_left:
                await self._kill()
            await self._items.aclose()

    async def __aenter__(self) -> AsyncCommandStream:
        return self

    async def _next(self) -> OutputItem:
        item = await self._items.__anext__()
        if isinstance(item, OutputStart):
            self.command_id = item.command_id
        elif isinstance(item, OutputExit):
            # Its background processes continue, as after a complete run.
            self._is_done = True
        return item

    async def _kill(self) -> None:
        params = {"runtime_id": self._runtime_id, "command_id": self.command_id}
        try:
            await self._transport.run("killCommand", params=params, twice_is_once=True, timeout_secs=_kill_secs)
        except (RuntimeNotFound, RuntimeTerminated, CommandNotFound):
            pass  # The command is gone, which is the aim.
