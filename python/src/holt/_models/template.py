"""The answers about templates and builds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Union

from .._model import Model
from .common import StateReason


BuildStatus = Literal[
    "queued", "pulling", "building", "exporting", "snapshotting", "ready", "failed", "cancelled"
]
"""The states of a build. The last three are final."""


@dataclass(kw_only=True, repr=False)
class BuildProgress(Model):
    """The progress of a system template."""

    phase: str
    done: float
    total: float


@dataclass(kw_only=True, repr=False)
class IgnoredInstruction(Model):
    """"""

    instruction: str
    line: int | None
    reason: str


@dataclass(kw_only=True, repr=False)
class TemplateData(Model):
    """A template, as the service describes it."""

    template_id: str
    name: str
    tag: str
    kind: Literal["system", "agent", "custom"]
    state: Literal["building", "ready", "failed", "unbuilt"]
    state_reason: StateReason | None
    progress: BuildProgress | None
    source: str
    image_digest: str | None
    cpu: float
    memory_mib: int
    disk_mib: int
    size_bytes: int | None
    env: dict[str, str]
    user: str
    workdir: str
    facts: dict[str, str]
    start_cmd: str | None
    ready_cmd: str | None
    on_restore: str | None
    starts: Literal["restored", "boot"] | None
    ignored: list[IgnoredInstruction]
    ports: list[str]
    labels: dict[str, str]
    build_id: str | None
    has_checkpoint: bool
    created_at: datetime
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class BuildFailure(Model):
    """The reason for the failure of a build."""

    code: str
    step: int | None
    message: str
    hint: str | None
    details: dict[str, Any]


@dataclass(kw_only=True, repr=False)
class BuildStep(Model):
    """A step of a build, with its state."""

    step: int
    text: str
    stage: str | None
    line: int | None
    state: Literal["waiting", "running", "done", "cached", "failed", "skipped"]
    duration_ms: int | None


@dataclass(kw_only=True, repr=False)
class BuildData(Model):
    """A build, as the service describes it."""

    build_id: str
    template_id: str
    name: str
    tag: str
    status: BuildStatus
    reason: BuildFailure | None
    warnings: list[str]
    ignored: list[IgnoredInstruction]
    steps: list[BuildStep]
    image_digest: str | None
    size_bytes: int | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None


@dataclass(kw_only=True, repr=False)
class BuildStarted(Model):
    """A build that was accepted."""

    build_id: str
    template_id: str
    name: str
    tag: str
    status: BuildStatus


@dataclass(kw_only=True, repr=False)
class BuildRequest(Model):
    """The request of a build, as far as the service keeps it. It has no secret values."""

    request: dict[str, Any] | None
    build_secrets: list[str]
    registry_user: str | None


@dataclass(kw_only=True, repr=False)
class BuildLogLine(Model):
    """A line of the log of a build."""

    type: Literal["log"]
    cursor: int
    at: datetime
    level: Literal["debug", "info", "warn", "error"]
    step: int | None
    message: str

    def __str__(self) -> str:
        """Returns the text of the line."""
        return self.message


@dataclass(kw_only=True, repr=False)
class BuildLogGap(Model):
    """Lines that are no longer kept."""

    type: Literal["gap"]
    cursor: int
    lost: int


@dataclass(kw_only=True, repr=False)
class BuildLogEnd(Model):
    """The end of the log."""

    type: Literal["end"]
    cursor: int
    status: BuildStatus


BuildLogItem = Union[BuildLogLine, BuildLogGap, BuildLogEnd]
"""An item of the log of a build."""


@dataclass(kw_only=True, repr=False)
class BuildContext(Model):
    """An uploaded build context."""

    context_id: str
    sha256: str
    size_bytes: int
    entries: int
    expires_at: datetime


@dataclass(kw_only=True, repr=False)
class CheckedLine(Model):
    """The verdict on one instruction of a Dockerfile."""

    line: int
    end_line: int
    instruction: str
    text: str
    verdict: Literal["supported", "ignored", "refused"]
    reason: str | None
    fix: str | None


@dataclass(kw_only=True, repr=False)
class DockerfileCheck(Model):
    """The verdict on a Dockerfile."""

    ok: bool
    lines: list[CheckedLine]
    warnings: list[str]
    images: list[str]
    templates: list[str]
