"""The answers about keys, projects and quotas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .._model import Model


@dataclass(kw_only=True, repr=False)
class Quotas(Model):
    """The quotas of a project. None is no limit."""

    runtimes: int | None
    paused_runtimes: int | None
    cpu: float | None
    memory_mib: int | None
    disk_mib: int | None
    snapshot_bytes: int | None
    template_bytes: int | None
    builds: int | None
    requests_per_sec: float | None
    request_burst: int | None


@dataclass(kw_only=True, repr=False)
class QuotaUse(Model):
    """The use of the quotas."""

    runtimes: int
    paused_runtimes: int
    cpu: float
    memory_mib: int
    disk_mib: int
    snapshot_bytes: int
    template_bytes: int
    builds: int


@dataclass(kw_only=True, repr=False)
class Key(Model):
    """An API key, without its secret."""

    key_id: str
    project_id: str
    name: str
    prefix: str
    scopes: list[str]
    expires_at: datetime | None
    created_at: datetime
    last_used_at: datetime | None
    rotated_at: datetime | None
    previous_until: datetime | None


@dataclass(kw_only=True, repr=False)
class NewKey(Key):
    """An API key with its secret, which is shown once."""

    confidential_fields = ("key",)

    key: str


@dataclass(kw_only=True, repr=False)
class Project(Model):
    """A project."""

    project_id: str
    name: str
    quotas: Quotas
    use: QuotaUse
    created_at: datetime
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class ProjectRef(Model):
    """A project, by id and name."""

    project_id: str
    name: str


@dataclass(kw_only=True, repr=False)
class Identity(Model):
    """The key of this client, and its project."""

    key: Key
    project: ProjectRef
    quotas: Quotas
    use: QuotaUse
