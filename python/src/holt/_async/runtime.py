"""A runtime: its last known state, and the actions on it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from .._bodies import NewFork, OnTimeout, fork_body
from .._io.async_parts import shielded
from .._model import decode
from .._models.event import EventItem
from .._models.runtime import ForkDryRun, RuntimeData, RuntimeFields
from .._options import UNSET, Seconds, Unset, check_names, given, joined, nullable, seconds
from ..errors import Internal, Timeout
from .commands import AsyncCommands
from .files import AsyncFiles
from .items import AsyncItems, resume_items
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._models.file import FileDiff
    from .._models.metrics import RuntimeMetrics
    from .._models.snapshot import Snapshot
    from .code import AsyncCode
    from .fork import AsyncFork
    from .git import AsyncGit
    from .network import AsyncNetwork
    from .ports import AsyncPorts

_writing_secs = 600.0
"""The time for writing or reading the memory of a runtime. Its size and the disk decide."""
_delete_secs = 60.0
"""The longest delay of a cancellation by the deletion at the end of a block."""


class AsyncRuntime(RuntimeFields):
    """A runtime: its last known state, in the words of the service, and the actions on it.

    As a context manager, it is deleted at the end of the block.
    """

    def __init__(self, transport: AsyncTransport, data: RuntimeData) -> None:
        self._transport = transport
        self._data = data
        self._take(data)
        self.commands = AsyncCommands(transport, self.runtime_id)
        """The commands of the runtime."""
        self.files = AsyncFiles(transport, self.runtime_id)
        """The files of the runtime."""

    @cached_property
    def code(self) -> AsyncCode:
        """Code that runs with the variables of earlier code."""
        from .code import AsyncCode

        return AsyncCode(self._transport, self.runtime_id)

    @cached_property
    def ports(self) -> AsyncPorts:
        """The ports of the runtime."""
        from .ports import AsyncPorts

        return AsyncPorts(self._transport, self.runtime_id, lambda: self._data.ports)

    @cached_property
    def network(self) -> AsyncNetwork:
        """The network access of the runtime."""
        from .network import AsyncNetwork

        return AsyncNetwork(self._transport, self.runtime_id)

    @cached_property
    def git(self) -> AsyncGit:
        """Git in the runtime."""
        from .git import AsyncGit

        return AsyncGit(self.commands, self.network)

    async def refresh(self) -> None:
        """Reads the runtime again into this object."""
        self._take_answer(await self._transport.call("getRuntime", params=self._params))

    async def update(
        self,
        *,
        metadata: Mapping[str, str] | None = None,
        metadata_patch: Mapping[str, str | None] | None = None,
        timeout_secs: Seconds | Unset | None = UNSET,
        on_timeout: OnTimeout | None = None,
        idle_timeout_secs: Seconds | Unset | None = UNSET,
        auto_resume: bool | None = None,
    ) -> None:
        """Changes settings, and copies the answer into this object. An absent option stays.

        Args:
            metadata: Labels that replace all others.
            metadata_patch: Labels to set. None removes a label, and others stay.
            timeout_secs: The time that it continues to run, from now. None: it has no deadline.
            on_timeout: The action after `timeout_secs`.
            idle_timeout_secs: The idle time after which it is paused. None: never.
            auto_resume: True if a request resumes it while it is paused.
        """
        body = {
            **given(metadata=metadata, metadata_patch=metadata_patch),
            **given(on_timeout=on_timeout, auto_resume=auto_resume),
            **nullable(timeout_secs=timeout_secs, idle_timeout_secs=idle_timeout_secs),
        }
        self._take_answer(await self._transport.call("updateRuntime", params=self._params, json=body))

    async def pause(self) -> None:
        """Pauses the runtime. Its processes, memory and files are kept, and the host is freed.

        With `auto_resume`, the next call that needs the inside resumes it.
        """
        await self._change_state("pauseRuntime")

    async def resume(self) -> None:
        """Resumes the runtime at the same point. A running runtime stays as it is."""
        await self._change_state("resumeRuntime")

    async def snapshot(
        self,
        name: str | None = None,
        *,
        kind: Literal["memory", "filesystem"] | None = None,
        record_files: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Snapshot:
        """Takes a snapshot, from which runtimes are made, and returns when it is durable.

        The runtime continues. `kind` is `memory` (everything; the default where the class of
        isolation supports it) or `filesystem`. With `record_files`, `diff` can compare with a
        memory snapshot. It takes time in proportion to the number of files.
        """
        from .._models.snapshot import Snapshot

        answer = await self._transport.call(
            "createSnapshot",
            params=self._params,
            json=given(name=name, kind=kind, record_files=record_files),
            idempotency_key=idempotency_key or str(uuid.uuid4()),
            timeout_secs=_writing_secs,
        )
        return decode(Snapshot, answer)

    async def fork(
        self,
        count: int = 1,
        *,
        metadata: Mapping[str, str] | None = None,
        timeout_secs: Seconds | Unset | None = UNSET,
        on_timeout: OnTimeout | None = None,
        idle_timeout_secs: Seconds | Unset | None = UNSET,
        auto_resume: bool | None = None,
        record_files: bool | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncFork:
        """Makes children from the present state of this runtime: processes, memory and files.

        Each has an identity of its own, and the runtime continues. An absent option has the value
        of this runtime. A child that could not be made is an error in the result; the others exist.
        With `record_files`, `diff` of a child compares with the fork and not with the image. It
        takes time in proportion to the number of files.
        """
        from .fork import AsyncFork

        body = fork_body(
            count=count,
            metadata=metadata,
            timeout_secs=timeout_secs,
            on_timeout=on_timeout,
            idle_timeout_secs=idle_timeout_secs,
            auto_resume=auto_resume,
            record_files=record_files,
        )
        answer = await self._transport.call(
            "forkRuntime",
            params=self._params,
            json=body,
            idempotency_key=idempotency_key or str(uuid.uuid4()),
            timeout_secs=_writing_secs,
        )
        return AsyncFork.of_answer(answer, self._sibling)

    async def dry_run_fork(self, count: int = 1, **options: Unpack[NewFork]) -> ForkDryRun:
        """Returns the outcome that `fork` with the same options would have. Makes nothing."""
        check_names("dry_run_fork", options, NewFork)
        body = {**fork_body(count=count, **options), "dry_run": True}
        answer = await self._transport.call("forkRuntime", params=self._params, json=body, twice_is_once=True)
        if "would_create" not in answer:
            raise Internal("The service made runtimes in place of a dry run.")
        return decode(ForkDryRun, answer)

    async def metrics(self, *, window_secs: Seconds = 0, step_secs: Seconds | None = None) -> RuntimeMetrics:
        """Returns the use of processor, memory, disk, processes and network, now and over a window.

        The call neither wakes the runtime nor keeps it from being idle.

        Args:
            window_secs: The length of the window, at most 3600. 0: only the present values.
            step_secs: The step, a multiple of 10. Default: 10.
        """
        from .._models.metrics import RuntimeMetrics

        query = {
            "window_secs": seconds(window_secs) or None,
            "step_secs": None if step_secs is None else seconds(step_secs),
        }
        return decode(RuntimeMetrics, await self._transport.call("runtimeMetrics", params=self._params, query=query))

    async def diff(
        self,
        path: str | PurePosixPath = "/",
        *,
        since: str | None = None,
        patch: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> FileDiff:
        """Returns the files that have changed since the runtime began, or since a snapshot.

        The changes are sorted by path. A paused runtime is resumed.

        Args:
            path: Only changes at this path and below it.
            since: A snapshot of this runtime by id or name, or `image` for the image below the
                runtime. Memory snapshots need `record_files`. Default: the fork or memory snapshot
                that it was made from, if that has a record of the files, or the image.
            patch: True if the answer has a patch, for `git apply` in a copy of `path`.
            limit: The most changes in the answer, at most 1000. Default: 1000.
            cursor: The `next_cursor` of the previous answer. Default: the first changes.
        """
        from .._models.file import FileDiff

        query = {"path": str(path), "since": since, "patch": patch, "limit": limit, "cursor": cursor}
        answer = await self._transport.call(
            "diffFiles", params=self._params, query=query, timeout_secs=_writing_secs
        )
        return decode(FileDiff, answer)

    def events(
        self, *, cursor: int = 0, follow: bool = False, types: str | Sequence[str] | None = None
    ) -> AsyncItems[EventItem]:
        """Yields the events of the runtime, in order; with `follow` until it has ended.

        Args:
            cursor: The cursor after which the events begin. Default: all kept events.
            follow: True to wait for later events.
            types: One or more types, or patterns such as `runtime.*`. Default: every type.
        """

        async def open_after(after: int) -> Any:
            query = {"type": joined(types), "cursor": after, "follow": follow}
            return await self._transport.open_events("readRuntimeEvents", params=self._params, query=query)

        secs = self._transport.resume_timeout_secs
        return AsyncItems(resume_items(EventItem, open_after, cursor=cursor, resume_timeout_secs=secs))

    async def delete(self) -> None:
        """Terminates the runtime. A missing runtime is success."""
        await self._transport.run("deleteRuntime", params=self._params)

    def to_dict(self) -> dict[str, Any]:
        """Returns the object as the service sends it."""
        return self._data.to_dict()

    def __hash__(self) -> int:
        return hash(self.runtime_id)

    async def __aenter__(self) -> AsyncRuntime:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_deleted = False
        with shielded(_delete_secs):
            await self.delete()
            is_deleted = True
        if kind is None and not is_deleted:
            raise Timeout(f"The runtime {self.runtime_id} was not deleted within {_delete_secs:.0f} s")

    @property
    def _params(self) -> dict[str, str]:
        return {"runtime_id": self.runtime_id}

    async def _change_state(self, route: Literal["pauseRuntime", "resumeRuntime"]) -> None:
        answer = await self._transport.call(
            route, params=self._params, twice_is_once=True, timeout_secs=_writing_secs
        )
        self._take_answer(answer)

    def _sibling(self, data: RuntimeData) -> AsyncRuntime:
        return AsyncRuntime(self._transport, data)

    def _take_answer(self, answer: Any) -> None:
        self._take(decode(RuntimeData, answer))

    def _take(self, data: RuntimeData) -> None:
        self._data = data
        # `ports` stays: the handle has its actions there.
        self.__dict__.update({name: value for name, value in vars(data).items() if name != "ports"})
