"""`holt.compat.subprocess`, beside Python's own module."""

from __future__ import annotations

import subprocess as own
from collections.abc import Iterator
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, cast

import pytest
from holt import Holt, HoltError, Runtime
from holt.compat import subprocess


@pytest.fixture(scope="module")
def inside() -> Iterator[Runtime]:
    """A runtime of the synchronous client."""
    with Holt() as holt, holt.runtimes.create() as made:
        yield made


SAME: list[tuple[Any, dict[str, Any]]] = [
    (["printf", "%s|", "a b", "$HOME"], {"capture_output": True}),
    ("echo out; echo err >&2; exit 3", {"shell": True, "capture_output": True, "text": True}),
    ("echo out; echo err >&2; echo out", {"shell": True, "stdout": own.PIPE, "stderr": own.STDOUT}),
    (["sh", "-c", "echo err >&2"], {"stdout": own.PIPE, "stderr": own.STDOUT, "text": True}),
    (["cat"], {"input": "grüße\n", "capture_output": True, "encoding": "utf-8"}),
    (["cat"], {"input": b"bytes", "stdout": own.PIPE, "stderr": own.DEVNULL}),
    (["cat"], {"stdin": own.DEVNULL, "capture_output": True}),
    ("kill -TERM $$", {"shell": True, "capture_output": True}),
    (["head", "-c", "3000000", "/dev/zero"], {"capture_output": True}),
    ("printf 'a\\r\\nb\\377'", {"shell": True, "capture_output": True, "text": True, "errors": "replace"}),
    (["pwd"], {"cwd": PurePosixPath("/tmp"), "capture_output": True, "universal_newlines": True}),
    ("true", {"stdout": own.PIPE}),
]


@pytest.mark.parametrize(("args", "options"), SAME, ids=[str(args) for args, _ in SAME])
def test_a_result_is_that_of_pythons_own_module(inside: Runtime, args: Any, options: dict[str, Any]) -> None:
    theirs = cast("own.CompletedProcess[Any]", own.run(args, **options, timeout=60))
    ours = subprocess.run(args, runtime=inside, **options, timeout=60)
    assert type(ours) is own.CompletedProcess
    assert vars(ours) == vars(theirs)


def test_failures_are_the_exceptions_of_pythons_own_module(inside: Runtime) -> None:
    with pytest.raises(own.CalledProcessError) as failed:
        subprocess.run("echo why; exit 7", runtime=inside, shell=True, capture_output=True, text=True, check=True)
    assert (failed.value.returncode, failed.value.stdout, failed.value.stderr) == (7, "why\n", "")
    with pytest.raises(own.TimeoutExpired) as late:
        limit = timedelta(seconds=1)
        subprocess.run("echo begun; sleep 60", runtime=inside, shell=True, capture_output=True, timeout=limit)
    assert (late.value.timeout, late.value.output) == (1, b"begun\n")
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        subprocess.run(["no-such-program"], runtime=inside)
    with pytest.raises(PermissionError):
        subprocess.run(["/etc/passwd"], runtime=inside)


def test_output_that_is_not_captured_is_printed(inside: Runtime, capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run("echo out; echo err >&2", runtime=inside, shell=True)
    assert (done.stdout, done.stderr) == (None, None)
    assert capsys.readouterr() == ("out\n", "err\n")


def test_extra_variables_and_the_user_are_those_of_the_runtime(inside: Runtime) -> None:
    done = subprocess.run(
        "echo $WORD $(id -u)", runtime=inside, shell=True, capture_output=True, text=True, extra_env={"WORD": "hi"}, user=0
    )
    assert done.stdout == "hi 0\n"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"env": {"A": "1"}}, "env"),
        ({"stdin": own.PIPE}, "stdin"),
        ({"stdout": 1}, "stdout"),
        ({"stderr": 2}, "stderr"),
        ({"preexec_fn": print}, "preexec_fn"),
        ({"close_fds": True}, "close_fds"),
        ({"input": b"\xff"}, "input"),
        ({"input": "x" * 1_100_000}, "input"),
    ],
)
def test_an_option_without_its_meaning_is_refused(inside: Runtime, options: dict[str, Any], named: str) -> None:
    with pytest.raises(NotImplementedError, match=named) as refused:
        subprocess.run(["true"], runtime=inside, **options)
    assert isinstance(refused.value, HoltError)
    assert (refused.value.code, refused.value.hint != "") == ("unsupported_option", True)
    with pytest.raises(NotImplementedError):
        subprocess.run(["echo", "a"], runtime=inside, shell=True)
