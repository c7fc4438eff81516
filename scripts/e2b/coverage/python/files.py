"""Files and watches."""

import io

import e2b
from e2b import FileNotFoundException, FileType
from recorder import check, finish, kinds, loop, record, refused, the, until

record(e2b.EntryInfo, "EntryInfo")
record(e2b.WriteInfo, "WriteInfo")

for kind in kinds:
    is_async = kind is e2b.AsyncSandbox
    sandbox = loop.run_until_complete(the(kind.create(timeout=900)))
    files, commands = sandbox.files, sandbox.commands
    F = "AsyncFilesystem" if is_async else "Filesystem"
    W = "AsyncWatchHandle" if is_async else "WatchHandle"
    record(type(files), F)
    record(getattr(e2b, W), W)
    home = "/home/user"

    async def run(line):
        return (await the(commands.run(line))).stdout

    async def reads():
        path = "dir/a b.txt"
        for data in ("text é", "text é".encode(), io.BytesIO("text é".encode())):
            info = await the(files.write(path, data))
            assert (info.name, info.path) == ("a b.txt", f"{home}/{path}"), info
            assert await the(files.read(path)) == "text é"
        packed = "packed " * 1000
        await the(files.write(path, packed, gzip=True, use_octet_stream=True))
        assert await the(files.read(path, gzip=True)) == packed
        assert await the(files.read(path, format="bytes")) == packed.encode()
        stream = await the(files.read(path, format="stream"))
        parts = [part async for part in stream] if is_async else list(stream)
        assert b"".join(parts) == packed.encode()
        await the(files.write("/root/of-root", "x", user="root"))
        assert await the(files.read("of-root", user="root")) == "x"
        await refused(lambda: files.read("missing"), FileNotFoundException)
        list_of = [{"path": "m/1", "data": "one"}, {"path": f'{home}/m/"2"\\ é', "data": b"two"}]
        written = await the(files.write_files(list_of))
        assert [one.path for one in written] == [f"{home}/m/1", list_of[1]["path"]]
        assert await the(files.read(list_of[1]["path"])) == "two"

    check(
        "files are read as they were written",
        reads,
        works=f"{F}.write {F}.read {F}.write_files" + ("" if is_async else " WriteInfo.from_dict"),
    )

    async def entries():
        metadata = {"author": "me", "a-b": "c d"}
        assert (await the(files.write("described", "x", metadata=metadata))).metadata == metadata
        await the(files.rename("described", "described2"))
        assert (await the(files.get_info("described2"))).metadata == metadata
        await run("mkdir -p l/sub; echo 12345 >l/f; chmod 640 l/f; echo x >l/sub/g; ln -s /etc/hostname l/s")
        names = sorted((one.name, one.type) for one in await the(files.list("l")))
        assert names == [("f", FileType.FILE), ("s", FileType.FILE), ("sub", FileType.DIR)], names
        assert len(await the(files.list("l", depth=2))) == 4
        info = await the(files.get_info("l/f"))
        assert (info.size, info.mode, info.permissions, info.owner) == (6, 0o640, "-rw-r-----", "user"), info
        assert (await the(files.get_info("l/s"))).symlink_target == "/etc/hostname"
        assert [await the(files.exists("l/f")), await the(files.exists("none"))] == [True, False]
        assert [await the(files.make_dir("made/deep")), await the(files.make_dir("made/deep"))] == [True, False]
        await the(files.write("made/f", "x"))
        await the(files.write("made/g", "old"))
        assert (await the(files.rename("made/f", "made/g"))).path == f"{home}/made/g"
        assert await the(files.read("made/g")) == "x"
        await the(files.remove("made"))
        await the(files.remove("made"))
        assert not await the(files.exists("made"))
        await refused(lambda: files.list("none"), FileNotFoundException)

    check(
        "entries are listed, described, made, moved and removed",
        entries,
        works=f"{F}.list {F}.get_info {F}.exists {F}.make_dir {F}.rename {F}.remove",
    )

    async def watches():
        await the(files.make_dir("watched"))
        seen = []
        if is_async:
            handle = await files.watch_dir("watched", on_event=seen.append, recursive=True, include_entry=True)
        else:
            handle = files.watch_dir("watched", recursive=True, include_entry=True)

        def found(kind, name):
            if not is_async:
                seen.extend(handle.get_new_events())
            return any((one.type.value, one.name) == (kind, name) for one in seen)

        await the(files.make_dir("watched/new"))
        await until(lambda: found("create", "new"))
        await the(files.write("watched/new/f", "xyz"))
        await until(lambda: found("write", "new/f"))
        await the(files.rename("watched/new/f", "watched/g"))
        await run("chmod 600 watched/g")
        await the(files.remove("watched/g"))
        await until(lambda: found("remove", "g"))
        names = {f"{one.type.value} {one.name}" for one in seen}
        wanted = {"create new", "create new/f", "write new/f", "rename new/f", "create g", "chmod g", "remove g"}
        assert wanted <= names, names
        assert any(one.entry is not None and one.entry.size == 3 for one in seen)
        await the(handle.stop())
        await refused(lambda: files.watch_dir("missing", *([print] if is_async else [])), FileNotFoundException)

    more = "" if is_async else f" {W}.get_new_events"
    check("a watch reports changes until it stops", watches, works=f"{F}.watch_dir {W}.stop{more}")
    loop.run_until_complete(the(sandbox.kill()))

finish()
