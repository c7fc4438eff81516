"""Waiting for builds of templates."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone

from .._callbacks import tell
from .._io.async_parts import sleep
from .._model import decode, decode_item
from .._models.template import BuildData, BuildLogEnd, BuildLogGap, BuildLogItem, BuildLogLine
from .._options import Seconds, seconds
from ..errors import BuildFailed, HoltError, Timeout
from .broken import AsyncBroken
from .items import read_events
from .transport import AsyncTransport

OnLog = Callable[[BuildLogLine], object]
"""A callback for each line of a build's log. `str(line)` is its text, so `print` is one."""

OnStatus = Callable[[BuildData], object]
"""A callback for the state of a build."""

_final = ("ready", "failed", "cancelled")
_first_poll_secs = 0.1
"""Polls are frequent at first, because many builds are all cached, and then rarer."""
_longest_poll_secs = 1.0
_shortest_limit_secs = 0.05


async def wait_for_build(
    transport: AsyncTransport,
    build_id: str,
    *,
    timeout_secs: Seconds | None = None,
    on_log: OnLog | None = None,
    on_status: OnStatus | None = None,
) -> BuildData:
    """Waits until a build is ready, also over restarts of the service.

    A build that failed or was cancelled is a `BuildFailed`. After `timeout_secs` the wait fails
    with a `Timeout`, and the build continues.
    """
    waiting = _Waiting(transport, build_id, timeout_secs, on_log)
    poll_secs = _first_poll_secs
    before: tuple[object, ...] = ()
    while True:
        build = await waiting.poll()
        await waiting.pass_on_log()
        now = (build.status, build.steps, build.warnings)
        if on_status is not None and now != before:
            tell(on_status, build)
        before = now
        if build.status in _final:
            break
        await waiting.pause(poll_secs)
        poll_secs = min(_longest_poll_secs, poll_secs * 1.3)
    if build.status != "ready":
        raise BuildFailed(build)
    return build


class _Waiting:
    def __init__(
        self, transport: AsyncTransport, build_id: str, timeout_secs: Seconds | None, on_log: OnLog | None
    ) -> None:
        self._transport = transport
        self._build_id = build_id
        self._limit = None if timeout_secs is None else seconds(timeout_secs)
        self._since = time.monotonic()
        self._on_log = on_log
        self._cursor = 0

    async def poll(self) -> BuildData:
        """Reads the build. A service that does not answer is asked again for a while."""
        broken = AsyncBroken(self._transport.resume_timeout_secs)
        while True:
            try:
                answer = await self._transport.call("getBuild", params=self._params, timeout_secs=self._request_secs)
                return decode(BuildData, answer)
            except HoltError as error:
                self._expect_time()
                await broken.pause(error)

    async def pass_on_log(self) -> None:
        """Passes on the lines of the log that are there. The next call continues after them."""
        if self._on_log is None:
            return
        broken = AsyncBroken(self._transport.resume_timeout_secs)
        while True:
            try:
                query = {"cursor": self._cursor}
                response = await self._transport.open_events(
                    "readBuildLogs",
                    params=self._params,
                    query=query,
                    timeout_secs=self._request_secs,
                    silence_secs=self._request_secs,
                )
                events = read_events(response)
                try:
                    async for data in events:
                        self._take(decode_item(BuildLogItem, data), self._on_log)
                        self._expect_time()
                finally:
                    await events.aclose()
                return
            except HoltError as error:
                self._expect_time()
                await broken.pause(error)

    async def pause(self, secs: float) -> None:
        """Waits before the next poll."""
        self._expect_time()
        await sleep(min(secs, self._secs_left))
        self._expect_time()

    def _take(self, item: BuildLogItem | None, on_log: OnLog) -> None:
        if item is None or isinstance(item, BuildLogEnd):
            return
        self._cursor = item.cursor
        tell(on_log, _gap_line(item) if isinstance(item, BuildLogGap) else item)

    @property
    def _params(self) -> dict[str, str]:
        return {"build_id": self._build_id}

    @property
    def _secs_left(self) -> float:
        left = float("inf") if self._limit is None else self._limit - (time.monotonic() - self._since)
        return max(left, 0.0)

    @property
    def _request_secs(self) -> float:
        return max(_shortest_limit_secs, min(self._transport.timeout_secs, self._secs_left))

    def _expect_time(self) -> None:
        if self._secs_left > 0:
            return
        follow = f'holt.builds.get("{self._build_id}")'
        raise Timeout(
            f"The build {self._build_id} has not ended after {self._limit} s",
            hint=f"The build continues: wait again with {follow}.wait(), or stop it with {follow}.cancel().",
            details={"build_id": self._build_id},
        )


def _gap_line(gap: BuildLogGap) -> BuildLogLine:
    """Returns the line that replaces dropped lines of a log."""
    return BuildLogLine(
        type="log",
        cursor=gap.cursor,
        at=datetime.now(timezone.utc),
        level="warn",
        step=None,
        message=f"{gap.lost} lines of the log are no longer kept",
    )
