"""The keys of the service."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from .._model import decode
from .._models.account import Key, NewKey
from .._options import Seconds, given, seconds
from .pages import AsyncPaginated
from .transport import AsyncTransport


class AsyncKeys:
    """The keys of the service. They need the scope `admin`, and `operator` for another project."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        name: str,
        *,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | str | None = None,
        project: str | None = None,
        format: Literal["holt", "e2b"] | None = None,
    ) -> NewKey:
        """Makes a key. Only this answer contains its secret.

        Args:
            name: The purpose of the key, in 1 to 100 characters.
            scopes: The permissions. Default: everything in runtimes, and reading of the rest.
            expires_at: The end of its validity. Default: never.
            project: Name or id of the project that it opens. Default: the project of this key.
            format: The form of the secret. Clients of E2B want `e2b`. Default: `holt`.
        """
        body = given(name=name, scopes=scopes, expires_at=expires_at, project=project, format=format)
        answer = await self._transport.call("createKey", json=body, idempotency_key=str(uuid.uuid4()))
        return decode(NewKey, answer)

    def list(self, *, project: str | None = None, limit: int | None = None) -> AsyncPaginated[Key]:
        """Lists keys, newest first, without their secrets."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call(
                "listKeys", query={"project": project, "limit": limit, "cursor": cursor}
            )

        return AsyncPaginated(read_page, lambda data: decode(Key, data))

    async def get(self, key_id: str) -> Key:
        """Gets a key by its id, without its secret."""
        return decode(Key, await self._transport.call("getKey", params={"key_id": key_id}))

    async def rotate(self, key_id: str, *, overlap_secs: Seconds | None = None) -> NewKey:
        """Gives a key a new secret, which only this answer contains.

        The old secret works for `overlap_secs` more, default an hour. 0 ends it at once.
        """
        answer = await self._transport.call(
            "rotateKey",
            params={"key_id": key_id},
            json=given(overlap_secs=None if overlap_secs is None else seconds(overlap_secs)),
            idempotency_key=str(uuid.uuid4()),
        )
        return decode(NewKey, answer)

    async def revoke(self, key_id: str) -> None:
        """Revokes a key."""
        await self._transport.run("revokeKey", params={"key_id": key_id})
