"""The answers about code that runs with the variables of earlier code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Union

from .._model import Model

CodeStatus = Literal["ok", "error", "timed_out", "interrupted", "kernel_died", "out_of_memory"]
"""The ends of a run."""

_safe_types = ("text/plain", "image/png", "image/jpeg", "text/latex")
"""The forms that a notebook shows by itself. Code could put scripts into the others."""


@dataclass(kw_only=True, repr=False)
class CodeContext(Model):
    """A code context: a language, and the variables that its code has left."""

    context_id: str
    language: str
    cwd: str
    state: Literal["starting", "idle", "busy", "dead"]
    execution_count: int | None
    created_at: datetime


class _Value:
    """A value in several forms, which notebooks show."""

    data: dict[str, Any]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Returns the forms that cannot run scripts in the notebook.

        The others are in `data`: `IPython.display.HTML(result.data["text/html"])` shows HTML of
        code that you trust.
        """
        return {mime: self.data[mime] for mime in _safe_types if mime in self.data}


@dataclass(kw_only=True, repr=False)
class CodeOutput(_Value, Model):
    """A result of code: one value in several forms, by media type. Notebooks show it."""

    data: dict[str, Any]
    metadata: dict[str, Any]
    main: bool


@dataclass(kw_only=True, repr=False)
class CodeError(Model):
    """The error that ended code."""

    name: str
    value: str
    traceback: list[str]


@dataclass(kw_only=True, repr=False)
class TruncatedCode(Model):
    """True for each part of a result that has something missing."""

    stdout: bool
    stderr: bool
    results: bool


@dataclass(kw_only=True, repr=False)
class CodeResult(Model):
    """A run that has ended, with its output. Notebooks show it as a cell's own output."""

    run_id: str
    context_id: str
    status: CodeStatus
    execution_count: int | None
    duration_ms: int
    state_lost: bool
    stdout: str
    stderr: str
    results: list[CodeOutput]
    error: CodeError | None
    truncated: TruncatedCode

    def _ipython_display_(self) -> None:
        """Shows output, results and the error in a notebook."""
        import sys
        from importlib import import_module

        show: Any = import_module("IPython.display").display
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for result in self.results:
            show(result)
        if self.error is not None:
            lines = self.error.traceback or [f"{self.error.name}: {self.error.value}"]
            sys.stderr.write("\n".join(lines) + "\n")
        elif self.status != "ok":
            sys.stderr.write(f"The run ended with the status {self.status}.\n")


@dataclass(kw_only=True, repr=False)
class CodeStart(Model):
    """The first item: the run is accepted."""

    type: Literal["start"]
    cursor: int
    run_id: str
    context_id: str


@dataclass(kw_only=True, repr=False)
class CodeQueued(Model):
    """The run waits for earlier runs of its context."""

    type: Literal["queued"]
    cursor: int


@dataclass(kw_only=True, repr=False)
class CodeText(Model):
    """Output on one stream."""

    type: Literal["stdout", "stderr"]
    cursor: int
    text: str


@dataclass(kw_only=True, repr=False)
class CodeDisplay(_Value, Model):
    """A value that the code shows, or a new value for an earlier display. Notebooks show it."""

    type: Literal["result", "display", "update_display"]
    cursor: int
    data: dict[str, Any]
    metadata: dict[str, Any]
    main: bool
    display_id: str | None = None


@dataclass(kw_only=True, repr=False)
class CodeCleared(Model):
    """The code removes what it has displayed, now or when the next output comes."""

    type: Literal["clear_output"]
    cursor: int
    wait: bool


@dataclass(kw_only=True, repr=False)
class CodeRaised(Model):
    """The error that ends the code."""

    type: Literal["error"]
    cursor: int
    name: str
    value: str
    traceback: list[str]


@dataclass(kw_only=True, repr=False)
class CodeDropped(Model):
    """Items that were lost before the cursor."""

    type: Literal["dropped"]
    cursor: int
    dropped_bytes: int


@dataclass(kw_only=True, repr=False)
class CodeEnd(Model):
    """The last item: the run has ended."""

    type: Literal["end"]
    cursor: int
    status: CodeStatus
    execution_count: int | None
    duration_ms: int
    state_lost: bool
    truncated: bool


CodeItem = Union[
    CodeStart, CodeQueued, CodeText, CodeDisplay, CodeCleared, CodeRaised, CodeDropped, CodeEnd
]
"""An item of a run."""
