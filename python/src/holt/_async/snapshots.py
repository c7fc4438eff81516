"""The snapshots of runtimes."""

from __future__ import annotations

from typing import Any, Literal

from .._model import decode
from .._models.snapshot import Snapshot
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncSnapshots:
    """The snapshots of runtimes.

    `runtime.snapshot()` takes one, and `runtimes.create(snapshot=...)` makes a runtime from one.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        name: str | None = None,
        kind: Literal["memory", "filesystem"] | None = None,
        state: Literal["writing", "ready", "failed"] | None = None,
        runtime_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncPaginated[Snapshot]:
        """Lists snapshots, newest first. Several filters mean AND."""
        query = {"name": name, "kind": kind, "state": state, "runtime_id": runtime_id, "limit": limit}

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listSnapshots", query={**query, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(Snapshot, data))

    async def get(self, snapshot: str) -> Snapshot:
        """Gets a snapshot by id or name."""
        return decode(Snapshot, await self._transport.call("getSnapshot", params={"snapshot_id": snapshot}))

    async def delete(self, snapshot: str) -> None:
        """Deletes a snapshot by id or name. Runtimes made from it continue."""
        await self._transport.run("deleteSnapshot", params={"snapshot_id": snapshot})
