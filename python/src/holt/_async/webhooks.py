"""The webhooks, which receive events."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Literal

from .._model import decode
from .._models.webhook import NewWebhook, Webhook, WebhookDelivery
from .._options import Seconds, given, seconds
from .pages import AsyncPaginated
from .transport import AsyncTransport

_test_timeout_secs = 30.0
"""The service waits 15 seconds for a receiver."""


class AsyncWebhooks:
    """The webhooks.

    Their messages are signed as in Standard Webhooks; see `holt.WebhookVerifier`.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self, url: str, *, types: Sequence[str] | None = None, description: str | None = None
    ) -> NewWebhook:
        """Makes a webhook. Events from now on are sent. Only this answer contains its secret.

        Args:
            url: The address of the receiver.
            types: The types of events, or patterns such as `runtime.*`. Default: every type.
            description: A note of your own.
        """
        body = given(url=url, types=types, description=description)
        answer = await self._transport.call("createWebhook", json=body, idempotency_key=str(uuid.uuid4()))
        return decode(NewWebhook, answer)

    def list(self, *, limit: int | None = None) -> AsyncPaginated[Webhook]:
        """Lists webhooks, newest first, without their secrets."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listWebhooks", query={"limit": limit, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(Webhook, data))

    async def get(self, webhook_id: str) -> Webhook:
        """Gets a webhook."""
        return decode(Webhook, await self._transport.call("getWebhook", params={"webhook_id": webhook_id}))

    async def update(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        types: Sequence[str] | None = None,
        description: str | None = None,
        state: Literal["active", "disabled"] | None = None,
        if_match: str | None = None,
    ) -> Webhook:
        """Changes a webhook.

        A disabled one continues with `active` at the point where it stopped. `if_match` is the
        etag of the version to change: the change of another one fails with `PreconditionFailed`.
        """
        body = given(url=url, types=types, description=description, state=state)
        answer = await self._transport.call(
            "updateWebhook", params=_params(webhook_id), json=body, if_match=if_match
        )
        return decode(Webhook, answer)

    async def delete(self, webhook_id: str) -> None:
        """Deletes a webhook and the records of its deliveries."""
        await self._transport.run("deleteWebhook", params=_params(webhook_id))

    async def rotate_secret(self, webhook_id: str, *, overlap_secs: Seconds | None = None) -> NewWebhook:
        """Gives a webhook a new secret.

        Messages are signed with both for `overlap_secs`, default a day.
        """
        answer = await self._transport.call(
            "rotateWebhookSecret",
            params=_params(webhook_id),
            json=given(overlap_secs=None if overlap_secs is None else seconds(overlap_secs)),
            idempotency_key=str(uuid.uuid4()),
        )
        return decode(NewWebhook, answer)

    async def test(self, webhook_id: str) -> WebhookDelivery:
        """Sends a message of the type `webhook.test` once, and returns the outcome."""
        answer = await self._transport.call(
            "testWebhook", params=_params(webhook_id), timeout_secs=_test_timeout_secs
        )
        return decode(WebhookDelivery, answer)

    def deliveries(
        self, webhook_id: str, *, state: str | None = None, limit: int | None = None
    ) -> AsyncPaginated[WebhookDelivery]:
        """Lists deliveries, newest first."""
        query = {"state": state, "limit": limit}

        async def read_page(cursor: str | None) -> dict[str, Any]:
            fields = {**query, "cursor": cursor}
            return await self._transport.call("listDeliveries", params=_params(webhook_id), query=fields)

        return AsyncPaginated(read_page, lambda data: decode(WebhookDelivery, data))

    async def redeliver(self, webhook_id: str, delivery_id: str) -> WebhookDelivery:
        """Sends an event again, under the same `webhook-id`."""
        answer = await self._transport.call(
            "redeliver",
            params={**_params(webhook_id), "delivery_id": delivery_id},
            idempotency_key=str(uuid.uuid4()),
        )
        return decode(WebhookDelivery, answer)


def _params(webhook_id: str) -> dict[str, str]:
    return {"webhook_id": webhook_id}
