"""The output of a command that the caller waits for."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .._bodies import OnCancel
from .._models.command import OutputExit, OutputItem, OutputStart
from ..errors import CommandNotFound, RuntimeNotFound, RuntimeTerminated
from .left_stream import AsyncLeftStream, stop_secs
from .transport import AsyncTransport


class AsyncCommandStream(AsyncLeftStream[OutputItem]):
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
        super().__init__(items, stops=on_cancel == "kill")
        self._transport = transport
        self._runtime_id = runtime_id
        self.command_id: str | None = None
        """The id of the command; None until it has started."""

    async def __aenter__(self) -> AsyncCommandStream:
        return self

    def _note(self, item: OutputItem) -> None:
        if isinstance(item, OutputStart):
            self.command_id = item.command_id
            self._has_started = True
        elif isinstance(item, OutputExit):
            # Its background processes continue, as after a complete run.
            self._is_done = True

    async def _stop(self) -> None:
        params = {"runtime_id": self._runtime_id, "command_id": self.command_id}
        try:
            await self._transport.run("killCommand", params=params, twice_is_once=True, timeout_secs=stop_secs)
        except (RuntimeNotFound, RuntimeTerminated, CommandNotFound):
            pass  # The command is gone, which is the aim.
