"""The stored network policies."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from .._bodies import PolicyRules
from .._model import decode
from .._models.network import Policy, PolicyPreset
from .._options import given
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncPolicies:
    """The stored network policies, by name."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        name: str,
        *,
        allow: PolicyRules | None = None,
        include: Sequence[str] | None = None,
        allow_all_hosts: bool | None = None,
        deny: Sequence[str] | None = None,
    ) -> Policy:
        """Stores a policy.

        Args:
            name: A name that is unique in the project.
            allow: The rules: `{"host": "api.example.com"}`, or `PolicyRule`, whose `ports`,
                `all_ports`, `methods` and `paths` say which connections. Default: none.
            include: Presets, such as `npm`. Default: none.
            allow_all_hosts: Needed for a rule on `*`.
            deny: Networks (CIDR) that no rule reaches, such as `203.0.113.0/24`. Default: none.
        """
        body = given(name=name, allow=allow, include=include, allow_all_hosts=allow_all_hosts, deny=deny)
        key = str(uuid.uuid4())
        return decode(Policy, await self._transport.call("createPolicy", json=body, idempotency_key=key))

    def list(self, *, limit: int | None = None) -> AsyncPaginated[Policy]:
        """Lists policies, newest first. `limit` is the number of items per page."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listPolicies", query={"limit": limit, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(Policy, data))

    async def get(self, policy: str) -> Policy:
        """Gets a policy by id or name."""
        return decode(Policy, await self._transport.call("getPolicy", params={"policy_id": policy}))

    async def replace(
        self,
        policy: str,
        *,
        allow: PolicyRules | None = None,
        include: Sequence[str] | None = None,
        allow_all_hosts: bool | None = None,
        deny: Sequence[str] | None = None,
        name: str | None = None,
        if_match: str | None = None,
    ) -> Policy:
        """Replaces a policy by id or name. Runtimes with this policy follow the new one at once.

        The options are those of `create`. `name` renames it. `if_match` is the etag of the version
        to replace: the replacement of another one fails with `PreconditionFailed`.
        """
        body = given(allow=allow, include=include, allow_all_hosts=allow_all_hosts, deny=deny, name=name)
        answer = await self._transport.call(
            "replacePolicy", params={"policy_id": policy}, json=body, if_match=if_match
        )
        return decode(Policy, answer)

    async def delete(self, policy: str) -> None:
        """Deletes a policy that no runtime uses."""
        await self._transport.run("deletePolicy", params={"policy_id": policy})

    async def presets(self) -> Sequence[PolicyPreset]:
        """Returns the presets that a policy may include, with their hosts."""
        answer = await self._transport.call("listPresets")
        return [decode(PolicyPreset, one) for one in answer["data"]]
