"""The machines that run runtimes."""

from __future__ import annotations

import uuid
from functools import cached_property
from typing import Any

from .._model import decode
from .._models.host import Host, HostDrain, JoinToken, NewJoinToken
from .._options import Seconds, seconds
from .events import AsyncEvents
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncHosts:
    """The machines that run runtimes. They need a key with the scope `operator`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @cached_property
    def events(self) -> AsyncEvents:
        """The events of the hosts of a fleet, such as `host.lost`."""
        return AsyncEvents(self._transport, "hosts")

    def list(self) -> AsyncPaginated[Host]:
        """Lists the hosts with their capacity, isolation classes, pools and checks.

        An installation has one, or those of its fleet. The checks are at most a minute old.
        """

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listHosts")

        return AsyncPaginated(read_page, lambda data: decode(Host, data))

    async def cordon(self, host_id: str) -> None:
        """Cordons a host of a fleet: it gets no new runtimes, and keeps those that it has."""
        await self._transport.run("cordonHost", params={"host_id": host_id})

    async def uncordon(self, host_id: str) -> None:
        """Lets a host of a fleet get new runtimes again."""
        await self._transport.run("uncordonHost", params={"host_id": host_id})

    async def drain(
        self,
        host_id: str,
        *,
        deadline_secs: Seconds = 1800,
        force: bool = False,
        dry_run: bool = False,
    ) -> HostDrain:
        """Empties a host of a fleet: its runtimes move to other hosts under their ids.

        A runtime that cannot move ends at its deadline, or after `deadline_secs`. With `dry_run`
        nothing is changed. Raises `Conflict` if other hosts cannot take them, unless `force` is
        true.
        """
        data = await self._transport.call(
            "drainHost",
            params={"host_id": host_id},
            json={"deadline_secs": seconds(deadline_secs), "force": force, "dry_run": dry_run},
        )
        return decode(HostDrain, data)

    async def lose(self, host_id: str, *, force: bool = False) -> None:
        """Declares a host of a fleet lost, because its power is off. Its running runtimes fail.

        Raises `Conflict` if the host is heard of, unless `force` is true.
        """
        await self._transport.run("loseHost", params={"host_id": host_id}, json={"force": force})

    async def forget(self, host_id: str) -> None:
        """Forgets a lost host, whose disk does not come back. Its paused runtimes fail."""
        await self._transport.run("forgetHost", params={"host_id": host_id})

    async def create_join_token(self, *, ttl_secs: Seconds = 3600, once: bool = False) -> NewJoinToken:
        """Makes a token with which workers join the fleet. Only this answer contains its text.

        Args:
            ttl_secs: The time for which workers can join with it, at most 30 days.
            once: True: the first join uses it up.
        """
        answer = await self._transport.call(
            "createJoinToken",
            json={"ttl_secs": seconds(ttl_secs), "once": once},
            idempotency_key=str(uuid.uuid4()),
        )
        return decode(NewJoinToken, answer)

    def list_join_tokens(self) -> AsyncPaginated[JoinToken]:
        """Lists the join tokens that have not ended, newest first, without their secrets."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listJoinTokens")

        return AsyncPaginated(read_page, lambda data: decode(JoinToken, data))

    async def revoke_join_token(self, token_id: str) -> None:
        """Revokes a join token. Workers that have joined with it stay."""
        await self._transport.run("revokeJoinToken", params={"token_id": token_id})
