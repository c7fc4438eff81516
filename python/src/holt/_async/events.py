"""The events of a project."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

from .._model import decode
from .._models.event import DroppedEvents, Event, EventItem, EventPage, EventsEnd
from .._options import joined
from .._routes import RouteName
from .items import AsyncItems, resume_items
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncEvents:
    """A log of events: of the key's project, or of the hosts of a fleet (`holt.hosts.events`).

    The cursors of a project are 1, 2, 3 and so on.
    """

    def __init__(self, transport: AsyncTransport, of: Literal["project", "hosts"] = "project") -> None:
        self._transport = transport
        self._route: RouteName = "listHostEvents" if of == "hosts" else "listEvents"

    def list(
        self,
        *,
        types: str | Sequence[str] | None = None,
        subject: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        limit: int | None = None,
        cursor: int | None = None,
    ) -> AsyncPaginated[Event]:
        """Lists events.

        Args:
            types: One or more types, or patterns such as `runtime.*`. Default: every type.
            subject: The id of the thing that the events are about.
            order: With `asc` (default) the oldest event is first.
            limit: The number of events per page.
            cursor: The cursor after which the first page begins; with `desc`, before which.
        """
        query = {"type": joined(types), "subject": subject, "order": order, "limit": limit}

        async def read_page(after: str | None) -> dict[str, Any]:
            return await self._transport.call(self._route, query={**query, "cursor": after or cursor})

        return AsyncPaginated(read_page, lambda data: decode(Event, data))

    async def page(
        self,
        *,
        types: str | Sequence[str] | None = None,
        subject: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        limit: int | None = None,
        cursor: int | Literal["latest"] | None = None,
    ) -> EventPage:
        """Reads one page. Its `last_cursor` is the cursor for a later request."""
        query = {
            "type": joined(types),
            "subject": subject,
            "order": order,
            "limit": limit,
            "cursor": cursor,
        }
        return decode(EventPage, await self._transport.call(self._route, query=query))

    def follow(
        self,
        *,
        types: str | Sequence[str] | None = None,
        subject: str | None = None,
        cursor: int | Literal["latest"] = "latest",
    ) -> AsyncItems[Event | DroppedEvents]:
        """Yields new events, each once and in order, until the iterator is closed.

        After a broken connection or a restart of the service it continues after the last event.
        `DroppedEvents` has the number of events that were removed before they could be read.

        Args:
            types: One or more types, or patterns such as `runtime.*`. Default: every type.
            subject: The id of the thing that the events are about.
            cursor: The cursor after which the events begin. 0: all kept events.
        """
        return AsyncItems(self._follow({"type": joined(types), "subject": subject}, cursor))

    async def _follow(
        self, query: dict[str, Any], cursor: int | Literal["latest"]
    ) -> AsyncGenerator[Event | DroppedEvents, None]:
        # The cursor is needed if the connection breaks before the first event.
        start = (await self.page(cursor="latest", limit=1)).last_cursor if cursor == "latest" else cursor

        async def open_after(after: int) -> Any:
            fields = {**query, "cursor": after, "follow": True}
            return await self._transport.open_events(self._route, query=fields)

        secs = self._transport.resume_timeout_secs
        items = resume_items(EventItem, open_after, cursor=start, resume_timeout_secs=secs)
        try:
            async for item in items:
                if not isinstance(item, EventsEnd):
                    yield item
        finally:
            await items.aclose()
