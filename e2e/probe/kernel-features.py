"""Tries what programs ask of a kernel, and prints for each thing `works` or how it fails, as JSON."""

import ctypes
import errno
import json
import os
import platform
import select
import socket
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
CALLS = {"openat2": 437, "renameat2": 276 if ARM else 316}
AT_FDCWD = -100
RENAME_EXCHANGE = 2
NETLINK_SOCK_DIAG = 4


def call(name, *arguments):
    if libc.syscall(CALLS[name], *arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def try_it(action):
    try:
        wrong = action()
    except OSError as failure:
        return errno.errorcode.get(failure.errno, str(failure.errno))
    return wrong or "works"


def run(*argv):
    ended = subprocess.run(argv, capture_output=True, text=True)
    return None if ended.returncode == 0 else ended.stderr.strip() or str(ended.returncode)


def copy_range():
    with open("one", "rb") as source, open("two", "wb") as target:
        os.copy_file_range(source.fileno(), target.fileno(), 3)


def sparse():
    with open("sparse", "wb") as file:
        file.truncate(1 << 30)
    return None if os.stat("sparse").st_blocks < 1000 else "as large as the file"


def long_argument():
    try:
        subprocess.run(["true", "x" * 200_000])
    except OSError as failure:
        return None if failure.errno == errno.E2BIG else errno.errorcode[failure.errno]
    return "accepted"


# GNU screen waits for output before its child has opened the terminal.
def unopened_terminal():
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    libc.unlockpt(master)
    libc.ptsname.restype = ctypes.c_char_p
    waiting = select.poll()
    waiting.register(master, select.POLLIN)
    if waiting.poll(0) != []:
        return "hung up before it was opened"
    os.close(os.open(libc.ptsname(master), os.O_RDWR | os.O_NOCTTY))
    return None if waiting.poll(0) == [(master, select.POLLHUP)] else "not hung up after it was closed"


def here(path):
    return lambda: None if os.path.exists(path) else "not there"


# The base template has no mount(8).
MOUNT = """
import ctypes, os, sys
source, target, kind, flags = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(source.encode(), target.encode(), kind.encode() or None, int(flags), None) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
"""
MS_BIND, MS_REC, MS_SLAVE = 1 << 12, 1 << 14, 1 << 19


# bubblewrap gives the loopback device of a new network namespace its address (rtnetlink(7)).
LOOPBACK = """
import os, socket, struct, sys
RTM_NEWADDR, NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 20, 1, 4, 0x200, 0x400
IFA_ADDRESS, IFA_LOCAL, IFA_F_PERMANENT, RT_SCOPE_HOST = 1, 2, 0x80, 254
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
    body = struct.pack("BBBBI", socket.AF_INET, 8, IFA_F_PERMANENT, RT_SCOPE_HOST, socket.if_nametoindex("lo"))
    for attribute in (IFA_LOCAL, IFA_ADDRESS):
        body += struct.pack("HH4s", 8, attribute, socket.inet_aton("127.0.0.1"))
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_EXCL | NLM_F_CREATE
    link.send(struct.pack("IHHII", 16 + len(body), RTM_NEWADDR, flags, 1, 0) + body)
    failure = -struct.unpack("i", link.recv(1000)[16:20])[0]
    if failure != 0:
        sys.exit(os.strerror(failure))
"""


def nested(*flags, then=("true",)):
    return lambda: run("unshare", "--user", "--map-root-user", *flags, *then)


def mount(source, target, kind="", flags=0):
    return nested("--mount", "--pid", "--fork", then=("python3", "-c", MOUNT, source, target, kind, str(flags)))


os.chdir("/tmp")
for name in ("one", "two"):
    with open(name, "w") as file:
        file.write(name)
checks = {
    "openat2": lambda: call("openat2", AT_FDCWD, b"one", (ctypes.c_uint64 * 3)(), 24),
    "copy_file_range": copy_range,
    "O_TMPFILE": lambda: os.close(os.open(".", os.O_TMPFILE | os.O_RDWR)),
    "RENAME_EXCHANGE": lambda: call("renameat2", AT_FDCWD, b"one", AT_FDCWD, b"two", RENAME_EXCHANGE),
    "sock_diag": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG).close(),
    "setarch -R": lambda: run("setarch", "-R", "true"),
    "/sys/class/net/lo": here("/sys/class/net/lo"),
    "inotify sysctls": here("/proc/sys/fs/inotify/max_user_watches"),
    "E2BIG of a long argument": long_argument,
    "blocks of a sparse file": sparse,
    "terminal that nobody has opened": unopened_terminal,
    "/proc/self/ns/cgroup": here("/proc/self/ns/cgroup"),
    "user namespace": nested(),
    "mount namespace": nested("--mount"),
    "network namespace": nested("--net"),
    "loopback address in a namespace": nested("--net", then=("python3", "-c", LOOPBACK)),
    "process namespace": nested("--pid", "--fork"),
    "tmpfs in a namespace": mount("none", "/mnt", "tmpfs"),
    "bind mount in a namespace": mount("/tmp", "/mnt", flags=MS_BIND),
    "recursive bind mount in a namespace": mount("/", "/mnt", flags=MS_BIND | MS_REC),
    "slave mounts in a namespace": mount("none", "/", flags=MS_SLAVE | MS_REC),
    "proc in a namespace": mount("none", "/proc", "proc"),
}
print(json.dumps({name: try_it(action) for name, action in checks.items()}))
