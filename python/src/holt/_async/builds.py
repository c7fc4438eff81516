"""The builds of templates."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._io.async_parts import in_thread, iterate_in_thread
from .._model import decode, to_wire
from .._models.template import BuildContext, BuildData
from .._template.context_tree import WantedContext, read_context_tree
from .._template.dockerfile import LocalPath
from .._template.uploaded_context import UploadedContext
from .._tree.local_tree import LocalEntry
from .._tree.write_archive import archive_of
from ..errors import IdempotencyMismatch
from .build import AsyncBuild
from .pages import AsyncPaginated
from .transport import AsyncTransport

if TYPE_CHECKING:
    from .._tree.transfer import OnTransfer


class AsyncBuilds:
    """The builds of templates. `Template` describes a new one."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, body: Mapping[str, Any], *, idempotency_key: str | None = None) -> AsyncBuild:
        """Starts a build and returns at once. `wait` of the result waits for its end.

        `body` has the fields of the service, which `Template` writes. Each call has an idempotency
        key, so that a retry after a lost answer starts no second build.
        """
        key = idempotency_key or str(uuid.uuid4())
        started = await self._transport.call("createBuild", json=to_wire(body), idempotency_key=key)
        return await self.get(started["build_id"])

    def list(
        self, *, name: str | None = None, template_id: str | None = None, limit: int | None = None
    ) -> AsyncPaginated[AsyncBuild]:
        """Lists builds, newest first: all, or those of a template by name or id."""
        query = {"name": name, "template_id": template_id, "limit": limit}

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listBuilds", query={**query, "cursor": cursor})

        return AsyncPaginated(read_page, self._made)

    async def get(self, build_id: str) -> AsyncBuild:
        """Gets a build by its id."""
        return self._made(await self._transport.call("getBuild", params={"build_id": build_id}))

    async def pull(self, template: str, *, no_cache: bool = False) -> AsyncBuild:
        """Builds an agent template from the service's own Dockerfile."""
        started = await self._transport.call(
            "pullTemplate",
            params={"template_id": template},
            json={"no_cache": no_cache},
            idempotency_key=str(uuid.uuid4()),
        )
        return await self.get(started["build_id"])

    async def upload_context(
        self,
        directory: LocalPath,
        *,
        dockerfile: LocalPath | None = None,
        only: Sequence[str] | None = None,
        on_progress: OnTransfer | None = None,
    ) -> UploadedContext:
        """Sends a directory of this machine as the context that COPY and ADD read.

        Paths that its .dockerignore excludes are left out.

        Args:
            directory: The directory.
            dockerfile: The path of the Dockerfile. Rules in `PATH.dockerignore` precede those of
                the directory.
            only: The patterns that limit the context, as in COPY, including everything below.
            on_progress: Called for each file that was sent.
        """
        path = None if dockerfile is None else Path(dockerfile)
        wanted = WantedContext(Path(directory).absolute(), path, only)
        tree = await in_thread(read_context_tree, wanted)
        send = _sender(wanted.directory, tree.entries, on_progress)
        try:
            answer = await self._upload(send)
        except IdempotencyMismatch:
            # A file has changed since a try with a lost answer. Another content needs another key.
            answer = await self._upload(send)
        return UploadedContext(**vars(decode(BuildContext, answer)), skipped=tree.skipped)

    async def _upload(self, content: Callable[[], Any]) -> Any:
        key = str(uuid.uuid4())
        return await self._transport.call("uploadContext", content=content, idempotency_key=key, timeout_secs=None)

    def _made(self, data: Any) -> AsyncBuild:
        return AsyncBuild(self._transport, decode(BuildData, data))


def _sender(root: Path, entries: Sequence[LocalEntry], on_progress: OnTransfer | None) -> Callable[[], Any]:
    """Returns the function that makes the archive for each try."""
    from .trees import TransferCount

    total_files = sum(entry.type == "file" for entry in entries)
    total_bytes = sum(entry.size_bytes for entry in entries)

    def parts():
        progress = TransferCount(on_progress, total_files, total_bytes)

        def count(entry: LocalEntry) -> None:
            if entry.type == "file":
                progress.add(entry.size_bytes)

        return iterate_in_thread(archive_of(root, entries, count))

    return parts
