"""The machines that run runtimes."""

from __future__ import annotations

from typing import Any

from .._model import decode
from .._models.host import Host
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncHosts:
    """The machines that run runtimes. They need a key with the scope `operator`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(self) -> AsyncPaginated[Host]:
        """Lists the hosts with their capacity, isolation classes, pools and checks.

        An installation has one. The checks are at most a minute old.
        """

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listHosts")

        return AsyncPaginated(read_page, lambda data: decode(Host, data))
