"""Waiting for builds of templates."""

from __future__ import annotations

from .._io.async_parts import sleep
from .._model import decode
from .._models.template import BuildData
from ..errors import BuildFailed
from .transport import AsyncTransport

_final = ("ready", "failed", "cancelled")
_first_poll_secs = 0.1
_longest_poll_secs = 1.0


async def wait_for_build(transport: AsyncTransport, build_id: str) -> BuildData:
    """Waits until a build is ready. A build that failed or was cancelled is a `BuildFailed`."""
    poll_secs = _first_poll_secs
    while True:
        build = decode(BuildData, await transport.call("getBuild", params={"build_id": build_id}))
        if build.status in _final:
            break
        await sleep(poll_secs)
        poll_secs = min(_longest_poll_secs, poll_secs * 1.3)
    if build.status == "ready":
        return build
    why = f": {build.reason.message}" if build.reason is not None else ""
    raise BuildFailed(f"The build {build_id} of {build.name} has {build.status}{why}", details=build.to_dict())
