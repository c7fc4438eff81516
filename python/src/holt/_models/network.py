"""The answers about network access."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Union

from .._model import Model


@dataclass(kw_only=True, repr=False)
class StoredPolicyRef(Model):
    """A stored policy."""

    type: Literal["stored"]
    policy_id: str
    name: str | None


@dataclass(kw_only=True, repr=False)
class InlinePolicyRef(Model):
    """A policy that belongs to one runtime."""

    type: Literal["inline"]


PolicyRef = Union[StoredPolicyRef, InlinePolicyRef]
"""The policy of a runtime."""


@dataclass(kw_only=True, repr=False)
class PolicyRule(Model):
    """A rule of a network policy."""

    host: str
    ports: list[int] | None = None
    all_ports: bool | None = None
    protocol: Literal["tls", "http", "tcp"] | None = None
    methods: list[str] | None = None
    paths: list[str] | None = None


@dataclass(kw_only=True, repr=False)
class RuleInspection(Model):
    """The part of the allowed traffic that the gateway sees."""

    rule: str
    host: str
    ports: list[int]
    inspection: Literal["none", "sni", "host", "terminated"]
    secrets: list[str]
    unseen: str
    other_ports: bool = False


@dataclass(kw_only=True, repr=False)
class PolicyContent(Model):
    """The rules of a policy, with their inspection."""

    allow: list[PolicyRule]
    include: list[str]
    allow_all_hosts: bool
    deny: list[str]
    inspection: list[RuleInspection]


@dataclass(kw_only=True, repr=False)
class PolicyBody(Model):
    """The rules of a network policy."""

    allow: list[PolicyRule] | None = None
    include: list[str] | None = None
    allow_all_hosts: bool | None = None
    deny: list[str] | None = None


@dataclass(kw_only=True, repr=False)
class Policy(Model):
    """A stored network policy."""

    policy_id: str
    name: str
    allow: list[PolicyRule]
    include: list[str]
    allow_all_hosts: bool
    deny: list[str]
    inspection: list[RuleInspection]
    revision: int
    etag: str = ""
    created_at: datetime
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class PresetHost(Model):
    """A host of a preset, with the reason."""

    host: str
    ports: list[int]
    why: str


@dataclass(kw_only=True, repr=False)
class PolicyPreset(Model):
    """A preset that a policy may include."""

    name: Literal["npm", "pypi", "github", "debian", "anthropic", "openai", "google"]
    hosts: list[PresetHost]


@dataclass(kw_only=True, repr=False)
class RuntimeSecret(Model):
    """A secret of a runtime."""

    name: str
    env_name: str
    inside: bool
    hosts: list[str]
    header: str | None
    available: bool


@dataclass(kw_only=True, repr=False)
class RuntimeNetwork(Model):
    """The network access of a runtime."""

    runtime_id: str
    network_policy: PolicyRef | None
    policy: PolicyContent | None
    secrets: list[RuntimeSecret]
    etag: str = ""
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class TestedNetwork(Model):
    """The decision on a connection."""

    allowed: bool
    rule: str
    inspection: Literal["none", "sni", "host", "terminated"] | None
    addresses: list[str]
    detail: str


@dataclass(kw_only=True, repr=False)
class ReportedProcess(Model):
    """The process that asked, as the runtime reports it."""

    pid: int
    name: str
    uid: int


@dataclass(kw_only=True, repr=False)
class NetworkDecision(Model):
    """An attempt to reach something, with the decision."""

    type: Literal["dns", "connect", "request", "close"]
    cursor: int
    at: datetime
    name: str | None
    address: str | None
    port: int | None
    allowed: bool
    rule: str
    method: str | None
    path: str | None
    bytes_sent: int | None
    bytes_received: int | None
    process: ReportedProcess | None
    secret: str | None


@dataclass(kw_only=True, repr=False)
class NetworkLogDropped(Model):
    """Decisions that were lost before the cursor."""

    type: Literal["dropped"]
    cursor: int
    dropped_items: int


@dataclass(kw_only=True, repr=False)
class NetworkLogEnd(Model):
    """The end of the log."""

    type: Literal["end"]
    cursor: int


NetworkLogItem = Union[NetworkDecision, NetworkLogDropped, NetworkLogEnd]
"""An item of a network log."""


@dataclass(kw_only=True, repr=False)
class PolicyRemark(Model):
    """A remark on a suggested policy."""

    host: str
    message: str


@dataclass(kw_only=True, repr=False)
class SuggestedPolicy(Model):
    """The policy that would allow denied attempts."""

    add: list[PolicyRule]
    policy: PolicyBody
    remarks: list[PolicyRemark]
    denied: int
