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
    from ._async.build import AsyncBuild
    from ._async.builds import AsyncBuilds
    from ._async.client import AsyncHolt
    from ._async.command import AsyncCommand
    from ._async.command_stream import AsyncCommandStream
    from ._async.commands import AsyncCommands
    from ._async.files import AsyncFiles
    from ._async.fork import AsyncFork
    from ._async.items import AsyncItems
    from ._async.network import AsyncNetwork
    from ._async.pages import AsyncPaginated
    from ._async.ports import AsyncPorts
    from ._async.runtime import AsyncRuntime
    from ._async.runtimes import AsyncRuntimes
    from ._async.session import AsyncShellSession
    from ._async.tcp import AsyncPortConnection
    from ._async.template import AsyncTemplate
    from ._async.terminal import AsyncOutputChunk, AsyncTerminal
    from ._models.command import CommandResult, TerminalSize
    from ._models.network import PolicyBody, PolicyRule
    from ._output import output_bytes
    from ._sync.build import Build
    from ._sync.builds import Builds
    from ._sync.client import Holt
    from ._sync.command import Command
    from ._sync.command_stream import CommandStream
    from ._sync.commands import Commands
    from ._sync.files import Files
    from ._sync.fork import Fork
    from ._sync.items import Items
    from ._sync.network import Network
    from ._sync.pages import Paginated
    from ._sync.ports import Ports
    from ._sync.runtime import Runtime
    from ._sync.runtimes import Runtimes
    from ._sync.session import ShellSession
    from ._sync.tcp import PortConnection
    from ._sync.template import Template
    from ._sync.terminal import OutputChunk, Terminal
    from ._webhook_verifier import InvalidSignature, WebhookVerifier
    from .errors import ApiError, BuildFailed, HoltConnectionError, HoltError

__all__ = [
    "ApiError",
    "AsyncBuild",
    "AsyncBuilds",
    "AsyncCommand",
    "AsyncCommandStream",
    "AsyncCommands",
    "AsyncFiles",
    "AsyncFork",
    "AsyncHolt",
    "AsyncItems",
    "AsyncNetwork",
    "AsyncOutputChunk",
    "AsyncPaginated",
    "AsyncPortConnection",
    "AsyncPorts",
    "AsyncRuntime",
    "AsyncRuntimes",
    "AsyncShellSession",
    "AsyncTemplate",
    "AsyncTerminal",
    "Build",
    "BuildFailed",
    "Builds",
    "Command",
    "CommandResult",
    "CommandStream",
    "Commands",
    "Files",
    "Fork",
    "Holt",
    "HoltConnectionError",
    "HoltError",
    "InvalidSignature",
    "Items",
    "Network",
    "OutputChunk",
    "Paginated",
    "PolicyBody",
    "PolicyRule",
    "PortConnection",
    "Ports",
    "Runtime",
    "Runtimes",
    "ShellSession",
    "Template",
    "Terminal",
    "TerminalSize",
    "WebhookVerifier",
    "__version__",
    "errors",
    "models",
    "output_bytes",
]

# An import of the package loads what is asked for: one of the two clients, and few of the answers.
_homes = {
    "ApiError": "errors",
    "AsyncBuild": "_async.build",
    "AsyncBuilds": "_async.builds",
    "AsyncCommand": "_async.command",
    "AsyncCommandStream": "_async.command_stream",
    "AsyncCommands": "_async.commands",
    "AsyncFiles": "_async.files",
    "AsyncFork": "_async.fork",
    "AsyncHolt": "_async.client",
    "AsyncItems": "_async.items",
    "AsyncNetwork": "_async.network",
    "AsyncOutputChunk": "_async.terminal",
    "AsyncPaginated": "_async.pages",
    "AsyncPortConnection": "_async.tcp",
    "AsyncPorts": "_async.ports",
    "AsyncRuntime": "_async.runtime",
    "AsyncRuntimes": "_async.runtimes",
    "AsyncShellSession": "_async.session",
    "AsyncTemplate": "_async.template",
    "AsyncTerminal": "_async.terminal",
    "Build": "_sync.build",
    "BuildFailed": "errors",
    "Builds": "_sync.builds",
    "Command": "_sync.command",
    "CommandResult": "_models.command",
    "CommandStream": "_sync.command_stream",
    "Commands": "_sync.commands",
    "Files": "_sync.files",
    "Fork": "_sync.fork",
    "Holt": "_sync.client",
    "HoltConnectionError": "errors",
    "HoltError": "errors",
    "InvalidSignature": "_webhook_verifier",
    "Items": "_sync.items",
    "Network": "_sync.network",
    "OutputChunk": "_sync.terminal",
    "Paginated": "_sync.pages",
    "PolicyBody": "_models.network",
    "PolicyRule": "_models.network",
    "PortConnection": "_sync.tcp",
    "Ports": "_sync.ports",
    "Runtime": "_sync.runtime",
    "Runtimes": "_sync.runtimes",
    "ShellSession": "_sync.session",
    "Template": "_sync.template",
    "Terminal": "_sync.terminal",
    "TerminalSize": "_models.command",
    "WebhookVerifier": "_webhook_verifier",
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
