"""The answers about secrets and their providers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Union

from .._model import Model


@dataclass(kw_only=True, repr=False)
class ProviderRef(Model):
    """A provider, by id and name."""

    provider_id: str
    name: str


@dataclass(kw_only=True, repr=False)
class Secret(Model):
    """A secret, without its value."""

    secret_id: str
    name: str
    version: int
    provider: ProviderRef | None
    hosts: list[str]
    header: str | None
    format: str | None
    env: bool
    env_name: str
    etag: str = ""
    created_at: datetime
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class StaticSettings(Model):
    """One value for several secrets."""

    type: Literal["static"]


@dataclass(kw_only=True, repr=False)
class OAuth2Settings(Model):
    """Access tokens by client credentials."""

    type: Literal["oauth2"]
    token_url: str
    client_id: str
    scopes: list[str]
    audience: str | None
    authentication: Literal["basic", "body"]


@dataclass(kw_only=True, repr=False)
class WorkloadSettings(Model):
    """Tokens that the service signs."""

    type: Literal["workload"]
    audience: str
    ttl_secs: int
    algorithm: Literal["RS256", "ES256", "EdDSA"]


ProviderSettings = Union[StaticSettings, OAuth2Settings, WorkloadSettings]
"""The settings of a provider, by type."""


@dataclass(kw_only=True, repr=False)
class ProviderError(Model):
    """The last error of a provider."""

    message: str
    at: datetime


@dataclass(kw_only=True, repr=False)
class Provider(Model):
    """An identity provider, without its secrets."""

    provider_id: str
    name: str
    settings: ProviderSettings
    version: int
    last_error: ProviderError | None
    etag: str = ""
    created_at: datetime
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class KeyRotated(Model):
    """The outcome of a rotation of the key that encrypts secrets."""

    resealed: int
    rotated_at: datetime
