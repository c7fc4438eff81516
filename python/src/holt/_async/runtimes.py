"""Creating, finding and listing runtimes."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from .._bodies import Isolation, NamedRuntime, NewRuntime, OnTimeout, Size, WantedPolicy, runtime_body
from .._io.async_parts import sleep
from .._model import decode
from .._models.runtime import DryRun, RuntimeData, RuntimeState
from .._options import UNSET, Seconds, Unset, check_names, joined, seconds, text_of
from .._retry import backoff_secs, build_to_wait_for
from ..errors import ApiError, Internal, NameTaken, Timeout
from .pages import AsyncPaginated
from .runtime import AsyncRuntime
from .transport import AsyncTransport
from .wait_for_build import wait_for_build

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._models.metrics import RuntimeMetrics

_most_builds = 3
"""The most builds that one create waits for.

Only a template that is rebuilt all the time needs more.
"""

_nameable_states = tuple(state for state in get_args(RuntimeState) if state != "terminated")
"""The states in which a runtime can be found by its name. The name of a terminated one is free."""
_passing_states = ("starting", "terminating", "failed")
"""The states that a runtime leaves by itself, or in which its name is free."""


class AsyncRuntimes:
    """The runtimes of a service."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        *,
        template: str | None = None,
        snapshot: str | None = None,
        name: str | None = None,
        cloud: str | None = None,
        region: str | None = None,
        spread: str | None = None,
        isolation: Isolation | None = None,
        cpu: float | None = None,
        memory: Size | None = None,
        disk: Size | None = None,
        env: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        timeout_secs: Seconds | Unset | None = UNSET,
        on_timeout: OnTimeout | None = None,
        idle_timeout_secs: Seconds | Unset | None = UNSET,
        auto_resume: bool | None = None,
        network_policy: WantedPolicy | Unset = UNSET,
        secrets: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncRuntime:
        """Creates a runtime and returns when it runs.

        As a context manager, the runtime is deleted at the end of the block. If its template is
        being built, the call waits for the build. Each call has an idempotency key, so a retry
        after a lost answer makes no second runtime.

        Args:
            template: A template by name, `name:tag` or id. Default: `base-small`.
            snapshot: A snapshot by name or id, in place of a template.
            name: A name that is unique among the runtimes that have not ended.
            cloud: The place to run, as the operator has named it.
            region: The region of the cloud.
            spread: A label. Runtimes with the same one run on different hosts if possible.
            isolation: `gvisor` for untrusted code, `container` for code you trust.
            cpu: The number of vCPUs. Default: the template's.
            memory: The most memory, in GiB or as text such as `512MiB`. Default: the template's.
            disk: The size of the disk, as `memory`. It is not smaller than the template's.
            env: Environment variables of every command.
            metadata: Labels of your own, by which `list` filters.
            timeout_secs: The time that it runs, from its creation and from each resume. None: it
                has no deadline. Default: 3600 where the runtime can be paused.
            on_timeout: The action after `timeout_secs`. Default: `pause` where it is possible.
            idle_timeout_secs: The idle time after which it is paused. None: never.
            auto_resume: True if a request resumes it while it is paused. Default: true.
            network_policy: A stored policy by name or id, or an inline policy. None: no network.
            secrets: Secrets by name. Their placeholders are in the environment.
            idempotency_key: A key under which a repeated create makes the runtime only once.
        """
        body = runtime_body(
            template=template,
            snapshot=snapshot,
            name=name,
            cloud=cloud,
            region=region,
            spread=spread,
            isolation=isolation,
            cpu=cpu,
            memory=memory,
            disk=disk,
            env=env,
            metadata=metadata,
            timeout_secs=timeout_secs,
            on_timeout=on_timeout,
            idle_timeout_secs=idle_timeout_secs,
            auto_resume=auto_resume,
            network_policy=network_policy,
            secrets=secrets,
        )
        return await self._create(body, idempotency_key)

    async def dry_run(self, **options: Unpack[NewRuntime]) -> DryRun:
        """Returns the outcome that `create` with the same options would have. Makes nothing.

        A create that would be refused is a result, whose `problems` have each reason.
        """
        check_names("dry_run", options, NewRuntime)
        body = {**runtime_body(**options), "dry_run": True}
        answer = await self._transport.call("createRuntime", json=body, twice_is_once=True)
        if "would_create" not in answer:
            raise Internal("The service made a runtime in place of a dry run.")
        return decode(DryRun, answer)

    async def get(self, runtime: str) -> AsyncRuntime:
        """Gets a runtime by id, or by the name of a runtime that has not ended."""
        text_of(runtime, "runtime")
        named = None if re.fullmatch(r"rt[a-z0-9]{20}", runtime) else await self._named(runtime)
        if named is not None:
            return named
        return self._made(await self._transport.call("getRuntime", params={"runtime_id": runtime}))

    async def get_or_create(self, name: str, **options: Unpack[NamedRuntime]) -> AsyncRuntime:
        """Gets the runtime with a name, or creates it with the options of `create`.

        Concurrent callers get the same runtime. An existing runtime is returned unchanged: with
        its own settings, and paused if it is paused. The call waits for a runtime that starts.
        """
        check_names("get_or_create", options, NamedRuntime)
        since = time.monotonic()
        body = {**runtime_body(**options), "name": name}
        tries = 0
        while True:
            tries += 1
            named = await self._named(name)
            if named is not None and named.state not in _passing_states:
                return named
            if named is None or named.state != "starting":
                try:
                    return await self._create(body, None)
                except NameTaken:
                    pass  # Another caller was faster: its runtime is found in the next round.
            if time.monotonic() - since > self._transport.timeout_secs:
                raise Timeout(f"The runtime named {name} has neither started nor ended")
            await sleep(backoff_secs(tries))

    def list(
        self,
        *,
        runtime_id: Sequence[str] | None = None,
        state: RuntimeState | Sequence[RuntimeState] | None = None,
        template: str | None = None,
        name: str | None = None,
        isolation: Isolation | None = None,
        parent: str | None = None,
        network_policy: str | None = None,
        secret: str | None = None,
        snapshot: str | None = None,
        metadata: Mapping[str, str] | None = None,
        limit: int | None = None,
    ) -> AsyncPaginated[AsyncRuntime]:
        """Lists runtimes, newest first. Several filters mean AND.

        Ended runtimes are included for 7 days. `runtime_id` has at most 100 ids. `state` is one
        state, or several. `parent` is the id of the runtime that they were forked from, and
        `network_policy` the name or id of a stored policy. `secret` is a name or an id, and so is
        `snapshot`, from which they were created. `limit` is the number of items per page.
        """
        labels = {f"metadata.{key}": value for key, value in (metadata or {}).items()}
        query = {
            "runtime_id": _ids(runtime_id),
            "state": joined(state),
            "template": template,
            "name": name,
            "isolation": isolation,
            "parent": parent,
            "network_policy": network_policy,
            "secret": secret,
            "snapshot": snapshot,
            "limit": limit,
        }

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listRuntimes", query={**query, **labels, "cursor": cursor})

        return AsyncPaginated(read_page, self._made)

    def metrics(
        self,
        *,
        runtime_id: Sequence[str] | None = None,
        window_secs: Seconds = 0,
        step_secs: Seconds | None = None,
        limit: int | None = None,
    ) -> AsyncPaginated[RuntimeMetrics]:
        """Lists the usage of runtimes, newest first: of those that run, or of those with the ids.

        The calls neither wake a runtime nor keep it from being idle. An ended runtime has no
        values.

        Args:
            runtime_id: The ids, at most 100.
            window_secs: The length of the window, at most 3600. 0: only the present values.
            step_secs: The step, a multiple of 10. Default: 10.
            limit: The number of items per page.
        """
        from .._models.metrics import RuntimeMetrics

        query = {
            "runtime_id": _ids(runtime_id),
            "window_secs": seconds(window_secs) or None,
            "step_secs": None if step_secs is None else seconds(step_secs),
            "limit": limit,
        }

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listRuntimeMetrics", query={**query, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(RuntimeMetrics, data))

    async def _create(self, body: Mapping[str, Any], idempotency_key: str | None) -> AsyncRuntime:
        key = idempotency_key or str(uuid.uuid4())
        builds = 0
        while True:
            try:
                return self._made(await self._transport.call("createRuntime", json=body, idempotency_key=key))
            except ApiError as error:
                build_id = build_to_wait_for(error)
                if build_id is None or builds >= _most_builds:
                    raise
            builds += 1
            await wait_for_build(self._transport, build_id)

    async def _named(self, name: str) -> AsyncRuntime | None:
        """Returns the runtime with a name that has not ended, or else one that has failed."""
        failed: AsyncRuntime | None = None
        async for runtime in self.list(name=name, state=_nameable_states, limit=100):
            if runtime.state != "failed":
                return runtime
            failed = failed or runtime
        return failed

    def _made(self, data: Any) -> AsyncRuntime:
        return AsyncRuntime(self._transport, decode(RuntimeData, data))


def _ids(ids: Sequence[str] | None) -> str | None:
    """Returns ids as one field of a query. The service refuses an empty one."""
    return None if ids is None else ",".join(ids)
