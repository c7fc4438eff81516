"""The answers about ports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .._model import Model


@dataclass(kw_only=True, repr=False)
class PortState(Model):
    """A port in a list."""

    port: int
    public: bool
    listening: bool


@dataclass(kw_only=True, repr=False)
class Port(Model):
    """A port with its addresses and a token."""

    confidential_fields = ("token",)

    runtime_id: str
    port: int
    public: bool
    listening: bool
    url: str
    path_url: str
    token: str
    expires_at: datetime
