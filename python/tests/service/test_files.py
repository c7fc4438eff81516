"""Files: content, copies, trees, search, archives and watches."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import pytest
from holt import AsyncRuntime
from holt.errors import (
    AlreadyExists,
    Conflict,
    DigestMismatch,
    InvalidArchive,
    IsDirectory,
    PathNotFound,
    PreconditionFailed,
)
from holt.models import SearchEnd, SearchFound, WatchChange, WatchStart

pytestmark = pytest.mark.anyio


@pytest.fixture
async def place(runtime: AsyncRuntime, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """An empty directory inside the runtime."""
    path = f"/tmp/{abs(hash(request.node.nodeid)):x}"
    await runtime.files.make_directory(path)
    yield path
    await runtime.files.remove(path, recursive=True)


async def test_content_is_written_and_read(runtime: AsyncRuntime, place: str) -> None:
    written = await runtime.files.write(PurePosixPath(place) / "a/b.txt", "grüße", mode="0600")
    assert (written.size_bytes, written.mode) == (7, "0600")
    assert await runtime.files.read(f"{place}/a/b.txt") == "grüße".encode()
    assert await runtime.files.read_text(f"{place}/a/b.txt") == "grüße"
    assert await runtime.files.read(f"{place}/a/b.txt", start=2, end=4) == "ü".encode()


async def test_a_write_with_an_etag_replaces_only_that_version(runtime: AsyncRuntime, place: str) -> None:
    written = await runtime.files.write(f"{place}/f", "one")
    content, etag = await runtime.files.read_version(f"{place}/f")
    assert (content, etag) == (b"one", written.etag)
    second = await runtime.files.write(f"{place}/f", "two", if_match=etag)
    assert second.etag == (await runtime.files.stat(f"{place}/f")).etag
    with pytest.raises(PreconditionFailed):
        await runtime.files.write(f"{place}/f", "three", if_match=etag)
    with pytest.raises(PreconditionFailed):
        await runtime.files.write(f"{place}/none", "x", if_match="*")
    assert await runtime.files.read_text(f"{place}/f") == "two"


async def test_content_comes_from_a_local_file_and_from_an_iterable(
    runtime: AsyncRuntime, place: str, tmp_path: Path
) -> None:
    data = os.urandom(9 * 1024 * 1024)
    (tmp_path / "large").write_bytes(data)
    sent: list[int] = []
    await runtime.files.write(f"{place}/large", tmp_path / "large", on_progress=sent.append)
    assert sent[-1] == len(data)
    digest = hashlib.sha256(await runtime.files.read(f"{place}/large")).hexdigest()
    assert digest == hashlib.sha256(data).hexdigest()
    await runtime.files.write(f"{place}/iterated", chunks(b"ab", b"cd"))
    assert await runtime.files.read(f"{place}/iterated") == b"abcd"


async def test_a_write_that_must_not_replace_is_refused(runtime: AsyncRuntime, place: str) -> None:
    await runtime.files.write(f"{place}/a", b"1")
    with pytest.raises(AlreadyExists):
        await runtime.files.write(f"{place}/a", b"2", overwrite=False)
    with pytest.raises(DigestMismatch):
        await runtime.files.write(f"{place}/a", b"2", sha256="0" * 64)
    assert await runtime.files.read(f"{place}/a") == b"1"


async def test_a_missing_local_file_is_an_error_of_this_machine(
    runtime: AsyncRuntime, place: str, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        await runtime.files.write(f"{place}/a", tmp_path / "missing")


async def test_a_copy_arrives_at_exactly_its_destination(runtime: AsyncRuntime, place: str) -> None:
    await runtime.files.write(f"{place}/from/a", b"1")
    with pytest.raises(IsDirectory):
        await runtime.files.copy(f"{place}/from", f"{place}/to")
    copied = await runtime.files.copy(f"{place}/from", f"{place}/to", recursive=True)
    assert (copied.success, copied.source, copied.destination) == (True, f"{place}/from", f"{place}/to")
    assert copied.entry is not None
    assert copied.entry.type == "directory"
    with pytest.raises(AlreadyExists):
        await runtime.files.copy(f"{place}/from", f"{place}/to", recursive=True, overwrite=False)
    moved = await runtime.files.move(f"{place}/to/a", f"{place}/moved")
    assert moved.destination == f"{place}/moved"
    assert not await runtime.files.exists(f"{place}/to/a")


async def test_names_modes_owners_and_links_are_changed(runtime: AsyncRuntime, place: str) -> None:
    await runtime.files.write(f"{place}/a", b"1")
    assert (await runtime.files.chmod(f"{place}/a", "0640")).entry.permissions == "rw-r-----"
    assert (await runtime.files.chmod(f"{place}/a", 0o604)).entry.permissions == "rw----r--"
    assert (await runtime.files.write(f"{place}/b", b"", mode=0o644)).mode == "0644"
    await runtime.files.remove(f"{place}/b")
    assert (await runtime.files.chown(f"{place}/a", "0")).entry.uid == 0
    link = await runtime.files.symlink(f"{place}/link", "a")
    assert (link.type, link.symlink_target) == ("symlink", "a")
    names = [entry.name async for entry in runtime.files.list(place)]
    assert names == ["a", "link"]
    with pytest.raises(PathNotFound) as caught:
        await runtime.files.stat(f"{place}/missing")
    assert caught.value.http_status == 404


async def test_lines_are_found_and_replaced(runtime: AsyncRuntime, place: str) -> None:
    await runtime.files.write(f"{place}/one.py", "old = 1\nnew = 2\n")
    await runtime.files.write(f"{place}/two.txt", "old\n")
    found = await runtime.files.search(place, glob="*.py", content="old")
    assert [(match.path, match.line, match.text) for match in found.data] == [(f"{place}/one.py", 1, "old = 1")]
    streamed = [item async for item in runtime.files.search_stream(place, content={"pattern": "^o.d", "regex": True})]
    assert sum(isinstance(item, SearchFound) for item in streamed) == 2
    assert isinstance(streamed[-1], SearchEnd)
    replaced = await runtime.files.replace("old", "older", path=place, glob=["*.py"])
    assert replaced.total_count == 1
    assert await runtime.files.read_text(f"{place}/one.py") == "older = 1\nnew = 2\n"


async def test_an_exact_text_is_edited_as_often_as_expected(runtime: AsyncRuntime, place: str) -> None:
    path = f"{place}/code.py"
    await runtime.files.write(path, "a = $1\nb = $1\n")
    assert (await runtime.files.edit(path, "a = $1\nb", "c")).total_count == 1
    assert await runtime.files.read_text(path) == "c = $1\n"
    with pytest.raises(Conflict):
        await runtime.files.edit(path, "1", "2", expected_count=2)
    assert await runtime.files.read_text(path) == "c = $1\n"


async def test_a_tree_goes_there_and_back(runtime: AsyncRuntime, place: str, tmp_path: Path) -> None:
    here, back = tmp_path / "here", tmp_path / "back"
    (here / "sub" / "empty").mkdir(parents=True)
    (here / "sub" / "a.txt").write_text("1")
    (here / "sub" / "a.txt").chmod(0o640)
    (here / ("long" * 40)).write_bytes(b"x" * 1_000_000)
    os.link(here / "sub" / "a.txt", here / "same")
    (here / "link").symlink_to("sub/a.txt")
    os.utime(here / "sub" / "a.txt", ns=(0, 1_700_000_000_123_456_789))
    os.mkfifo(here / "fifo")
    reports: list[int] = []
    up = await runtime.files.upload(here, f"{place}/tree", on_progress=lambda progress: reports.append(progress.files))
    assert (up.files, up.directories, up.symlinks, reports) == (3, 3, 1, [1, 2, 3])
    assert [(one.path, one.reason) for one in up.skipped] == [("fifo", "it is a socket, a device or a FIFO")]
    with pytest.raises(AlreadyExists):
        await runtime.files.upload(here, f"{place}/tree")
    down = await runtime.files.download(f"{place}/tree", back)
    assert (down.files, down.directories, down.symlinks, down.bytes) == (3, 3, 1, 1_000_001)
    assert os.lstat(back / "sub" / "a.txt").st_ino == os.lstat(back / "same").st_ino
    assert os.lstat(back / "sub" / "a.txt").st_mode & 0o777 == 0o640
    assert os.readlink(back / "link") == "sub/a.txt"
    assert os.lstat(back / "sub" / "a.txt").st_mtime_ns // 1_000_000 == 1_700_000_000_123
    assert (back / "sub" / "empty").is_dir()
    with pytest.raises(AlreadyExists):
        await runtime.files.download(f"{place}/tree", back)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back", "here"]


async def test_a_sync_sends_only_what_differs(runtime: AsyncRuntime, place: str, tmp_path: Path) -> None:
    (tmp_path / "keep").write_text("1")
    (tmp_path / "change").write_text("1")
    first = await runtime.files.sync(tmp_path, f"{place}/tree")
    assert (sorted(first.sent), first.removed) == (["change", "keep"], [])
    (tmp_path / "change").write_text("22")
    await runtime.files.write(f"{place}/tree/surplus", b"")
    plan = await runtime.files.sync(tmp_path, f"{place}/tree", delete=True, dry_run=True)
    assert (plan.sent, plan.removed, plan.unchanged) == (["change"], ["surplus"], 1)
    assert await runtime.files.exists(f"{place}/tree/surplus")
    await runtime.files.sync(tmp_path, f"{place}/tree", delete=True)
    assert [entry.name async for entry in runtime.files.list(f"{place}/tree")] == ["change", "keep"]
    os.utime(tmp_path / "keep", (0, 0))
    same = await runtime.files.sync(tmp_path, f"{place}/tree", checksum=True)
    assert (same.sent, same.unchanged) == ([], 2)


async def test_an_archive_becomes_a_directory(runtime: AsyncRuntime, place: str, tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        info = tarfile.TarInfo("a.txt")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"abc"))
    extracted = await runtime.files.extract(f"{place}/made", made.getvalue())
    assert (extracted.files, extracted.size_bytes) == (1, 3)
    local = tmp_path / "made.tar.gz"
    local.write_bytes(made.getvalue())
    assert (await runtime.files.extract(f"{place}/of-a-file", local)).files == 1
    archive = [chunk async for chunk in runtime.files.archive(f"{place}/made", format="tar.gz")]
    with tarfile.open(fileobj=io.BytesIO(b"".join(archive)), mode="r:gz") as tar:
        assert sorted(tar.getnames()) == [".", "./a.txt"] or sorted(tar.getnames()) == [".", "a.txt"]
    with pytest.raises(InvalidArchive):
        await runtime.files.extract(f"{place}/broken", b"no archive" * 100)


async def test_a_watch_tells_of_changes(runtime: AsyncRuntime, place: str) -> None:
    async with runtime.files.watch(place, recursive=True) as items:
        assert isinstance(await anext(items), WatchStart)
        await runtime.files.write(f"{place}/new", b"1")
        async for item in items:
            if isinstance(item, WatchChange) and item.path == f"{place}/new":
                break


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_diff_has_changes_and_a_patch(runtime: AsyncRuntime, place: str) -> None:
    await runtime.files.write(f"{place}/a.txt", "one\n")
    await runtime.files.write(f"{place}/b.txt", "two\n")
    found = await runtime.diff(PurePosixPath(place), patch=True, limit=2)
    assert [(entry.change, entry.path) for entry in found.data] == [("added", place), ("added", f"{place}/a.txt")]
    assert found.since.type == "template"
    assert found.patch is not None and "+++ b/a.txt\n@@ -0,0 +1,1 @@\n+one\n" in found.patch
    assert found.truncated and found.next_cursor is not None
    rest = await runtime.diff(place, cursor=found.next_cursor)
    assert [entry.path for entry in rest.data] == [f"{place}/b.txt"]
    assert (rest.patch, rest.truncated) == (None, False)
    with pytest.raises(PathNotFound):
        await runtime.diff(f"{place}/none")
