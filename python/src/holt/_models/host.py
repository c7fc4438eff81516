"""The answers about the machines that run runtimes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .._model import Model
from .common import TemplateRef


@dataclass(kw_only=True, repr=False)
class HostCheck(Model):
    """A check of the machine, as `holt doctor` has it."""

    name: str
    status: Literal["ok", "warn", "fix"]
    message: str
    fix: str | None


@dataclass(kw_only=True, repr=False)
class HostPool(Model):
    """The runtimes of one template and class that wait for a create."""

    template: TemplateRef
    isolation: Literal["gvisor", "container"]
    ready: int
    making: int
    wanted: int
    hits: int
    misses: int
    oldest_at: datetime | None


@dataclass(kw_only=True, repr=False)
class HostCapacity(Model):
    """The resources of a host: what it has, what is promised, and what is left."""

    cpus: int
    memory_mib: int
    memory_available_mib: int | None
    memory_reserved_mib: int
    memory_promised_mib: int
    memory_used_mib: int
    memory_overcommit: float
    disk_mib: int
    disk_free_mib: int
    disk_reserved_mib: int
    runtimes: dict[str, int]


@dataclass(kw_only=True, repr=False)
class HostIsolation(Model):
    """A class of isolation on a host: its program, or why it is missing."""

    available: bool
    runner: str | None
    can_checkpoint: bool
    reason: str | None
    fix: str | None


@dataclass(kw_only=True, repr=False)
class HostBlocker(Model):
    """A reason why a host cannot be upgraded or removed without a loss."""

    blocks: Literal["upgrade", "removal"]
    code: Literal["builds", "silent", "running", "paused", "snapshots", "only_ready_host"]
    message: str


@dataclass(kw_only=True, repr=False)
class HostInFleet(Model):
    """The place of a host in its fleet."""

    state: Literal["joining", "ready", "cordoned", "draining", "lost", "gone"]
    wanted: Literal["ready", "cordoned", "draining", "gone"]
    silent_secs: float | None
    class_id: str | None
    runtimes: int
    address: str
    protocol_min: int
    protocol_max: int
    clock_difference_secs: float | None
    duties: list[str]
    blockers: list[HostBlocker]


@dataclass(kw_only=True, repr=False)
class Host(Model):
    """A machine that runs runtimes, with the service on it."""

    host_id: str
    name: str
    status: Literal["ready", "not_ready"]
    reasons: list[str]
    version: str
    engine: str | None
    node: str
    kernel: str
    arch: str
    started_at: datetime
    isolation: dict[str, HostIsolation]
    capacity: HostCapacity | None
    pool_min: int
    pool_max: int
    pools: list[HostPool]
    checks: list[HostCheck]
    fleet: HostInFleet | None
    checked_at: datetime | None


@dataclass(kw_only=True, repr=False)
class HostDrain(Model):
    """The runtimes of a host that is emptied, and their future."""

    host_id: str
    drains: bool
    moving: int
    ending: int
    paused: int
    problems: list[str]


@dataclass(kw_only=True, repr=False)
class JoinToken(Model):
    """A token with which workers join a fleet, without its secret."""

    token_id: str
    created_at: datetime
    expires_at: datetime
    once: bool
    uses: int


@dataclass(kw_only=True, repr=False)
class NewJoinToken(JoinToken):
    """A join token with its text, which is shown once."""

    confidential_fields = ("token",)

    token: str
