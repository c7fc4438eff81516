"""The network access of a runtime."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .._bodies import WantedPolicy
from .._model import decode, to_wire
from .._models.network import NetworkLogItem, RuntimeNetwork, SuggestedPolicy, TestedNetwork
from .._options import given
from .items import AsyncItems, resume_items
from .transport import AsyncTransport


class AsyncNetwork:
    """The network access of one runtime."""

    def __init__(self, transport: AsyncTransport, runtime_id: str) -> None:
        self._transport = transport
        self._params = {"runtime_id": runtime_id}

    async def get(self) -> RuntimeNetwork:
        """Returns the present policy of the runtime."""
        return decode(RuntimeNetwork, await self._transport.call("getNetwork", params=self._params))

    async def set(self, policy: WantedPolicy, *, if_match: str | None = None) -> RuntimeNetwork:
        """Replaces the policy: a stored one by name or id, one written out, or None for no network.

        When this returns, the policy is in force, and connections that it does not allow are
        closed. `if_match` is the etag of the policy to replace, as `get` has it: the replacement of
        another one fails with `PreconditionFailed`.
        """
        body = {"network_policy": to_wire(policy)}
        answer = await self._transport.call("setNetwork", params=self._params, json=body, if_match=if_match)
        return decode(RuntimeNetwork, answer)

    async def test(
        self, host: str, *, port: int | None = None, method: str | None = None, path: str | None = None
    ) -> TestedNetwork:
        """Returns the decision on a connection or a request, with the rule. Nothing is sent.

        Args:
            host: A host name or an IPv4 address.
            port: The port. Default: 443.
            method: The method of a request, in capitals. Default: only the connection is tested.
            path: The path of a request.
        """
        body = given(host=host, port=port, method=method, path=path)
        return decode(TestedNetwork, await self._transport.call("testNetwork", params=self._params, json=body))

    def log(
        self,
        *,
        cursor: int = 0,
        follow: bool = False,
        denied: bool = False,
        since: datetime | str | None = None,
    ) -> AsyncItems[NetworkLogItem]:
        """Yields the attempts of the runtime with the decisions.

        After a broken connection it reconnects and continues after the last item.

        Args:
            cursor: The cursor after which the items begin. Default: all kept items.
            follow: True to continue until the runtime has ended.
            denied: True to return only denied attempts.
            since: The time of the oldest decision.
        """

        async def open_after(after: int) -> Any:
            query = {"cursor": after, "follow": follow, "denied": denied, "since": since}
            return await self._transport.open_events("readNetworkLog", params=self._params, query=query)

        secs = self._transport.resume_timeout_secs
        return AsyncItems(resume_items(NetworkLogItem, open_after, cursor=cursor, resume_timeout_secs=secs))

    async def suggest(self) -> SuggestedPolicy:
        """Returns the policy that would allow the denied attempts. Review it before you set it."""
        return decode(SuggestedPolicy, await self._transport.call("suggestNetwork", params=self._params))
