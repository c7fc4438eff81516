"""Starts the bridge: `python -m holt_code [--port PORT] [--kernels DIR] [--warm LANGUAGE]...`"""

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from .contexts import Contexts
from .errors import KernelNotStarted, Refused
from .languages import Languages, kernel_directories
from .limits import PORT
from .server import make_app


def main() -> None:
    """Runs the bridge until SIGTERM. Exits with 1 if a kernel to warm does not start."""
    parser = argparse.ArgumentParser(prog="holt_code")
    parser.add_argument("--port", type=int, default=PORT, help="the port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--kernels", type=Path, default=Path("/opt/code-interpreter/kernels"))
    parser.add_argument("--warm", action="append", default=[], help="a language whose kernel starts at once")
    options = parser.parse_args()
    try:
        asyncio.run(_serve(options.port, options.kernels, options.warm))
    except (KernelNotStarted, Refused, OSError) as error:
        sys.exit(f"holt_code: {error}")


async def _serve(port: int, kernels: Path, warm: list[str]) -> None:
    prefix = f"holt-code-{port}-"
    if port != 0:
        _end_orphans(Path(tempfile.gettempdir()), prefix)
    ready = False
    with tempfile.TemporaryDirectory(prefix=prefix) as directory:
        contexts = Contexts(Languages(kernel_directories(kernels)), Path(directory))
        # A handler is cancelled when its client leaves, which ends a reader and no run.
        runner = web.AppRunner(make_app(contexts, lambda: ready), access_log=None, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, shutdown_timeout=1)
        await site.start()
        try:
            await asyncio.gather(*(contexts.warm(language) for language in warm))
            ready = True
            print(f"listening on 127.0.0.1:{runner.addresses[0][1]}", flush=True)
            await _terminated()
        finally:
            await runner.cleanup()
            await contexts.close()


async def _terminated() -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    await ended.wait()


def _end_orphans(directory: Path, prefix: str) -> None:
    """Kills the kernels that a killed bridge of the same port left. Their arguments name its files."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError, ValueError):
            if f"{directory}/{prefix}".encode() in entry.read_bytes():
                os.kill(int(entry.parent.name), signal.SIGKILL)
    for left in directory.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)


if __name__ == "__main__":
    main()
