"""The answers about the use of resources."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .._model import Model
from .runtime import RuntimeState


@dataclass(kw_only=True, repr=False)
class CpuSample(Model):
    """The use of the processor."""

    used_usec: int
    rate: float | None


@dataclass(kw_only=True, repr=False)
class UsedBytes(Model):
    """Bytes in use."""

    used_bytes: int


@dataclass(kw_only=True, repr=False)
class NetworkBytes(Model):
    """Bytes over the network."""

    sent_bytes: int
    received_bytes: int


@dataclass(kw_only=True, repr=False)
class RuntimeSample(Model):
    """The use of resources at one moment."""

    at: datetime
    cpu: CpuSample
    memory: UsedBytes
    disk: UsedBytes
    processes: int | None
    network: NetworkBytes


@dataclass(kw_only=True, repr=False)
class RuntimeLimits(Model):
    """The limits of a runtime."""

    cpu: float
    memory_bytes: int
    disk_bytes: int


@dataclass(kw_only=True, repr=False)
class RuntimeMetrics(Model):
    """The use of resources of a runtime."""

    runtime_id: str
    state: RuntimeState
    limits: RuntimeLimits
    now: RuntimeSample | None
    step_secs: int
    samples: list[RuntimeSample]
