"""The projects of an installation."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Literal, Union

from .._model import decode
from .._models.account import Project
from .._options import given
from .pages import AsyncPaginated
from .transport import AsyncTransport

Quota = Union[float, None, Literal["default"]]
"""A limit. None: no limit. `default`: as the settings of the service say."""


class AsyncProjects:
    """The projects, which own all other things. They need a key with the scope `operator`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, name: str, *, quotas: Mapping[str, Quota] | None = None) -> Project:
        """Makes a project. `keys.create(project=...)` makes its first key.

        `quotas` has limits by the names of `Quotas`: numbers, in the unit of the name, or None for
        no limit. An absent one is as the settings say.
        """
        body = given(name=name, quotas=quotas)
        answer = await self._transport.call("createProject", json=body, idempotency_key=str(uuid.uuid4()))
        return decode(Project, answer)

    def list(self, *, limit: int | None = None) -> AsyncPaginated[Project]:
        """Lists projects, newest first, with their quotas and use."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listProjects", query={"limit": limit, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(Project, data))

    async def get(self, project: str) -> Project:
        """Gets a project by id or name."""
        return decode(Project, await self._transport.call("getProject", params={"project_id": project}))

    async def update(
        self, project: str, *, name: str | None = None, quotas: Mapping[str, Quota] | None = None
    ) -> Project:
        """Changes a project's name or quotas. An absent option stays."""
        answer = await self._transport.call(
            "updateProject", params={"project_id": project}, json=given(name=name, quotas=quotas), twice_is_once=True
        )
        return decode(Project, answer)

    async def delete(self, project: str) -> None:
        """Deletes an empty project and its keys."""
        await self._transport.run("deleteProject", params={"project_id": project})
