"""The client of Holt: runs untrusted code for AI agents in runtimes of a self-hosted service.

`Holt` is the synchronous client, and `AsyncHolt` the asynchronous one with the same calls:

    with Holt() as holt, holt.runtimes.create() as runtime:
        print(runtime.commands.run("echo hi").stdout)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import errors, models
    from ._async.audit import AsyncAudit
    from ._async.build import AsyncBuild
    from ._async.builds import AsyncBuilds
    from ._async.client import AsyncHolt
    from ._async.code import AsyncCode, AsyncCodeContexts
    from ._async.code_stream import AsyncCodeStream
    from ._async.command import AsyncCommand
    from ._async.command_stream import AsyncCommandStream
    from ._async.commands import AsyncCommands
    from ._async.content import AsyncFileContent
    from ._async.events import AsyncEvents
    from ._async.files import AsyncFiles
    from ._async.fork import AsyncFork
    from ._async.git import AsyncGit
    from ._async.hosts import AsyncHosts
    from ._async.items import AsyncItems
    from ._async.keys import AsyncKeys
    from ._async.network import AsyncNetwork
    from ._async.pages import AsyncPage, AsyncPaginated
    from ._async.policies import AsyncPolicies
    from ._async.ports import AsyncPorts
    from ._async.projects import AsyncProjects
    from ._async.runtime import AsyncRuntime
    from ._async.runtimes import AsyncRuntimes
    from ._async.secrets import AsyncProviders, AsyncSecrets
    from ._async.session import AsyncShellSession
    from ._async.snapshots import AsyncSnapshots
    from ._async.tcp import AsyncPortConnection
    from ._async.template import AsyncTemplate
    from ._async.templates import AsyncTemplates
    from ._async.terminal import AsyncOutputChunk, AsyncTerminal
    from ._async.transport import AsyncContent
    from ._async.webhooks import AsyncWebhooks
    from ._bodies import (
        CodeOptions,
        CommandLine,
        CommandOptions,
        Isolation,
        NamedRuntime,
        NewFork,
        NewRuntime,
        OnCancel,
        OnCodeCancel,
        OnTimeout,
        PolicyRules,
        PtySize,
        Rlimit,
        Signal,
        Size,
        WantedPolicy,
    )
    from ._code_output import ResultListener
    from ._models.code import CodeResult
    from ._models.command import CommandResult, TerminalSize
    from ._models.network import PolicyBody, PolicyRule
    from ._options import FileMode, RuntimePath, Seconds, UNSET, Unset
    from ._output import Listener, output_bytes
    from ._retry import Retry
    from ._sync.audit import Audit
    from ._sync.build import Build
    from ._sync.builds import Builds
    from ._sync.client import Holt
    from ._sync.code import Code, CodeContexts
    from ._sync.code_stream import CodeStream
    from ._sync.command import Command
    from ._sync.command_stream import CommandStream
    from ._sync.commands import Commands
    from ._sync.content import FileContent, Progress
    from ._sync.events import Events
    from ._sync.files import ArchiveFormat, Files, Glob
    from ._git.results import GitAuthor, GitChange, GitDiff, GitHead, GitStatus, GitStatusEntry
    from ._sync.fork import Fork
    from ._sync.git import Git
    from ._sync.hosts import Hosts
    from ._sync.items import Items
    from ._sync.keys import Keys
    from ._sync.network import Network
    from ._sync.pages import Page, Paginated
    from ._sync.policies import Policies
    from ._sync.ports import Ports
    from ._sync.projects import Projects, Quota
    from ._sync.runtime import Runtime
    from ._sync.runtimes import Runtimes
    from ._sync.secrets import Providers, Secrets
    from ._sync.session import ShellSession
    from ._sync.snapshots import Snapshots
    from ._sync.tcp import PortConnection
    from ._sync.template import Template
    from ._sync.templates import Templates
    from ._sync.terminal import OutputChunk, Terminal, TerminalEvent
    from ._sync.transport import Content
    from ._sync.wait_for_build import OnLog, OnStatus
    from ._sync.webhooks import Webhooks
    from ._template.dockerfile import LocalPath
    from ._template.uploaded_context import UploadedContext
    from ._tree.local_tree import EntryFilter, Skipped
    from ._tree.transfer import OnTransfer, SyncResult, TransferProgress, TransferResult
    from ._webhook_verifier import InvalidSignature, WebhookVerifier
    from .errors import ApiError, BuildFailed, GitFailed, GitFailureReason, HoltConnectionError, HoltError

__all__ = [
    "ApiError",
    "ArchiveFormat",
    "AsyncAudit",
    "AsyncBuild",
    "AsyncBuilds",
    "AsyncCode",
    "AsyncCodeContexts",
    "AsyncCodeStream",
    "AsyncCommand",
    "AsyncCommandStream",
    "AsyncCommands",
    "AsyncContent",
    "AsyncEvents",
    "AsyncFileContent",
    "AsyncFiles",
    "AsyncFork",
    "AsyncGit",
    "AsyncHolt",
    "AsyncHosts",
    "AsyncItems",
    "AsyncKeys",
    "AsyncNetwork",
    "AsyncOutputChunk",
    "AsyncPage",
    "AsyncPaginated",
    "AsyncPolicies",
    "AsyncPortConnection",
    "AsyncPorts",
    "AsyncProjects",
    "AsyncProviders",
    "AsyncRuntime",
    "AsyncRuntimes",
    "AsyncSecrets",
    "AsyncShellSession",
    "AsyncSnapshots",
    "AsyncTemplate",
    "AsyncTemplates",
    "AsyncTerminal",
    "AsyncWebhooks",
    "Audit",
    "Build",
    "BuildFailed",
    "Builds",
    "Code",
    "CodeContexts",
    "CodeOptions",
    "CodeResult",
    "CodeStream",
    "Command",
    "CommandLine",
    "CommandOptions",
    "CommandResult",
    "CommandStream",
    "Commands",
    "Content",
    "EntryFilter",
    "Events",
    "FileContent",
    "FileMode",
    "Files",
    "Fork",
    "Git",
    "GitAuthor",
    "GitChange",
    "GitDiff",
    "GitFailed",
    "GitFailureReason",
    "GitHead",
    "GitStatus",
    "GitStatusEntry",
    "Glob",
    "Holt",
    "HoltConnectionError",
    "HoltError",
    "Hosts",
    "InvalidSignature",
    "Isolation",
    "Items",
    "Keys",
    "Listener",
    "LocalPath",
    "NamedRuntime",
    "Network",
    "NewFork",
    "NewRuntime",
    "OnCancel",
    "OnCodeCancel",
    "OnLog",
    "OnStatus",
    "OnTimeout",
    "OnTransfer",
    "OutputChunk",
    "Page",
    "Paginated",
    "Policies",
    "PolicyBody",
    "PolicyRule",
    "PolicyRules",
    "PortConnection",
    "Ports",
    "Progress",
    "Projects",
    "Providers",
    "PtySize",
    "Quota",
    "ResultListener",
    "Retry",
    "Rlimit",
    "Runtime",
    "RuntimePath",
    "Runtimes",
    "Seconds",
    "Secrets",
    "ShellSession",
    "Signal",
    "Size",
    "Skipped",
    "Snapshots",
    "SyncResult",
    "Template",
    "Templates",
    "Terminal",
    "TerminalEvent",
    "TerminalSize",
    "TransferProgress",
    "TransferResult",
    "UNSET",
    "Unset",
    "UploadedContext",
    "WantedPolicy",
    "WebhookVerifier",
    "Webhooks",
    "__version__",
    "errors",
    "models",
    "output_bytes",
]

# An import of the package loads what is asked for: one of the two clients, and few of the answers.
_homes = {
    "ApiError": "errors",
    "ArchiveFormat": "_sync.files",
    "AsyncAudit": "_async.audit",
    "AsyncBuild": "_async.build",
    "AsyncBuilds": "_async.builds",
    "AsyncCode": "_async.code",
    "AsyncCodeContexts": "_async.code",
    "AsyncCodeStream": "_async.code_stream",
    "AsyncCommand": "_async.command",
    "AsyncCommandStream": "_async.command_stream",
    "AsyncCommands": "_async.commands",
    "AsyncContent": "_async.transport",
    "AsyncEvents": "_async.events",
    "AsyncFileContent": "_async.content",
    "AsyncFiles": "_async.files",
    "AsyncFork": "_async.fork",
    "AsyncGit": "_async.git",
    "AsyncHolt": "_async.client",
    "AsyncHosts": "_async.hosts",
    "AsyncItems": "_async.items",
    "AsyncKeys": "_async.keys",
    "AsyncNetwork": "_async.network",
    "AsyncOutputChunk": "_async.terminal",
    "AsyncPage": "_async.pages",
    "AsyncPaginated": "_async.pages",
    "AsyncPolicies": "_async.policies",
    "AsyncPortConnection": "_async.tcp",
    "AsyncPorts": "_async.ports",
    "AsyncProjects": "_async.projects",
    "AsyncProviders": "_async.secrets",
    "AsyncRuntime": "_async.runtime",
    "AsyncRuntimes": "_async.runtimes",
    "AsyncSecrets": "_async.secrets",
    "AsyncShellSession": "_async.session",
    "AsyncSnapshots": "_async.snapshots",
    "AsyncTemplate": "_async.template",
    "AsyncTemplates": "_async.templates",
    "AsyncTerminal": "_async.terminal",
    "AsyncWebhooks": "_async.webhooks",
    "Audit": "_sync.audit",
    "Build": "_sync.build",
    "BuildFailed": "errors",
    "Builds": "_sync.builds",
    "Code": "_sync.code",
    "CodeContexts": "_sync.code",
    "CodeOptions": "_bodies",
    "CodeResult": "_models.code",
    "CodeStream": "_sync.code_stream",
    "Command": "_sync.command",
    "CommandLine": "_bodies",
    "CommandOptions": "_bodies",
    "CommandResult": "_models.command",
    "CommandStream": "_sync.command_stream",
    "Commands": "_sync.commands",
    "Content": "_sync.transport",
    "EntryFilter": "_tree.local_tree",
    "Events": "_sync.events",
    "FileContent": "_sync.content",
    "FileMode": "_options",
    "Files": "_sync.files",
    "Fork": "_sync.fork",
    "Git": "_sync.git",
    "GitAuthor": "_git.results",
    "GitChange": "_git.results",
    "GitDiff": "_git.results",
    "GitFailed": "errors",
    "GitFailureReason": "errors",
    "GitHead": "_git.results",
    "GitStatus": "_git.results",
    "GitStatusEntry": "_git.results",
    "Glob": "_sync.files",
    "Holt": "_sync.client",
    "HoltConnectionError": "errors",
    "HoltError": "errors",
    "Hosts": "_sync.hosts",
    "InvalidSignature": "_webhook_verifier",
    "Isolation": "_bodies",
    "Items": "_sync.items",
    "Keys": "_sync.keys",
    "Listener": "_output",
    "LocalPath": "_template.dockerfile",
    "NamedRuntime": "_bodies",
    "Network": "_sync.network",
    "NewFork": "_bodies",
    "NewRuntime": "_bodies",
    "OnCancel": "_bodies",
    "OnCodeCancel": "_bodies",
    "OnLog": "_sync.wait_for_build",
    "OnStatus": "_sync.wait_for_build",
    "OnTimeout": "_bodies",
    "OnTransfer": "_tree.transfer",
    "OutputChunk": "_sync.terminal",
    "Page": "_sync.pages",
    "Paginated": "_sync.pages",
    "Policies": "_sync.policies",
    "PolicyBody": "_models.network",
    "PolicyRule": "_models.network",
    "PolicyRules": "_bodies",
    "PortConnection": "_sync.tcp",
    "Ports": "_sync.ports",
    "Progress": "_sync.content",
    "Projects": "_sync.projects",
    "Providers": "_sync.secrets",
    "PtySize": "_bodies",
    "Quota": "_sync.projects",
    "ResultListener": "_code_output",
    "Retry": "_retry",
    "Rlimit": "_bodies",
    "Runtime": "_sync.runtime",
    "RuntimePath": "_options",
    "Runtimes": "_sync.runtimes",
    "Seconds": "_options",
    "Secrets": "_sync.secrets",
    "ShellSession": "_sync.session",
    "Signal": "_bodies",
    "Size": "_bodies",
    "Skipped": "_tree.local_tree",
    "Snapshots": "_sync.snapshots",
    "SyncResult": "_tree.transfer",
    "Template": "_sync.template",
    "Templates": "_sync.templates",
    "Terminal": "_sync.terminal",
    "TerminalEvent": "_sync.terminal",
    "TerminalSize": "_models.command",
    "TransferProgress": "_tree.transfer",
    "TransferResult": "_tree.transfer",
    "UNSET": "_options",
    "Unset": "_options",
    "UploadedContext": "_template.uploaded_context",
    "WantedPolicy": "_bodies",
    "WebhookVerifier": "_webhook_verifier",
    "Webhooks": "_sync.webhooks",
    "output_bytes": "_output",
}


def __getattr__(name: str) -> Any:
    """Returns a public name, and loads its module at the first use."""
    if name in ("errors", "models"):
        return import_module(f".{name}", __name__)
    home = _homes.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
