"""The answers about events and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Union

from .._model import Model


@dataclass(kw_only=True, repr=False)
class KeyActor(Model):
    """An API key that acted."""

    type: Literal["key"]
    key_id: str


@dataclass(kw_only=True, repr=False)
class ServiceActor(Model):
    """The service itself, which acted."""

    type: Literal["service"]


Actor = Union[KeyActor, ServiceActor]
"""The actor of an event."""


@dataclass(kw_only=True, repr=False)
class EventSubject(Model):
    """The thing that an event is about."""

    kind: str
    id: str


@dataclass(kw_only=True, repr=False)
class Event(Model):
    """An event."""

    type: str
    cursor: int
    event_id: str
    at: datetime
    subject: EventSubject
    data: dict[str, Any]
    actor: Actor


@dataclass(kw_only=True, repr=False)
class DroppedEvents(Model):
    """Events that were removed before they could be read."""

    type: Literal["dropped"]
    cursor: int
    dropped_items: int


@dataclass(kw_only=True, repr=False)
class EventsEnd(Model):
    """The end of the events of a runtime."""

    type: Literal["end"]
    cursor: int


EventItem = Union[Event, DroppedEvents, EventsEnd]
"""An item of a stream of events."""


@dataclass(kw_only=True, repr=False)
class EventPage(Model):
    """A page of events."""

    data: list[Event]
    next_cursor: str | None
    last_cursor: int


@dataclass(kw_only=True, repr=False)
class KeyRef(Model):
    """A key, by id and name."""

    key_id: str
    name: str


@dataclass(kw_only=True, repr=False)
class AuditEntry(Model):
    """An entry of the audit log."""

    audit_id: str
    kind: Literal["change", "inside", "auth_failed"]
    at: datetime
    project_id: str | None
    key: KeyRef | None
    address: str
    route: str | None
    params: dict[str, str]
    subject_id: str | None
    status: int | None
    request_id: str | None
    count: int
    last_at: datetime
