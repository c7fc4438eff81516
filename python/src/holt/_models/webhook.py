"""The answers about webhooks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .._model import Model
from .common import StateReason


@dataclass(kw_only=True, repr=False)
class Webhook(Model):
    """A webhook, without its secret."""

    webhook_id: str
    url: str
    types: list[str]
    description: str
    state: Literal["active", "disabled"]
    state_reason: StateReason | None
    cursor: int
    retrying: int
    failing_since: datetime | None
    previous_secret_until: datetime | None
    etag: str = ""
    created_at: datetime
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class NewWebhook(Webhook):
    """A webhook with its secret, which is shown once."""

    confidential_fields = ("secret",)

    secret: str


@dataclass(kw_only=True, repr=False)
class DeliveryAttempt(Model):
    """An attempt to deliver an event."""

    at: datetime
    status: int | None
    duration_ms: int
    error: str | None
    response: str


@dataclass(kw_only=True, repr=False)
class WebhookDelivery(Model):
    """The delivery of an event."""

    delivery_id: str
    webhook_id: str
    event_id: str
    event_cursor: int | None
    type: str
    state: Literal["retrying", "delivered", "failed"]
    redelivery_of: str | None
    attempts: list[DeliveryAttempt]
    next_attempt_at: datetime | None
    created_at: datetime
    ended_at: datetime | None
