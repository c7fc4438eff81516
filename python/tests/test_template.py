"""The description of templates, and the files that a build reads, against the TypeScript client."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path, PurePosixPath
from random import Random, randrange
from typing import Any

import pytest
from holt import AsyncTemplate, Template
from holt._template.context_tree import WantedContext, first_fixed_part, read_context_tree
from holt._template.dockerfile import is_dockerfile_text, reads_context
from holt._template.ignore_file import IgnoreFile
from holt._tree.write_archive import archive_of
from holt.errors import InvalidRequest

_oracle = Path(__file__).parent / "template_oracle.mjs"


def ask_typescript(request: dict[str, Any]) -> Any:
    """Returns the answer of the TypeScript client."""
    ran = subprocess.run(["node", _oracle], input=json.dumps(request), capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def ignores(text: str, path: str) -> bool | None:
    """Returns whether a path is ignored, or None for rules that are refused."""
    try:
        return IgnoreFile(text, ".dockerignore").ignores(path)
    except InvalidRequest:
        return None


_starts = ["", "", "", "!", "! ", "/", " ", "#", "\ufeff"]
_parts = ["a", "b", "ab", "é", "*", "**", "?", "[a-c]", "[^a]", "a*", "**b", ".", "..", "a+(b)|c$", "\\*", "[\\]]"]
_ends = ["", "", "/", " \r", "//"]
_broken = ["a\\", "[a", "[]", "[b-a]", "[-a]", "!", "! "]
_names = ["a", "b", "ab", "aab", "é", "]", "*", "a+(b)|c$", "c"]


def drawn_case(random: Random) -> tuple[str, str]:
    """Returns the text of a .dockerignore, and a path."""

    def line() -> str:
        if random.random() < 0.03:
            return random.choice(_broken)
        parts = [random.choice(_parts) for _ in range(random.randint(1, 4))]
        return random.choice(_starts) + "/".join(parts) + random.choice(_ends)

    path = "/".join(random.choice(_names) for _ in range(random.randint(1, 4)))
    return "\n".join(line() for _ in range(random.randint(0, 4))), path


def test_rules_mean_what_they_mean_to_the_typescript_client() -> None:
    seed = randrange(2**32)
    random = Random(seed)
    cases = [drawn_case(random) for _ in range(3000)]
    expected = ask_typescript({"cases": cases})
    differing = [(case, one) for case, one in zip(cases, expected) if ignores(*case) is not one]
    assert differing == [], f"seed {seed}"
    assert {True, False, None} <= set(expected)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("node_modules", "node_modules/a/b", True),
        ("node_modules", "packages/node_modules", False),
        ("*/*.log", "d/e/a.log", False),
        ("**/*.log", "d/e/a.log", True),
        ("d/**", "d", False),
        ("*.md\n!README*.md\nREADME-secret.md", "README-secret.md", True),
        ("*\n!src/**\nsrc/*.o", "src/a.o", True),
        ("d\n!d/keep", "d/keep/x", False),
    ],
)
def test_the_last_rule_that_matches_decides(text: str, path: str, expected: bool) -> None:
    assert ignores(text, path) is expected


def test_a_wrong_rule_is_named_with_its_line() -> None:
    with pytest.raises(InvalidRequest, match=r"\.dockerignore, line 2: \[b is not a pattern"):
        IgnoreFile("a\n[b", ".dockerignore")


def make_tree(root: Path) -> None:
    """Makes a tree with the kinds of entries that a context can have."""
    for path in ["src/a.py", "src/deep/b.py", "node_modules/x/y", "docs/a.md", "docs/deep/keep.md", "z"]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path * 1000)
    long = "long " * 30 + "é"
    (root / long).write_text("x" * 512)
    os.utime(root / long, ns=(1_000_000_000_123_456_789, 1_000_000_000_123_456_789))
    os.chmod(root / "z", 0o4755)
    os.utime(root / "z", (1_000_000_000, 1_000_000_000))
    os.utime(root / "docs", ns=(-1_500_000_000, -1_500_000_000))
    os.link(root / "src/a.py", root / "src/same")
    (root / "link").symlink_to("/outside/../é" * 20)
    (root / "empty").mkdir(mode=0o700)
    os.mkfifo(root / "pipe")


def members_of(tar: Path) -> list[dict[str, Any]]:
    """Returns the entries of an archive with everything that a reader sees of them."""
    with tarfile.open(tar) as opened:
        return [
            {
                **{name: getattr(one, name) for name in ("name", "type", "mode", "uid", "gid", "linkname", "size")},
                "mtime": one.pax_headers.get("mtime", str(int(one.mtime))).rstrip("0").rstrip("."),
                "content": file.read() if one.isreg() and (file := opened.extractfile(one)) else None,
            }
            for one in opened
        ]


@pytest.mark.parametrize(
    ("rules", "only"),
    [
        (None, None),
        ("node_modules\ndocs\n!docs/deep/keep.md\npipe\n", None),
        ("*\n!src\n", None),
        (None, ["src/*.py", "docs/deep", "nowhere"]),
        ("**/deep", ["."]),
    ],
)
def test_a_context_has_the_entries_that_the_typescript_client_sends(
    tmp_path: Path, rules: str | None, only: list[str] | None
) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    make_tree(root)
    if rules is not None:
        (root / ".dockerignore").write_text(rules)
    theirs, ours = tmp_path / "theirs.tar", tmp_path / "ours.tar"
    answer = ask_typescript({"root": str(root), "rules": rules, "only": only, "tar": str(theirs)})
    tree = read_context_tree(WantedContext(root, only=only))
    write_all(ours, archive_of(root, tree.entries, lambda entry: None))
    assert members_of(ours) == members_of(theirs)
    assert [vars(one) for one in tree.skipped] == answer["skipped"]
    is_sent_whole = only in (None, ["."]) and (rules is None or "deep" in rules.splitlines()[0])
    assert ("pipe" in [one.path for one in tree.skipped]) is is_sent_whole


def test_the_same_tree_is_the_same_archive(tmp_path: Path) -> None:
    make_tree(tmp_path)
    first, second = (
        b"".join(archive_of(tmp_path, read_context_tree(WantedContext(tmp_path)).entries, lambda entry: None))
        for _ in range(2)
    )
    assert first == second


def test_the_rules_of_a_dockerfile_precede_those_of_the_directory(tmp_path: Path) -> None:
    for path in ["a", "b", "build/prod.Dockerfile"]:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    (tmp_path / ".dockerignore").write_text("a")
    (tmp_path / "build/prod.Dockerfile.dockerignore").write_text("b\nbuild")
    tree = read_context_tree(WantedContext(tmp_path, tmp_path / "build/prod.Dockerfile"))
    assert [entry.path for entry in tree.entries] == ["", ".dockerignore", "a"]


def test_a_file_is_no_context(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        read_context_tree(WantedContext(tmp_path / "file"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("FROM python", True), ("# syntax=x", True), ("\nFROM x", True), ("Dockerfile", False), ("./FROM", False)],
)
def test_a_text_is_told_from_a_path(text: str, expected: bool) -> None:
    assert is_dockerfile_text(text) is expected
    assert is_dockerfile_text(Path(text.strip())) is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM a\nRUN b", False),
        ("FROM a\ncopy b c", True),
        ("FROM a\nRUN --mount=type=bind,target=/x ls", True),
        ("FROM a\nCO\\\nPY b c", True),
        ("FROM a\nRUN echo COPY b c", False),
    ],
)
def test_a_dockerfile_reads_its_context(text: str, expected: bool) -> None:
    assert reads_context(text) is expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("a/b/*.c", "a/b"), ("./a//b/", "a/b"), ("/a", "a"), (".", ""), ("a/../../b", "b"), ("a\\*b/c", "")],
)
def test_the_part_before_a_wildcard_is_fixed(pattern: str, expected: str) -> None:
    assert first_fixed_part(pattern) == expected


def test_every_word_is_in_the_body_of_the_build() -> None:
    template = (
        Template.from_image("python:3.12-slim")
        .name("web:v2")
        .run("pip install flask", "pip check")
        .copy(["app.py", PurePosixPath("lib")], "/srv/", chown="app", chmod="644")
        .env({"A": "1"}, B="2")
        .workdir("/srv")
        .user("app")
        .start_cmd("python app.py")
        .ready_cmd("curl -f localhost", timeout_secs=timedelta(seconds=30))
        .on_restore("date > /tmp/at")
        .disk("8GiB")
        .cpu(2)
        .memory(0.5)
        .network_policy(None)
        .build_arg("V", "1")
        .build_arg("W", "2")
        .build_secret("token", "hunter22")
        .registry_auth("u", "p")
        .timeout(timedelta(minutes=2))
        .no_cache()
        .runtime_env(PATH="/opt/bin:/bin")
        .runtime_env({"HOME": "/srv"})
    )
    body, context = template._request()
    assert body == {
        "name": "web",
        "tag": "v2",
        "from_image": "python:3.12-slim",
        "steps": [
            {"run": "pip install flask && pip check"},
            {"copy": {"source": ["app.py", "lib"], "destination": "/srv/", "chown": "app", "chmod": "644"}},
            {"env": {"A": "1", "B": "2"}},
            {"workdir": "/srv"},
            {"user": "app"},
        ],
        "env": {"PATH": "/opt/bin:/bin", "HOME": "/srv"},
        "start_cmd": "python app.py",
        "ready_cmd": "curl -f localhost",
        "ready_timeout_secs": 30,
        "on_restore": "date > /tmp/at",
        "timeout_secs": 120,
        "disk": "8GiB",
        "cpu": 2,
        "memory": 0.5,
        "network_policy": None,
        "build_args": {"V": "1", "W": "2"},
        "build_secrets": {"token": "hunter22"},
        "registry_auth": {"username": "u", "password": "p"},
        "no_cache": True,
    }
    assert context == WantedContext(Path.cwd(), only=["app.py", "lib"])
    assert "hunter22" not in repr(template)


def test_a_description_can_be_the_beginning_of_several() -> None:
    base = AsyncTemplate.from_template("base-small").run("one")
    left, right = base.run("two").build_arg("A", "1"), base.run("three")
    assert left._request()[0]["steps"] == [{"run": "one"}, {"run": "two"}]
    assert right._request()[0]["steps"] == [{"run": "one"}, {"run": "three"}]
    assert "build_args" not in right._request()[0]


def test_equal_descriptions_have_the_same_name_and_others_another() -> None:
    def name_of(template: Template) -> str:
        return template._request()[0]["name"]

    base = Template.from_image("python").env(A="1")
    same = Template.from_image("python").env(A="1").build_secret("token", "x").no_cache().tag("v2")
    assert name_of(base) == name_of(same)
    assert name_of(base) != name_of(base.run("true"))
    assert len(name_of(base)) < 64


def test_settings_beside_a_dockerfile_are_those_of_runtimes(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY app.py /\n")
    template = Template.from_dockerfile(tmp_path / "Dockerfile", target="last")
    body, context = template.env(A="1").runtime_env(B="2").env(C="3").user("app").name("web")._request()
    assert body == {
        "name": "web",
        "dockerfile": "FROM scratch\nCOPY app.py /\n",
        "target": "last",
        "env": {"A": "1", "B": "2", "C": "3"},
        "user": "app",
    }
    assert context == WantedContext(tmp_path, tmp_path / "Dockerfile")
    with pytest.raises(InvalidRequest) as caught:
        template.run("true")._request()
    assert "RUN and COPY" in caught.value.hint


def test_a_text_has_a_context_only_if_one_is_named_and_read(tmp_path: Path) -> None:
    assert Template.from_dockerfile("FROM a\nCOPY . /")._request()[1] is None
    assert Template.from_dockerfile("FROM a\nRUN b", context=tmp_path)._request()[1] is None
    assert Template.from_dockerfile("FROM a\nCOPY . /").context(tmp_path)._request()[1] == WantedContext(tmp_path)


def test_mistakes_are_errors_before_anything_is_sent() -> None:
    with pytest.raises(InvalidRequest, match="a:b:c is not a name"):
        Template.from_image("python").name("a:b:c")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Template.from_dockerfile("/nowhere/Dockerfile").build()
    with pytest.raises(InvalidRequest, match="no Dockerfile"):
        Template.from_image("python").check()


def write_all(path: Path, chunks: Iterable[bytes]) -> None:
    """Writes a file of chunks."""
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
