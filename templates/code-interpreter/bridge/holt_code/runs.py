"""All runs of the bridge, within limits of number, age and bytes."""

import asyncio
import secrets
from collections import OrderedDict

from .errors import Refused
from .limits import KEEP_RUN_SECS, MAX_KEPT_BYTES, MAX_KEPT_RUNS
from .run import Request, Run


class Runs:
    """Runs by id, the oldest first."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._size = 0

    def create(self, context_id: str, request: Request, run_id: str | None = None) -> Run:
        """Creates a run. Raises `Refused` if its id is known."""
        run_id = run_id or f"run-{secrets.token_hex(10)}"
        if run_id in self._runs:
            raise Refused(409, "run_exists", f"There is a run {run_id}. Read it with GET /v1/runs/{run_id}.")
        run = Run(run_id, context_id, request, self._resize)
        self._runs[run_id] = run
        self._forget_oldest()
        return run

    def get(self, run_id: str) -> Run:
        """Returns a run. Raises `Refused` if it is unknown or no longer kept."""
        run = self._runs.get(run_id)
        if run is None:
            raise Refused(404, "run_not_found", f"There is no run {run_id}, or it is no longer kept.")
        return run

    def keep_ended(self, run: Run) -> None:
        """Keeps an ended run for a while."""
        asyncio.get_running_loop().call_later(KEEP_RUN_SECS, self._forget, run)

    def _resize(self, delta: int) -> None:
        self._size += delta
        while self._size > MAX_KEPT_BYTES and self._shrink():
            pass

    def _shrink(self) -> bool:
        """Frees memory: ended runs first, then the oldest lines of the oldest run."""
        for run in self._runs.values():
            if run.ended:
                self._forget(run)
                return True
        return any(run.drop_oldest() for run in self._runs.values())

    def _forget_oldest(self) -> None:
        ended = [run for run in self._runs.values() if run.ended]
        for run in ended[: max(0, len(self._runs) - MAX_KEPT_RUNS)]:
            self._forget(run)

    def _forget(self, run: Run) -> None:
        if self._runs.get(run.run_id) is run:
            del self._runs[run.run_id]
            while run.drop_oldest():
                pass
