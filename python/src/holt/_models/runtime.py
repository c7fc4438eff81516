"""The answers about runtimes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from .._model import Model
from .common import StateReason, TemplateRef
from .network import PolicyContent, PolicyRef


RuntimeState = Literal[
    "starting", "running", "pausing", "paused", "resuming", "terminating", "terminated", "failed"
]
"""The states of a runtime. `terminated` and `failed` are final."""


@dataclass(kw_only=True, repr=False)
class RuntimeFields(Model):
    """The fields of a runtime, except its ports."""

    runtime_id: str
    name: str | None
    state: RuntimeState
    state_reason: StateReason | None
    template: TemplateRef
    snapshot_id: str | None
    parent_id: str | None
    cloud: str
    region: str
    spread: str | None
    isolation: Literal["gvisor", "container"]
    cpu: float
    memory_mib: int
    disk_mib: int
    env: dict[str, str]
    metadata: dict[str, str]
    secrets: list[str]
    secrets_inside: bool
    network_policy: PolicyRef | None
    timeout_secs: int | None
    on_timeout: Literal["pause", "terminate"]
    idle_timeout_secs: int | None
    auto_resume: bool
    expires_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    paused_at: datetime | None
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class PublicPort(Model):
    """A port that is reachable without a token."""

    port: int
    public: Literal[True]


@dataclass(kw_only=True, repr=False)
class RuntimeData(RuntimeFields):
    """A runtime, as the service describes it."""

    ports: list[PublicPort]


@dataclass(kw_only=True, repr=False)
class QuotaAfter(Model):
    """A quota before and after a create."""

    quota: str
    limit: float
    used: float
    after: float


@dataclass(kw_only=True, repr=False)
class HostRoom(Model):
    """The room on the host."""

    memory_max_mib: int
    memory_free_mib: int
    disk_free_mib: int


@dataclass(kw_only=True, repr=False)
class DryRunProblem(Model):
    """A reason why a create would be refused."""

    code: str
    message: str
    hint: str
    details: dict[str, Any] | None = None


@dataclass(kw_only=True, repr=False)
class DryRun(Model):
    """The outcome that a create would have."""

    would_create: bool
    template: TemplateRef | None
    snapshot_id: str | None
    cloud: str
    region: str
    isolation: Literal["gvisor", "container"] | None
    cpu: float | None
    memory_mib: int | None
    disk_mib: int | None
    secrets: list[str]
    network_policy: PolicyRef | None
    policy: PolicyContent | None
    timeout_secs: int | None
    on_timeout: Literal["pause", "terminate"] | None
    idle_timeout_secs: int | None
    auto_resume: bool | None
    quotas: list[QuotaAfter]
    host: HostRoom
    problems: list[DryRunProblem]


@dataclass(kw_only=True, repr=False)
class ForkDryRun(DryRun):
    """The outcome that a fork would have."""

    count: int
    children: int
