"""Lists that are read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .._io.async_parts import AsyncResult

_T = TypeVar("_T")


@dataclass
class AsyncPage(Generic[_T]):
    """A page of a list."""

    data: list[_T]
    next_cursor: str | None
    """The cursor of the next page; None for the last one."""


class AsyncPaginated(Generic[_T]):
    """A list that is read page by page while it is iterated."""

    def __init__(
        self, read_page: Callable[[str | None], AsyncResult[dict[str, Any]]], make: Callable[[Any], _T]
    ) -> None:
        self._read_page = read_page
        self._make = make

    def __repr__(self) -> str:
        """Returns the ways to read it. Nothing is read yet."""
        return f"<{type(self).__name__}: loop over it, or call all() or page()>"

    async def page(self, cursor: str | None = None) -> AsyncPage[_T]:
        """Reads one page: the first, or the page at a cursor."""
        answer = await self._read_page(cursor)
        return AsyncPage([self._make(one) for one in answer["data"]], answer["next_cursor"])

    async def all(self) -> list[_T]:
        """Reads every page."""
        return [item async for item in self]

    async def __aiter__(self) -> AsyncIterator[_T]:
        cursor: str | None = None
        while True:
            page = await self.page(cursor)
            for item in page.data:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return
