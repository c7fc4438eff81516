"""The items of a run of code that the caller waits for."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .._bodies import OnCodeCancel
from .._models.code import CodeEnd, CodeItem, CodeStart
from ..errors import CodeRunNotFound, RuntimeNotFound, RuntimeTerminated
from .left_stream import AsyncLeftStream, stop_secs
from .transport import AsyncTransport


class AsyncCodeStream(AsyncLeftStream[CodeItem]):
    """The items of a run, from `start` to `end`.

    As a context manager, it interrupts a run that has not ended when the block is left, unless
    `on_cancel` is `leave`.
    """

    def __init__(
        self,
        items: AsyncGenerator[CodeItem, None],
        transport: AsyncTransport,
        runtime_id: str,
        on_cancel: OnCodeCancel,
    ) -> None:
        super().__init__(items, stops=on_cancel == "interrupt")
        self._transport = transport
        self._runtime_id = runtime_id
        self.run_id: str | None = None
        """The id of the run; None until it has started."""

    async def __aenter__(self) -> AsyncCodeStream:
        return self

    def _note(self, item: CodeItem) -> None:
        if isinstance(item, CodeStart):
            self.run_id = item.run_id
            self._has_started = True
        elif isinstance(item, CodeEnd):
            self._is_done = True

    async def _stop(self) -> None:
        params = {"runtime_id": self._runtime_id, "run_id": self.run_id}
        try:
            await self._transport.run("interruptCodeRun", params=params, twice_is_once=True, timeout_secs=stop_secs)
        except (RuntimeNotFound, RuntimeTerminated, CodeRunNotFound):
            pass  # The run is gone, which is the aim.
