"""Makes a tree below a directory, or changes it at random, by a seed: `make DIR SEED`, `change DIR SEED`,
`describe DIR`. `describe` prints every entry with a digest of its content."""

import base64
import errno
import hashlib
import json
import os
import random
import shutil
import stat
import sys

NAMES = [
    b"plain", b"with space", b'quo"te', b"back\\slash", b"new\nline", b"tab\t", b"caf\xc3\xa9", b"bad\xff\xfe", b"-dash",
    b"#hash", b"a", b"b.txt", b"diff --git a", b"dev", b"Makefile", b"trailing ", b"'single'", b"$dollar", b"*", b"@@",
]


def content(rng):
    kind = rng.randrange(8)
    if kind == 0:
        return b""
    if kind == 1:
        return rng.randbytes(rng.randrange(1, 3000))
    lines = [rng.choice([b"one", b"two", b"three", b"--- a/x", b"+++ b/x", b"@@ -1 +1 @@", b"", b"\r", b"\xe2\x80\xa8x", b"diff --git a/x b/x"])
             + b" %d" % rng.randrange(5) for _ in range(rng.randrange(1, 60))]
    text = b"\n".join(lines)
    return text if kind == 2 else text + b"\n"


def put(rng, path):
    with open(path, "wb") as file:
        file.write(content(rng))
    os.chmod(path, rng.choice([0o644, 0o644, 0o755, 0o600]))


def fill(rng, directory, depth):
    for name in rng.sample(NAMES, rng.randrange(2, 8)):
        path = os.path.join(directory, name)
        kind = rng.randrange(10)
        if kind < 3 and depth < 3:
            os.mkdir(path)
            fill(rng, path, depth + 1)
        elif kind == 3:
            os.symlink(rng.choice(NAMES), path)
        elif kind == 4:
            os.mkfifo(path)
        else:
            put(rng, path)


def entries(directory):
    found = []
    for parent, dirs, files in os.walk(directory):
        found += [os.path.join(parent, name) for name in dirs + files]
    return sorted(found)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def edit(rng, path):
    with open(path, "rb") as file:
        lines = file.read().splitlines(True)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(lines) + 1)
        if rng.random() < 0.5 and at < len(lines):
            del lines[at]
        else:
            lines.insert(at, b"edited %d\n" % rng.randrange(100))
    with open(path, "wb") as file:
        file.write(b"".join(lines))


def change(rng, root):
    for _ in range(rng.randrange(5, 40)):
        known = entries(root)
        directories = [root] + [path for path in known if os.path.isdir(path) and not os.path.islink(path)]
        new = os.path.join(rng.choice(directories), rng.choice(NAMES) + rng.choice([b"", b".new"]))
        one = rng.choice(known) if known else new
        is_file = os.path.isfile(one) and not os.path.islink(one)
        verb = rng.randrange(12)
        if verb == 0:
            remove(one)
        elif verb == 1 and is_file:
            edit(rng, one)
        elif verb == 2 and is_file:
            put(rng, one)
        elif verb == 3:
            remove(new)
            put(rng, new)
        elif verb == 4 and not (new + b"/").startswith(one + b"/") and not (one + b"/").startswith(new + b"/"):
            remove(new)
            try:
                shutil.move(os.fsdecode(one), os.fsdecode(new))
            except OSError:
                pass  # gVisor renames no FIFO of the image. What was copied is a change, too.
        elif verb == 5 and is_file:
            os.chmod(one, rng.choice([0o644, 0o755, 0o600, 0o4755]))
        elif verb == 6:
            remove(new)
            os.symlink(rng.choice(NAMES), new)
        elif verb == 7 and not os.path.islink(one) and os.path.isdir(one):
            remove(one)
            os.mkdir(one)
            fill(rng, one, 3)
        elif verb == 8 and is_file and not (new + b"/").startswith(one + b"/"):
            remove(new)
            if os.path.lexists(one):
                os.link(one, new)
        elif verb == 9:
            remove(one)
            fill_at(rng, one)
        elif verb == 10 and is_file:
            with open(one, "rb") as file:
                same = file.read()
            mode = stat.S_IMODE(os.stat(one).st_mode)
            os.unlink(one)
            with open(one, "wb") as file:
                file.write(same)
            os.chmod(one, mode)
        elif verb == 11 and is_file:
            os.chown(one, rng.choice([0, 1000]), 0)


def end_loops(root):
    """Gives links that lead to themselves another target: git looks through the names that it replaces."""
    for path in entries(root):
        if os.path.islink(path):
            try:
                os.stat(path)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    os.unlink(path)
                    os.symlink(b"missing", path)


def fill_at(rng, path):
    """Puts an entry of another type in the place of one."""
    if rng.random() < 0.5:
        os.mkdir(path)
        put(rng, os.path.join(path, b"inner"))
    else:
        os.symlink(b"elsewhere", path)


def describe(root):
    described = {}
    for path in entries(root):
        info = os.lstat(path)
        kind = stat.S_IFMT(info.st_mode)
        entry = {"type": kind, "mode": stat.S_IMODE(info.st_mode), "uid": info.st_uid, "gid": info.st_gid, "content": ""}
        if kind == stat.S_IFREG:
            with open(path, "rb") as file:
                entry["content"] = hashlib.sha256(file.read()).hexdigest()
        elif kind == stat.S_IFLNK:
            entry["content"] = base64.b64encode(os.readlink(path)).decode()
            entry["mode"] = 0
        described[base64.b64encode(path).decode()] = entry
    return described


def main():
    verb, root = sys.argv[1], os.fsencode(sys.argv[2])
    if verb == "make":
        os.makedirs(root)
        fill(random.Random(sys.argv[3]), root, 0)
    elif verb == "change":
        change(random.Random(sys.argv[3]), root)
    if verb != "describe":
        end_loops(root)
    print(json.dumps(describe(root)))


main()
