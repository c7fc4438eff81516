"""The answers about snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .._model import Model
from .common import StateReason, TemplateRef


@dataclass(kw_only=True, repr=False)
class Snapshot(Model):
    """A snapshot of a runtime."""

    snapshot_id: str
    name: str | None
    kind: Literal["memory", "filesystem"]
    record_files: bool | None
    state: Literal["writing", "ready", "failed"]
    state_reason: StateReason | None
    runtime_id: str
    template: TemplateRef
    isolation: Literal["gvisor", "container"]
    cpu: float
    memory_mib: int
    disk_mib: int
    size_bytes: int | None
    created_at: datetime
