"""The templates of runtimes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .._model import decode
from .._models.template import DockerfileCheck, TemplateData
from .._options import given
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncTemplates:
    """The images from which runtimes are made."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        name: str | None = None,
        kind: Literal["system", "agent", "custom"] | None = None,
        state: str | None = None,
        limit: int | None = None,
    ) -> AsyncPaginated[TemplateData]:
        """Lists templates. Several filters mean AND."""
        query = {"name": name, "kind": kind, "state": state, "limit": limit}

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listTemplates", query={**query, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(TemplateData, data))

    async def get(self, template: str) -> TemplateData:
        """Gets a template by id, `name` or `name:tag`."""
        return decode(TemplateData, await self._transport.call("getTemplate", params={"template_id": template}))

    async def delete(self, template: str) -> None:
        """Deletes a template by id, `name` or `name:tag`. Runtimes made from it continue."""
        await self._transport.run("deleteTemplate", params={"template_id": template})

    async def check(
        self, dockerfile: str, *, build_args: Mapping[str, str] | None = None, target: str | None = None
    ) -> DockerfileCheck:
        """Returns for each line of a Dockerfile if a build follows, ignores or refuses it.

        Builds nothing.
        """
        body = given(dockerfile=dockerfile, build_args=build_args, target=target)
        return decode(DockerfileCheck, await self._transport.call("checkDockerfile", json=body))
