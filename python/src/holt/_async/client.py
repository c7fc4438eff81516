"""The client of a Holt service."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .._credentials import find_credentials
from .._model import decode
from .._options import Seconds, seconds
from .._retry import Retry
from ..errors import InvalidRequest
from .runtimes import AsyncRuntimes
from .transport import AsyncTransport

if TYPE_CHECKING:
    from .._models.account import Identity
    from .._models.service import Health, Readiness
    from .audit import AsyncAudit
    from .builds import AsyncBuilds
    from .events import AsyncEvents
    from .hosts import AsyncHosts
    from .keys import AsyncKeys
    from .policies import AsyncPolicies
    from .projects import AsyncProjects
    from .secrets import AsyncSecrets
    from .snapshots import AsyncSnapshots
    from .templates import AsyncTemplates
    from .webhooks import AsyncWebhooks

_default_timeout_secs = 120
"""A create may take the service a minute, so a shorter limit would interrupt working requests."""
_default_resume_timeout_secs = 30
"""A service that restarts and adopts its runtimes is back within this time."""


class AsyncHolt:
    """The client of a Holt service.

    Use it as a context manager, or call `aclose` at the end. All calls share its connections.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        max_retries: int = 4,
        timeout_secs: Seconds = _default_timeout_secs,
        resume_timeout_secs: Seconds = _default_resume_timeout_secs,
        on_retry: Callable[[Retry], object] | None = None,
    ) -> None:
        """Makes a client. It connects with the first call.

        Args:
            url: The address. Default: HOLT_URL, else the file that `holt up` writes in the state
                directory, else the loopback address.
            api_key: The key. Default: HOLT_API_KEY, else the file that `holt up` writes.
            max_retries: The most retries of a request that is safe to repeat.
            timeout_secs: The time limit of each try of a request, from its first byte to the end of
                its answer. Streams, transfers, waiting for a command, and file operations on whole
                trees have none: they fail when the service is silent or its host is gone for a
                minute or two. An upload to a host that is gone fails when the system gives up, on
                Linux after about 15 minutes. Connections through a proxy of the environment have
                no TCP keepalive, so file operations on whole trees can wait there without end.
            resume_timeout_secs: The time for which a broken stream or transfer is retried.
            on_retry: Called for each failed request that is sent again, before the wait.
        """
        found = find_credentials(url, api_key)
        if not _is_address(found.url):
            raise InvalidRequest(f"{found.url} is not an http address", hint="Correct url or HOLT_URL.")
        self.url = found.url
        """The address of the service."""
        self._transport = AsyncTransport(
            found.url,
            found.api_key,
            max_retries=max_retries,
            timeout_secs=seconds(timeout_secs),
            resume_timeout_secs=seconds(resume_timeout_secs),
            on_retry=on_retry,
        )

    @cached_property
    def runtimes(self) -> AsyncRuntimes:
        """The runtimes of the service."""
        return AsyncRuntimes(self._transport)

    @cached_property
    def snapshots(self) -> AsyncSnapshots:
        """The snapshots of runtimes."""
        from .snapshots import AsyncSnapshots

        return AsyncSnapshots(self._transport)

    @cached_property
    def builds(self) -> AsyncBuilds:
        """The builds of templates."""
        from .builds import AsyncBuilds

        return AsyncBuilds(self._transport)

    @cached_property
    def templates(self) -> AsyncTemplates:
        """The templates of runtimes."""
        from .templates import AsyncTemplates

        return AsyncTemplates(self._transport)

    @cached_property
    def policies(self) -> AsyncPolicies:
        """The stored network policies."""
        from .policies import AsyncPolicies

        return AsyncPolicies(self._transport)

    @cached_property
    def secrets(self) -> AsyncSecrets:
        """The secrets and their providers."""
        from .secrets import AsyncSecrets

        return AsyncSecrets(self._transport)

    @cached_property
    def keys(self) -> AsyncKeys:
        """The keys of the service."""
        from .keys import AsyncKeys

        return AsyncKeys(self._transport)

    @cached_property
    def projects(self) -> AsyncProjects:
        """The projects of the installation."""
        from .projects import AsyncProjects

        return AsyncProjects(self._transport)

    @cached_property
    def events(self) -> AsyncEvents:
        """The events of the project."""
        from .events import AsyncEvents

        return AsyncEvents(self._transport)

    @cached_property
    def webhooks(self) -> AsyncWebhooks:
        """The webhooks, which receive events."""
        from .webhooks import AsyncWebhooks

        return AsyncWebhooks(self._transport)

    @cached_property
    def audit(self) -> AsyncAudit:
        """The audit log."""
        from .audit import AsyncAudit

        return AsyncAudit(self._transport)

    @cached_property
    def hosts(self) -> AsyncHosts:
        """The machines that run runtimes."""
        from .hosts import AsyncHosts

        return AsyncHosts(self._transport)

    async def whoami(self) -> Identity:
        """Returns the key of this client, its project, its quotas and their use."""
        from .._models.account import Identity

        return decode(Identity, await self._transport.call("whoami"))

    async def health(self) -> Health:
        """Returns normally if the service responds."""
        from .._models.service import Health

        return decode(Health, await self._transport.call("health"))

    async def ready(self) -> Readiness:
        """Returns whether runtimes can be made, or the reason why not. Neither is an error."""
        from .._models.service import Readiness

        return decode(Readiness, await self._transport.call("readiness", accepted=(503,)))

    async def metrics(self) -> str:
        """Returns the metrics of the service in the text format of Prometheus.

        Needs a key with the scope `operator`.
        """
        return await self._transport.text("metrics")

    async def aclose(self) -> None:
        """Closes the connections. Runtimes and commands continue.

        A later call is a `Conflict`.
        """
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncHolt:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(url={self.url!r})"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
