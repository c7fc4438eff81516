"""The variables of the runtime in kernels that are older than it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Bridge, start_bridge

READ = {
    "python": "import os, json; print(json.dumps([os.environ.get('HOLT_A'), os.environ.get('HOLT_B')]))",
    "javascript": "console.log(JSON.stringify([Deno.env.get('HOLT_A') ?? null, Deno.env.get('HOLT_B') ?? null]))",
    "bash": 'quote() { if [ -v "$1" ]; then python3 -c \'import json, sys; print(json.dumps(sys.argv[1]))\' "${!1}"; '
    "else echo null; fi; }; echo \"[$(quote HOLT_A), $(quote HOLT_B)]\"",
}


def write(file: Path, **variables: str) -> None:
    """Replaces the file as the guest does."""
    fresh = file.with_name("fresh")
    fresh.write_text("".join(f"{name}={value}\0" for name, value in variables.items()))
    os.rename(fresh, file)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("environment") / "environment"


@pytest.fixture(scope="module")
def own(file: Path) -> Iterator[Bridge]:
    with start_bridge("--warm", "python", "--environment", str(file)) as started:
        yield started


@pytest.mark.parametrize("language", READ)
def test_a_kernel_gets_the_variables_of_its_runtime(own: Bridge, file: Path, language: str) -> None:
    def read(**more: object) -> list[str | None]:
        return list(json.loads(own.run(READ[language], language=language, **more).text()))

    file.unlink(missing_ok=True)
    own.run(READ[language], language=language)
    write(file, HOLT_A="it's \"a\" $HOME\n=", HOLT_B="")
    assert read() == ["it's \"a\" $HOME\n=", ""]
    assert read(env={"HOLT_A": "of the run"}) == ["of the run", ""]
    write(file, HOLT_A="other", EMPTY="")
    assert read() == ["other", None]
    own.ask("POST", f"/v1/contexts/default-{language}/restart")
    assert read() == ["other", None]


def test_code_may_change_a_variable_of_the_runtime(own: Bridge, file: Path) -> None:
    write(file, HOLT_A="given")
    own.run("import os; os.environ['HOLT_A'] = 'mine'")
    assert own.run("os.environ['HOLT_A']").result == "'mine'"
    write(file, HOLT_A="given", HOLT_B="new")
    assert own.run("os.environ['HOLT_A'], os.environ['HOLT_B']").result == "('mine', 'new')"


def test_executions_of_e2b_have_the_variables_of_the_runtime(own: Bridge, file: Path) -> None:
    write(file, HOLT_A="of the sandbox")
    _, text = own.ask("POST", "/execute", {"code": "import os; os.environ['HOLT_A']"})
    assert json.loads(text.splitlines()[0])["text"] == "'of the sandbox'"


def test_a_broken_file_breaks_no_run(own: Bridge, file: Path) -> None:
    file.unlink(missing_ok=True)
    file.write_bytes(b"\xff\xfe=1\0=2\0no sign\0" + b"x" * 2**21)
    assert own.run("1").result == "1"
    file.unlink()
    file.mkdir()
    assert own.run("2").result == "2"
    file.rmdir()
