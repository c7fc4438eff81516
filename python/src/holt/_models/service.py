"""The answers about the service itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .._model import Model


@dataclass(kw_only=True, repr=False)
class Health(Model):
    """The answer of a live service."""

    status: Literal["ok"]


@dataclass(kw_only=True, repr=False)
class IsolationState(Model):
    """The state of a class of isolation: whether it is available, and why not."""

    available: bool
    reason: str | None
    fix: str | None


@dataclass(kw_only=True, repr=False)
class IsolationFallback(Model):
    """Runtimes that were booted cold, because a checkpoint could not be restored."""

    isolation: str
    reason: str
    count: int


@dataclass(kw_only=True, repr=False)
class CheckpointRetakes(Model):
    """The checkpoints of built templates that the service takes again after an upgrade."""

    waiting: int
    taken: int
    failed: int
    unknown: int


@dataclass(kw_only=True, repr=False)
class Readiness(Model):
    """The readiness of the service: whether runtimes can be made, or why not."""

    status: Literal["ready", "not_ready"]
    version: str
    reasons: list[str]
    isolation: dict[str, IsolationState]
    fallbacks: list[IsolationFallback] | None = None
    retakes: CheckpointRetakes | None = None
