"""The audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .._model import decode
from .._models.event import AuditEntry
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncAudit:
    """The audit log: actors, actions, keys and addresses. It needs a key with the scope `admin`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        project: str | None = None,
        kind: str | None = None,
        key_id: str | None = None,
        route: str | None = None,
        subject: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = None,
    ) -> AsyncPaginated[AuditEntry]:
        """Lists entries, newest first. Several filters mean AND.

        Args:
            project: The id of a project, or `all`; needs the scope `operator`.
            kind: The kind of the entry.
            key_id: The key that acted.
            route: The name of a route: `createRuntime`.
            subject: The id or the name of the changed thing.
            since: The time of the oldest entry.
            until: The time of the newest entry.
            limit: The number of entries per page.
        """
        query = {
            "project": project,
            "kind": kind,
            "key_id": key_id,
            "route": route,
            "subject": subject,
            "since": since,
            "until": until,
            "limit": limit,
        }

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listAudit", query={**query, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(AuditEntry, data))
