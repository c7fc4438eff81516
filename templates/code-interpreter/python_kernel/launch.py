"""
Starts the Python kernel: ipykernel in the user's environment, with what the bridge asks of it.

* A run has variables of its own, from the field `holt` of its request. After a restore, that field
  also brings a fresh seed and the variables of the runtime.
* Output waits for its reader. A full queue of ZeroMQ would lose messages instead.
* Charts of matplotlib also come as data.
"""

import codecs
import fcntl
import os
import select
import sys
import termios
import threading
import time
from typing import Any

# The directory of this file must not be where imports look. Nothing here is debugged by the
# protocol, and debugpy takes a second to load.
del sys.path[0]
sys.modules["debugpy"] = None  # type: ignore[assignment]

import zmq
from ipykernel.iostream import OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from traitlets.config import Config

del sys.modules["debugpy"]

_FLUSH_CHARS = 256 * 1024
_PIPE_BYTES = 64 * 1024
_DRAIN_SECS = 0.2
_WAITING_MESSAGES = 16


class Output(OutStream):
    """
    stdout or stderr of the kernel. A write waits when much of its text was not sent. Output that
    programs write to the descriptor is complete when a run ends.
    """

    flush_timeout = None  # A slow reader is no fault. An interrupt ends the wait.
    _unsent = 0

    def __init__(self, *args: Any, **kwargs: Any):
        self._piping = threading.Lock()
        super().__init__(*args, **kwargs)

    def drain(self) -> None:
        """Waits until the output that programs have written is read, for a short time."""
        until = time.monotonic() + _DRAIN_SECS
        while self._fid is not None and time.monotonic() < until:
            with self._piping:
                if not _waiting_bytes(self._fid):
                    return
            time.sleep(_DRAIN_SECS / 200)

    def _watch_pipe_fd(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        while self._should_watch:
            select.select([self._fid], [], [])
            with self._piping:
                data = os.read(self._fid, _PIPE_BYTES)
                if not data:
                    return
                if self._should_watch:
                    self.write(decoder.decode(data))

    def write(self, string: str) -> int:
        if len(string) <= _FLUSH_CHARS:
            self._write(string)
        else:
            for at in range(0, len(string), _FLUSH_CHARS):
                self._write(string[at : at + _FLUSH_CHARS])
        return len(string)

    def _write(self, string: str) -> None:
        super().write(string)
        self._unsent += len(string)
        if self._unsent >= _FLUSH_CHARS:
            self.flush()

    def flush(self) -> None:
        """Sends what was written. A flush of nothing takes no turn of the sending thread."""
        if self._unsent:
            self._unsent = 0
            super().flush()


class Kernel(IPythonKernel):
    """The kernel, with settings for single runs."""

    async def do_execute(self, *args: Any, **kwargs: Any) -> Any:
        reply = await super().do_execute(*args, **kwargs)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, Output):
                stream.drain()
        return reply

    async def execute_request(self, stream, ident, parent):  # type: ignore[no-untyped-def]
        settings = parent["content"].get("holt") or {}
        if settings.get("reseed"):
            reseed()
        for name, value in (settings.get("environ") or {}).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        env = settings.get("env") or {}
        before = {name: os.environ.get(name) for name in env}
        os.environ.update(env)
        try:
            await super().execute_request(stream, ident, parent)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


class App(IPKernelApp):
    """The application, whose output socket waits at its limit."""

    def init_iopub(self, context):  # type: ignore[no-untyped-def]
        # A limit holds for connections if it was there before the bind. This is the one way to
        # have it there.
        context.sockopts[zmq.SNDHWM] = _WAITING_MESSAGES
        super().init_iopub(context)
        del context.sockopts[zmq.SNDHWM]
        self.iopub_thread.socket.setsockopt(zmq.XPUB_NODROP, 1)


def _waiting_bytes(descriptor: int) -> int:
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def reseed() -> None:
    """Gives the generators of loaded modules a seed of the operating system."""
    import random

    random.seed()
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.seed()
    ssl = sys.modules.get("ssl")
    if ssl is not None:
        ssl.RAND_add(os.urandom(48), 48.0)


def settings() -> Config:
    config = Config()
    config.IPKernelApp.kernel_class = "__main__.Kernel"
    config.IPKernelApp.outstream_class = "__main__.Output"
    config.Kernel._execute_sleep = 0  # It waits for nothing that is needed here.
    config.HistoryManager.enabled = False  # The bridge keeps the history. A file of it is not needed.
    config.InteractiveShell.colors = "nocolor"
    return config


def main() -> None:
    """Runs the kernel. Arguments are those of ipykernel."""
    app = App.instance(config=settings())
    app.initialize()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from holt_charts import register

    sys.path.pop(0)
    register(app.shell)
    app.start()


if __name__ == "__main__":
    main()
