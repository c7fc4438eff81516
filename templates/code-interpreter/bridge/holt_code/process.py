"""The process of a kernel."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .limits import OOM_SCORE


@dataclass(frozen=True)
class Exit:
    """The end of a process. `code` is negative for a signal, as in `subprocess`."""

    code: int
    max_rss_kib: int

    @property
    def of_memory(self) -> bool:
        """
        True if the process was probably killed because the runtime was out of memory: by SIGKILL,
        with a quarter of the memory or more. No process inside is told the reason of its SIGKILL.
        """
        return self.code == -signal.SIGKILL and self.max_rss_kib * 4 >= _total_memory_kib()


class Process:
    """A process group of a kernel. `exited` is done when its leader has ended."""

    def __init__(self, argv: list[str], *, cwd: str, env: Mapping[str, str], log: Path):
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[Exit] = self._loop.create_future()
        with log.open("wb") as errors:
            self._popen = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        self.pid = self._popen.pid
        # A process may raise its own score. Without /proc the kernel is killed by its size alone.
        with suppress(OSError):
            Path(f"/proc/{self.pid}/oom_score_adj").write_text(str(OOM_SCORE))
        # A thread waits, because only wait4(2) reports the memory of a process that has ended.
        threading.Thread(target=self._wait, daemon=True).start()

    def interrupt(self) -> None:
        """Sends SIGINT to the kernel and the programs that it runs."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Sends SIGKILL to the kernel and the programs that it runs."""
        self._signal(signal.SIGKILL)

    def sweep(self) -> None:
        """Kills what is left of the group after the end of its leader."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if not self.exited.done():
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def _wait(self) -> None:
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._popen.returncode = code  # It was waited for here.
        with suppress(RuntimeError):  # The loop is closed when the bridge ends.
            self._loop.call_soon_threadsafe(self._end, Exit(code, usage.ru_maxrss))

    def _end(self, end: Exit) -> None:
        if not self.exited.done():
            self.exited.set_result(end)


def _total_memory_kib() -> int:
    """Returns the memory of the runtime in KiB. It is the limit of the cgroup if there is one."""
    total = os.sysconf("SC_PHYS_PAGES") * (os.sysconf("SC_PAGE_SIZE") // 1024)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(path).read_text()) // 1024)
        except (OSError, ValueError):
            continue  # There is no cgroup of this version, or no limit.
    return total
