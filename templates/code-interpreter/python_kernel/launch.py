"""
Starts the Python kernel: ipykernel in the user's environment, with what the bridge asks of it.

* A run has variables of its own, from the field `holt` of its request. After a restore, that field
  also brings a fresh seed and the variables of the runtime.
* Output waits for its reader, and few threads are between a request and its answer.
* Charts of matplotlib also come as data.
"""

import os
import sys
import threading
from typing import Any

# Nothing here is debugged by the protocol, and debugpy takes a second to load.
sys.modules["debugpy"] = None  # type: ignore[assignment]

import zmq
from holt_charts import register
from holt_publishing import Output, Publisher, Requests
from ipykernel import kernelapp
from ipykernel.ipkernel import IPythonKernel
from traitlets.config import Config

del sys.modules["debugpy"]
# The directory of this file must not be where imports of the user's code look.
del sys.path[0]

_WAITING_MESSAGES = 16

kernelapp.IOPubThread = Publisher  # The application makes it.


class NoShellThread:
    """
    Stands in for the thread that reads requests for subshells, which nobody makes here. It would
    stand between each request and the main thread, and between each reply and its socket.
    """

    def __init__(self) -> None:
        self.parent_thread = threading.current_thread()

    def __bool__(self) -> bool:
        return False


class Kernel(IPythonKernel):
    """The kernel, with settings for single runs."""

    _supports_kernel_subshells = False

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


class App(kernelapp.IPKernelApp):
    """The application, whose main thread reads requests, and whose output socket waits at its limit."""

    def init_control(self, context):  # type: ignore[no-untyped-def]
        super().init_control(context)
        made = getattr(self, "shell_channel_thread", None)
        if made is not None:
            made.io_loop.close()
            self.shell_channel_thread = NoShellThread()

    def init_kernel(self):  # type: ignore[no-untyped-def]
        super().init_kernel()
        made = self.kernel.shell_stream
        made.io_loop.remove_handler(made.socket)
        self.kernel.shell_stream = Requests(made.socket, made.io_loop)

    def init_iopub(self, context):  # type: ignore[no-untyped-def]
        # A limit holds for connections if it was there before the bind. This is the one way to
        # have it there.
        context.sockopts[zmq.SNDHWM] = _WAITING_MESSAGES
        super().init_iopub(context)
        del context.sockopts[zmq.SNDHWM]
        self.iopub_thread.socket.setsockopt(zmq.XPUB_NODROP, 1)


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
    config.Session.check_pid = False  # A forked process sends by this one: see Publisher.
    return config


def main() -> None:
    """Runs the kernel. Arguments are those of ipykernel."""
    app = App.instance(config=settings())
    app.initialize()
    register(app.shell)
    app.start()


if __name__ == "__main__":
    main()
