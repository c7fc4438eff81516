"""The children of a fork."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .._io.async_parts import shielded
from .._model import decode
from .._models.runtime import RuntimeData
from ..errors import ApiError, Timeout, error_class

if TYPE_CHECKING:
    from .runtime import AsyncRuntime

_delete_secs = 60.0


@dataclass
class AsyncForkResult:
    """The outcome of one child: a runtime, or the error."""

    runtime: AsyncRuntime | None
    error: ApiError | None


class AsyncFork:
    """The children of a fork. As a context manager, those that run are deleted at the end."""

    def __init__(self, results: list[AsyncForkResult]) -> None:
        self.results = results
        """One result for each requested child."""

    @staticmethod
    def of_answer(answer: Any, make: Callable[[RuntimeData], AsyncRuntime]) -> AsyncFork:
        """Returns the children of the service's answer."""
        return AsyncFork([_result_of(one, make) for one in answer["data"]])

    @property
    def runtimes(self) -> list[AsyncRuntime]:
        """The children that run."""
        return [result.runtime for result in self.results if result.runtime is not None]

    @property
    def errors(self) -> list[ApiError]:
        """The errors of the other children."""
        return [result.error for result in self.results if result.error is not None]

    async def delete(self) -> None:
        """Deletes every child. The first failure is raised after all were tried."""
        failures: list[Exception] = []
        for runtime in self.runtimes:
            try:
                await runtime.delete()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    async def __aenter__(self) -> AsyncFork:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_deleted = False
        with shielded(_delete_secs):
            await self.delete()
            is_deleted = True
        if kind is None and not is_deleted:
            raise Timeout(f"The children of the fork were not deleted within {_delete_secs:.0f} s")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(runtimes={self.runtimes!r}, errors={self.errors!r})"


def _result_of(item: Any, make: Callable[[RuntimeData], AsyncRuntime]) -> AsyncForkResult:
    if item["runtime"] is not None:
        return AsyncForkResult(make(decode(RuntimeData, item["runtime"])), None)
    error = item["error"]
    return AsyncForkResult(
        None, error_class(error["code"], 500)(error["message"], hint=error["hint"], wire_code=error["code"])
    )
