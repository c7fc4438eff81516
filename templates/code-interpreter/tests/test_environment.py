"""The variables of the runtime in kernels that are older than it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Bridge, start_bridge
from holt_code.environment import changing

READ = {
    "python": "import os, json; print(json.dumps([os.environ.get('HOLT_A'), os.environ.get('HOLT_B')]))",
    "javascript": "console.log(JSON.stringify([Deno.env.get('HOLT_A') ?? null, Deno.env.get('HOLT_B') ?? null]))",
    "bash": 'quote() { if [ -v "$1" ]; then python3 -c \'import json, sys; print(json.dumps(sys.argv[1]))\' "${!1}"; '
    "else echo null; fi; }; echo \"[$(quote HOLT_A), $(quote HOLT_B)]\"",
}


def write(file: Path, **variables: str) -> None:
    """Replaces the file as the guest does."""
    fresh = file.with_name("fresh")
    fresh.write_bytes(os.fsencode("".join(f"{name}={value}\0" for name, value in variables.items())))
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


@pytest.mark.parametrize("language", READ)
@pytest.mark.parametrize("value", ["😀 ü \\ud83d", "a\u2028b\x01\x7f\t'\"`\\", "\U0010ffff$HOME"])
def test_every_text_is_a_value(own: Bridge, file: Path, language: str, value: str) -> None:
    file.unlink(missing_ok=True)
    own.run(READ[language], language=language)
    write(file, HOLT_A=value, HOLT_B="ascii")
    assert json.loads(own.run(READ[language], language=language).text()) == [value, "ascii"]
    env = {"HOLT_B": value}
    assert json.loads(own.run(READ[language], language=language, env=env).text()) == [value, value]
    assert json.loads(own.run(READ[language], language=language).text()) == [value, "ascii"]


def test_half_of_a_surrogate_pair_is_no_value(own: Bridge) -> None:
    for path, name in (("/v1/runs", "env"), ("/execute", "env_vars")):
        status, answer = own.ask("POST", path, {"code": "1", name: {"A": "\ud83d"}})
        assert status == 400, answer


@pytest.mark.parametrize("value", ["", "plain", "it's \"a\" \\u0041\n", "😀", os.fsdecode(b"\xff\xf0")])
def test_r_gets_the_bytes_of_a_value(value: str) -> None:
    """R reads other escapes than JSON has, so its code has only numbers."""
    code = changing("r", {"HOLT_A": value, "HOLT_B": None})
    assert code is not None
    made, removed = code.split("; ")
    numbers = [bytes(map(int, filter(None, part.split(",")))) for part in re.findall(r"rawToChar\(as\.raw\(c\(([\d,]*)\)\)\)", made)]
    assert numbers == [os.fsencode(value), b"HOLT_A"]
    assert re.sub(r"[\d,]", "", removed) == "Sys.unsetenv(rawToChar(as.raw(c())))"


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
