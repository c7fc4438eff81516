"""A build: its last known state, and the actions on it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from .._model import decode, decode_item
from .._models.template import BuildData, BuildLogItem, BuildRequest
from .._options import Seconds
from .items import AsyncItems, read_events, resume_items
from .transport import AsyncTransport
from .wait_for_build import OnLog, OnStatus, wait_for_build


class AsyncBuild(BuildData):
    """A build: its last known state, in the words of the service, and the actions on it."""

    def __init__(self, transport: AsyncTransport, data: BuildData) -> None:
        self._transport = transport
        self.__dict__.update(vars(data))

    def logs(self, *, cursor: int = 0, follow: bool = True) -> AsyncItems[BuildLogItem]:
        """Yields the log from any point that is kept: lines, gaps, and the end of an ended build.

        Args:
            cursor: The cursor after which the log begins. Default: all kept lines.
            follow: True to continue until the build has ended. After a broken connection it
                reconnects then, and continues after the last item.
        """
        if not follow:
            return AsyncItems(self._kept_log(cursor))

        async def open_after(after: int) -> Any:
            query = {"cursor": after, "follow": True}
            return await self._transport.open_events("readBuildLogs", params=self._params, query=query)

        secs = self._transport.resume_timeout_secs
        return AsyncItems(resume_items(BuildLogItem, open_after, cursor=cursor, resume_timeout_secs=secs))

    async def wait(
        self,
        *,
        timeout_secs: Seconds | None = None,
        on_log: OnLog | None = None,
        on_status: OnStatus | None = None,
    ) -> AsyncBuild:
        """Waits until the template is ready, and returns this build.

        A build that fails or is cancelled is a `BuildFailed`, with its step and its last output.

        Args:
            timeout_secs: The time limit of the wait. After it the error is a `Timeout`, and the
                build continues. Default: no limit.
            on_log: Called for each line of the log, from the first. `print` prints the lines.
            on_status: Called with the build at first, and whenever its status or a step changes.
        """
        self._take(
            await wait_for_build(
                self._transport, self.build_id, timeout_secs=timeout_secs, on_log=on_log, on_status=on_status
            )
        )
        return self

    async def cancel(self) -> None:
        """Stops the build and removes its results. An ended build stays as it is."""
        self._take(decode(BuildData, await self._transport.call("cancelBuild", params=self._params)))

    async def refresh(self) -> None:
        """Reads the build again into this object."""
        self._take(decode(BuildData, await self._transport.call("getBuild", params=self._params)))

    async def request(self) -> BuildRequest:
        """Returns the body that this build was started with, as far as the service keeps it.

        It has no secret values.
        """
        return decode(BuildRequest, await self._transport.call("getBuildRequest", params=self._params))

    async def _kept_log(self, cursor: int) -> AsyncGenerator[BuildLogItem, None]:
        response = await self._transport.open_events("readBuildLogs", params=self._params, query={"cursor": cursor})
        events = read_events(response)
        try:
            async for data in events:
                item = decode_item(BuildLogItem, data)
                if item is not None:
                    yield item
        finally:
            await events.aclose()

    def __hash__(self) -> int:
        return hash(self.build_id)

    @property
    def _params(self) -> dict[str, str]:
        return {"build_id": self.build_id}

    def _take(self, data: BuildData) -> None:
        self.__dict__.update(vars(data))
