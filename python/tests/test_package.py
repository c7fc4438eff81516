"""The package: types, public names, what an import costs, and installing it."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import hatch_build
import holt
import pytest
from holt._tree.local_tree import read_local_tree

root = Path(__file__).parent.parent

MOST_MODULES_OF_ITS_OWN = 60
MOST_MODULES = 300
"""Modules are counted in place of time, which a busy machine stretches. 250 take about 100 ms."""
MOST_MEMORY_MIB = 25


def test_types_are_strict() -> None:
    checker = [sys.executable, "-m", "pyright", "--project", str(root), "--pythonpath", sys.executable]
    done = subprocess.run(checker, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_is_there() -> None:
    assert (Path(holt.__file__).parent / "py.typed").exists()
    for name in holt.__all__:
        assert getattr(holt, name) is not None
    assert set(holt._homes) == set(holt.__all__) - {"__version__", "errors", "models"}
    with pytest.raises(AttributeError):
        holt.no_such_name
    with pytest.raises(ImportError):
        importlib.import_module("holt.__main__")


def test_every_type_of_a_public_signature_is_public() -> None:
    public = {*holt.__all__, *vars(importlib.import_module("holt.models")), *vars(holt.errors)}
    trees = [ast.parse(path.read_text("utf-8")) for path in (root / "src/holt").rglob("*.py") if path.parent.name != "_sync"]
    own = {name for tree in trees for node in tree.body for name in names_made_by(node)}
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef) and node.name in public]
    assert {"AsyncFiles", "AsyncHolt", "AsyncWebhooks"} <= {one.name for one in classes}
    used = {(name, f"{one.name}.{call}") for one in classes for call, name in types_of(one)}
    assert sorted({pair for pair in used if pair[0] in own and pair[0] not in public}) == []


def test_durations_and_moments_are_taken_as_python_has_them() -> None:
    for tree in (ast.parse(path.read_text("utf-8")) for path in (root / "src/holt/_async").glob("*.py")):
        for one in tree.body:
            if not isinstance(one, ast.ClassDef) or one.name not in holt.__all__:
                continue
            for call in public_functions(one):
                for argument in [*call.args.args, *call.args.kwonlyargs]:
                    wanted = {"since": "datetime", "until": "datetime", "expires_at": "datetime"}.get(
                        argument.arg, "Seconds" if argument.arg.endswith("_secs") else None
                    )
                    # The past that a diff is compared with is a snapshot, not a moment.
                    if (call.name, argument.arg) == ("diff", "since"):
                        wanted = "str"
                    if wanted is not None and argument.annotation is not None:
                        assert wanted in ast.unparse(argument.annotation), f"{one.name}.{call.name}: {argument.arg}"


def names_made_by(node: ast.stmt) -> list[str]:
    """Returns the names that a statement of a module defines."""
    if isinstance(node, ast.ClassDef):
        return [node.name]
    return [one.id for one in node.targets if isinstance(one, ast.Name)] if isinstance(node, ast.Assign) else []


CONSTRUCTED = ("AsyncHolt", "AsyncTemplate", "WebhookVerifier", "HoltError", "HoltConnectionError")
"""The classes that users construct. The package makes the objects of the others."""


def public_functions(one: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Returns the calls of a class that users make."""
    return [
        node
        for node in one.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (not node.name.startswith("_") or (node.name == "__init__" and one.name in CONSTRUCTED))
        and not any(isinstance(mark, ast.Name) and mark.id in ("classmethod", "staticmethod") for mark in node.decorator_list)
    ]


def types_of(one: ast.ClassDef) -> list[tuple[str, str]]:
    """Returns the names in the annotations of a class, each with the name of its call or field."""
    found: list[tuple[str, ast.expr | None]] = []
    for node in one.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            found.append((node.target.id, node.annotation))
    for call in public_functions(one):
        given = [call.args.vararg, call.args.kwarg, *call.args.posonlyargs, *call.args.args, *call.args.kwonlyargs]
        found.extend((call.name, argument.annotation) for argument in given if argument is not None)
        found.append((call.name, call.returns))
    return [
        (call, part.id)
        for call, note in found
        if note is not None
        for part in ast.walk(note)
        if isinstance(part, ast.Name) and not part.id.startswith("_")
    ]


def test_both_clients_have_the_same_calls() -> None:
    for name in holt.__all__:
        if not name.startswith("Async"):
            continue
        theirs, ours = getattr(holt, name), getattr(holt, name.removeprefix("Async"))
        assert public_calls(theirs) == public_calls(ours)


def test_every_call_has_a_docstring_and_options_by_keyword() -> None:
    for name in holt.__all__:
        one = getattr(holt, name)
        if not inspect.isclass(one) or issubclass(one, Exception) or "_async" not in one.__module__:
            continue
        for call, function in inspect.getmembers(one, inspect.isfunction):
            if call.startswith("_") or not function.__module__.startswith("holt._async"):
                continue
            assert function.__doc__, f"{name}.{call}"
            optional = [
                parameter.name
                for parameter in inspect.signature(function).parameters.values()
                if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is not parameter.empty
            ]
            assert len(optional) <= 1, f"{name}.{call}: {optional}"


def test_the_synchronous_client_is_that_of_the_source() -> None:
    for path in (root / "src/holt/_async").glob("*.py"):
        made = hatch_build.sync_source(path.read_text("utf-8"))
        assert (root / "src/holt/_sync" / path.name).read_text("utf-8") == made
        nodes = list(ast.walk(ast.parse(made)))
        assert not [node.id for node in nodes if isinstance(node, ast.Name) and node.id.startswith("Async")]
        assert not [node for node in nodes if isinstance(node, (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor))]


def test_the_page_of_the_package_has_no_link_into_the_repository() -> None:
    # PyPI shows the page by itself.
    text = (root / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)|^\[[^\]]+\]: (\S+)", text, re.M)
    assert [one for pair in links for one in pair if one and not one.startswith(("https://", "http://"))] == []


def test_every_imported_package_is_a_dependency() -> None:
    used = {
        name.partition(".")[0]
        for path in (root / "src/holt").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in imported_by(node)
    }
    listed = re.search(r"^dependencies = \[(.*?)^\]", (root / "pyproject.toml").read_text("utf-8"), re.M | re.S)
    assert listed is not None
    # Type checkers have a description of `typing_extensions`, and nothing imports it at run time.
    assert used - sys.stdlib_module_names - {"typing_extensions"} == set(re.findall(r'"(\w+)', listed[1]))


def imported_by(node: ast.AST) -> list[str]:
    """Returns the packages of others that a statement imports."""
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0 else []


def test_git_has_no_made_files() -> None:
    git = shutil.which("git")
    if git is None or not (root.parent / ".git").exists():
        pytest.skip("this is no clone")
    listed = subprocess.run([git, "-C", str(root), "ls-files", "src/holt/_sync"], capture_output=True, text=True)
    assert listed.stdout == ""


def test_an_import_is_small() -> None:
    measure = (
        "import resource, sys\n"
        "before = resource.getrusage(resource.RUSAGE_SELF)\n"
        "{}\n"
        "after = resource.getrusage(resource.RUSAGE_SELF)\n"
        "own = sum(name.startswith('holt') for name in sys.modules)\n"
        "print(len(sys.modules), after.ru_maxrss - before.ru_maxrss, own)\n"
    )
    modules, memory_kib, own = measured(measure.format("from holt import Holt, AsyncHolt, HoltError"))
    assert own <= MOST_MODULES_OF_ITS_OWN
    assert modules <= MOST_MODULES
    assert memory_kib / 1024 < MOST_MEMORY_MIB


WITHOUT_UNIX = """
import anyio.abc, anyio.to_thread, httpcore, httpx, os, signal, socket, sys, wsproto
for name in ("termios", "tty", "fcntl", "pwd", "grp", "resource", "pty"):
    sys.modules[name] = None
for name in [one for one in dir(signal) if one.startswith("SIG") and one not in WINDOWS_SIGNALS]:
    delattr(signal, name)
for module, names in ((os, UNIX_OF_OS), (socket, UNIX_OF_SOCKET)):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""
"""Takes from Python what it does not have on Windows.

The packages of others know their system before.
"""
WINDOWS_SIGNALS = ("SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN")
UNIX_OF_OS = (
    *("getuid", "geteuid", "getgid", "getegid", "mkfifo", "mknod", "chown", "lchown", "fork", "getpgid", "killpg"),
    *("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "fchmod", "fchown", "setsid", "sysconf", "getxattr"),
)
UNIX_OF_SOCKET = ("AF_UNIX", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
"""Windows has the last three since 2017 only."""


def test_a_python_without_the_parts_of_unix_imports_and_uses_the_client(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_text("text")
    names = f"WINDOWS_SIGNALS, UNIX_OF_OS, UNIX_OF_SOCKET = {WINDOWS_SIGNALS}, {UNIX_OF_OS}, {UNIX_OF_SOCKET}\n"
    use = (
        "import importlib, pkgutil, io, holt\n"
        "from pathlib import Path\n"
        "for one in pkgutil.walk_packages(holt.__path__, 'holt.'):\n"
        "    importlib.import_module(one.name)\n"
        "for name in holt.__all__:\n"
        "    getattr(holt, name)\n"
        "from holt._tree.local_tree import read_local_tree\n"
        "from holt._tree.write_archive import archive_of\n"
        "from holt._tree.unpack import unpack_here\n"
        "tree = read_local_tree(Path('tree'))\n"
        "archive = io.BytesIO(b''.join(archive_of(Path('tree'), tree.entries, lambda entry: None)))\n"
        "Path('made').mkdir()\n"
        "unpack_here(archive, Path('made'), lambda size: None)\n"
        "assert Path('made/file').read_text() == 'text'\n"
        "with holt.Holt() as client:\n"
        "    assert client.whoami().project\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", names + WITHOUT_UNIX + use], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_a_junction_of_windows_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "above").mkdir()
    (tmp_path / "file").write_text("text")
    lstat = os.lstat

    class Found:
        """The facts about a junction, as Windows has them."""

        def __init__(self, found: os.stat_result) -> None:
            self.st_mode, self.st_mtime_ns, self.st_reparse_tag = found.st_mode, found.st_mtime_ns, 0xA0000003

    def seen(place: Path) -> object:
        return Found(lstat(place)) if place.name == "above" else lstat(place)

    monkeypatch.setattr(os, "lstat", seen)
    tree = read_local_tree(tmp_path)
    assert [entry.path for entry in tree.entries] == ["", "file"]
    assert [(one.path, one.reason) for one in tree.skipped] == [("above", "it is a junction of Windows")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the wheel and the source archive, made from a copy without made files."""
    source = tmp_path_factory.mktemp("source") / "python"
    shutil.copytree(root, source, ignore=shutil.ignore_patterns("_sync", "__pycache__", "tests", ".*"))
    shutil.copy(root / ".gitignore", source)
    target = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_the_wheel_has_both_clients_and_no_tests(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert {"holt/_async/client.py", "holt/_sync/client.py", "holt/py.typed"} <= set(names)
    assert not [name for name in names if "tests" in name or "__pycache__" in name]
    assert f"Version: {holt.__version__}\n" in metadata
    assert "Name: holt-client\n" in metadata
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        assert any(name.endswith("/hatch_build.py") for name in archive.getnames())


@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_it_installs_into_an_empty_environment(built: Path, pattern: str, tmp_path: Path) -> None:
    """The dependencies are those of this environment, so that nothing is fetched again."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")}))
    installed = pip("--python", str(python), "install", "--no-deps", "--no-build-isolation", str(next(built.glob(pattern))))
    if pattern == "*.tar.gz" and installed.returncode != 0:
        # The builder of a source archive is a dependency, too.
        (packages / "host.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        installed = pip(
            "--python", str(python), "install", "--no-deps", "--no-build-isolation", str(next(built.glob(pattern)))
        )
    assert installed.returncode == 0, installed.stdout + installed.stderr
    (packages / "host.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    script = "import holt; print(holt.__file__, holt.Holt('http://127.0.0.1:1', 'k'), holt.AsyncHolt, holt.__version__)"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(packages))
    assert done.stdout.endswith(f"{holt.__version__}\n")


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a pip that exists, because the environments of tests have none."""
    base = getattr(sys, "_base_executable", sys.executable)
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [base, "-m", "pip", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def measured(script: str) -> tuple[int, int, int]:
    """Returns the modules of a program, the memory it took, and the modules of the package."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    modules, memory, own = done.stdout.split()
    return int(modules), int(memory), int(own)


def public_calls(one: type) -> set[str]:
    names = {name for name in dir(one) if not name.startswith("_")}
    return {"close" if name == "aclose" else name for name in names}
