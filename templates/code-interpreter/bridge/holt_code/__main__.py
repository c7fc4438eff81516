"""Starts the bridge: `python -m holt_code [--socket FD | --port PORT] [--warm LANGUAGE]...`"""

import argparse
import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from .bound import FILE, BoundEnvironment
from .contexts import Contexts
from .errors import KernelNotStarted, Refused
from .languages import Languages, kernel_directories
from .limits import BACKLOG, PORT
from .memory import ContextMemory
from .server import make_app


def main() -> None:
    """Runs the bridge until SIGTERM. Exits with 1 if a kernel to warm does not start."""
    parser = argparse.ArgumentParser(prog="holt_code")
    parser.add_argument("--port", type=int, default=PORT, help="the port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--socket", type=int, help="the descriptor of a socket that listens already")
    parser.add_argument("--kernels", type=Path, default=Path("/opt/code-interpreter/kernels"))
    parser.add_argument("--warm", action="append", default=[], help="a language whose kernel starts at once")
    parser.add_argument("--environment", type=Path, default=FILE, help="the file with the runtime's variables")
    parser.add_argument("--restarted", action="store_true", help="the bridge before was killed: no kernel has to start")
    options = parser.parse_args()
    try:
        asyncio.run(_serve(options))
    except (KernelNotStarted, Refused, OSError) as error:
        sys.exit(f"holt_code: {error}")


async def _serve(options: argparse.Namespace) -> None:
    if options.socket is None:
        listening = socket.create_server(("127.0.0.1", options.port), backlog=BACKLOG)
    else:
        listening = socket.socket(fileno=options.socket)
    port = listening.getsockname()[1]
    prefix = f"holt-code-{port}-"
    temporary = Path(tempfile.gettempdir())
    _end_orphans(temporary, prefix)
    ready = False
    with tempfile.TemporaryDirectory(prefix=prefix) as directory:
        memory = ContextMemory(temporary / f"holt-code-{port}.json")
        contexts = Contexts(
            Languages(kernel_directories(options.kernels)),
            Path(directory),
            bound=BoundEnvironment(options.environment),
            memory=memory,
        )
        contexts.remember()
        # A handler is cancelled when its client leaves, which ends a reader and no run.
        runner = web.AppRunner(make_app(contexts, lambda: ready), access_log=None, handler_cancellation=True)
        await runner.setup()
        site = web.SockSite(runner, listening, shutdown_timeout=1)
        await site.start()
        try:
            warming = (contexts.warm(language) for language in options.warm)
            await asyncio.gather(*warming, return_exceptions=options.restarted)
            ready = True
            print(f"listening on 127.0.0.1:{port}", flush=True)
            await _terminated()
        finally:
            await runner.cleanup()
            await contexts.close()
            memory.forget()


async def _terminated() -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    await ended.wait()


def _end_orphans(directory: Path, prefix: str) -> None:
    """
    Kills the kernels that a killed bridge of the same port left, with their programs. Their
    arguments name its files, and each leads a process group.
    """
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError, ValueError):
            if f"{directory}/{prefix}".encode() in entry.read_bytes():
                pid = int(entry.parent.name)
                os.kill(pid, signal.SIGKILL)
                os.killpg(pid, signal.SIGKILL)
    for left in directory.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)


if __name__ == "__main__":
    main()
