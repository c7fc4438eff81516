"""Describes trees as JSON, for comparing what a copy made with what it was made of.

Arguments: paths, after `--digest` for large trees. Output: a list with one description for each, null for a path where nothing is. A description
is a list of entries, sorted by path; names that are not UTF-8 stand as lone surrogates (PEP 383). With `--digest` it is the number of entries and the
SHA-256 of that list.
"""

import hashlib
import json
import os
import stat
import sys

KINDS = [
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "symlink"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
]


def kind_of(mode):
    return next((name for test, name in KINDS if test(mode)), "device")


def xattrs_of(path):
    try:
        return {name: os.getxattr(path, name, follow_symlinks=False).hex() for name in sorted(os.listxattr(path, follow_symlinks=False))}
    except OSError:
        return {}


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def entry_of(path, relative, seen):
    info = os.lstat(path)
    kind = kind_of(info.st_mode)
    entry = {
        "path": os.fsdecode(relative),
        "type": kind,
        "mode": oct(stat.S_IMODE(info.st_mode)),
        "owner": f"{info.st_uid}:{info.st_gid}",
        "mtime_ns": str(info.st_mtime_ns),
        "xattrs": xattrs_of(path),
    }
    if kind == "symlink":
        entry["target"] = os.fsdecode(os.readlink(path))
    if kind == "file":
        entry["size"] = info.st_size
        entry["sha256"] = digest_of(path)
        entry["linked_to"] = seen.setdefault((info.st_dev, info.st_ino), os.fsdecode(relative))
    return entry


def describe(root):
    if not os.path.lexists(root):
        return None
    seen = {}
    pending = [(root, b"")]
    entries = []
    while pending:
        path, relative = pending.pop()
        entries.append(entry_of(path, relative, seen))
        if entries[-1]["type"] == "directory":
            names = sorted(os.listdir(path), reverse=True)
            pending += [(os.path.join(path, name), os.path.join(relative, name)) for name in names]
    return entries


def digest(entries):
    return entries and {"entries": len(entries), "sha256": hashlib.sha256(json.dumps(entries).encode()).hexdigest()}


paths = sys.argv[1:]
short = paths[:1] == ["--digest"]
described = [describe(os.fsencode(path)) for path in (paths[1:] if short else paths)]
print(json.dumps([digest(entries) for entries in described] if short else described))
