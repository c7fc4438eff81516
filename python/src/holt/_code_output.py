"""The output of a run of code, as a notebook shows it at the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ._callbacks import tell
from ._models.code import (
    CodeCleared,
    CodeDisplay,
    CodeDropped,
    CodeEnd,
    CodeError,
    CodeItem,
    CodeOutput,
    CodeRaised,
    CodeResult,
    CodeStart,
    CodeText,
    TruncatedCode,
)
from ._output import Listener, StreamText, result_output_bytes

ResultListener = Callable[[CodeOutput], object]
"""A callback for results as they arrive."""

_result_bytes = 8 * 1024 * 1024
"""The default number of bytes of all results, as JSON."""


class CollectedCode:
    """The output of a run, up to the limits of a result. Everything goes to the listeners."""

    def __init__(
        self,
        *,
        on_stdout: Listener | None = None,
        on_stderr: Listener | None = None,
        on_result: ResultListener | None = None,
        max_output_bytes: int | None = None,
        max_result_bytes: int | None = None,
    ) -> None:
        limit = result_output_bytes if max_output_bytes is None else max_output_bytes
        self._streams = {"stdout": StreamText(on_stdout, limit), "stderr": StreamText(on_stderr, limit)}
        self._results = _Results(_result_bytes if max_result_bytes is None else max_result_bytes)
        self._on_result = on_result
        self._start: CodeStart | None = None
        self._error: CodeError | None = None
        self._is_lossy = False
        self.result: CodeResult | None = None
        """The result, once the end has come."""

    def take(self, item: CodeItem) -> None:
        """Takes an item of the stream."""
        if isinstance(item, CodeStart):
            self._start = item
        elif isinstance(item, CodeText):
            self._results.output_came()
            self._streams[item.type].add(item.text.encode("utf-8", "replace"))
        elif isinstance(item, CodeDisplay):
            self._results.show(item)
            if self._on_result is not None:
                tell(self._on_result, _output_of(item, item.data))
        elif isinstance(item, CodeCleared):
            self._results.clear(item.wait)
        elif isinstance(item, CodeRaised):
            self._error = CodeError(name=item.name, value=item.value, traceback=item.traceback)
        elif isinstance(item, CodeDropped):
            self._is_lossy = True
        elif isinstance(item, CodeEnd) and self._start is not None:
            self.result = self._result_of(self._start, item)

    def _result_of(self, start: CodeStart, end: CodeEnd) -> CodeResult:
        missing = self._is_lossy or end.truncated
        stdout, stderr = self._streams["stdout"], self._streams["stderr"]
        return CodeResult(
            run_id=start.run_id,
            context_id=start.context_id,
            status=end.status,
            execution_count=end.execution_count,
            duration_ms=end.duration_ms,
            state_lost=end.state_lost,
            stdout=stdout.end(),
            stderr=stderr.end(),
            results=self._results.outputs(),
            error=self._error,
            truncated=TruncatedCode(
                stdout=missing or stdout.truncated,
                stderr=missing or stderr.truncated,
                results=missing or self._results.truncated,
            ),
        )


class _Results:
    """The results of a run, as far as they fit. Updates and clears are applied."""

    def __init__(self, max_bytes: int) -> None:
        self.truncated = False
        self._max_bytes = max_bytes
        self._kept: list[tuple[str | None, CodeOutput, int]] = []
        self._is_cleared = False

    def outputs(self) -> list[CodeOutput]:
        return [output for _, output, _ in self._kept]

    def show(self, item: CodeDisplay) -> None:
        """Adds a value, or replaces the value of the display that it updates."""
        self.output_came()
        if item.type != "update_display":
            self._kept.append(self._fitting(item))
            return
        for at, (display_id, _, _) in enumerate(self._kept):
            if display_id is not None and display_id == item.display_id:
                self._kept[at] = (None, self._kept[at][1], 0)
                self._kept[at] = self._fitting(item)

    def clear(self, waits: bool) -> None:
        """Removes the results so far, now or when the next output comes."""
        self._is_cleared = waits
        if not waits:
            self._kept = []

    def output_came(self) -> None:
        """Notes output, before which a cleared result goes."""
        if self._is_cleared:
            self.clear(False)

    def _fitting(self, item: CodeDisplay) -> tuple[str | None, CodeOutput, int]:
        """Returns a value without the forms that do not fit. The smallest forms are kept first."""
        room = self._max_bytes - sum(size for _, _, size in self._kept)
        used = 0
        data: dict[str, Any] = {}
        for size, mime in sorted((_size({mime: form}), mime) for mime, form in item.data.items()):
            if used + size <= room:
                data[mime] = item.data[mime]
                used += size
            else:
                self.truncated = True
        return item.display_id, _output_of(item, data), used


def _output_of(item: CodeDisplay, data: dict[str, Any]) -> CodeOutput:
    return CodeOutput(data=data, metadata=item.metadata, main=item.main)


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
