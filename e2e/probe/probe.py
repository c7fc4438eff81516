"""Looks, from inside a runtime, for a way to the host or to other runtimes, and says as JSON what it found.

Argument: JSON with `targets`, a list of [address, port] that must not answer, and `others`, names that no process, socket or file may carry.
Output: {"checks": {name: outcome}, "lists": {name: [...]}}. An outcome is "open" where the door is, "absent" or the error's name where it is not.
"""

import ctypes
import errno
import fcntl
import json
import os
import platform
import signal
import socket
import stat
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
# Numbers from the kernel's tables: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
CALLS = {
    "unshare": 97 if ARM else 272,
    "setns": 268 if ARM else 308,
    "mount": 40 if ARM else 165,
    "pivot_root": 41 if ARM else 155,
    "ptrace": 117 if ARM else 101,
    "process_vm_readv": 270 if ARM else 310,
    "bpf": 280 if ARM else 321,
    "keyctl": 219 if ARM else 250,
    "add_key": 217 if ARM else 248,
    "perf_event_open": 241 if ARM else 298,
    "userfaultfd": 282 if ARM else 323,
    "io_uring_setup": 425,
    "init_module": 105 if ARM else 175,
    "finit_module": 273 if ARM else 313,
    "kexec_load": 104 if ARM else 246,
    "reboot": 142 if ARM else 169,
    "swapon": 224 if ARM else 167,
    "open_by_handle_at": 265 if ARM else 304,
    "settimeofday": 170 if ARM else 164,
    "clone3": 435,
    "fsopen": 430,
    "open_tree": 428,
    "move_mount": 429,
    "quotactl": 60 if ARM else 179,
    "acct": 89 if ARM else 163,
    "syslog": 116 if ARM else 103,
    "kcmp": 272 if ARM else 312,
    "iopl": None if ARM else 172,
    "ioperm": None if ARM else 173,
    "modify_ldt": None if ARM else 154,
}
NAMESPACES = {"mount": 0x20000, "user": 0x10000000, "net": 0x40000000, "pid": 0x20000000}


def name_of(number):
    return errno.errorcode.get(number, str(number))


def outcome(action):
    """Runs `action` and says how it went. A refusal by anything but an error would be a crash, and is not caught."""
    try:
        return "open" if action() is not False else "absent"
    except FileNotFoundError:
        return "absent"
    except socket.gaierror:
        return "unresolved"
    except TimeoutError:
        return "ETIMEDOUT"
    except OSError as error:
        return name_of(error.errno) if error.errno is not None else type(error).__name__


def in_child(action):
    """As `outcome`, in a process of its own, for what would change or end this one."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os.write(writer, outcome(action).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    return text or f"killed by signal {os.WTERMSIG(status)}"


def call(name, *arguments):
    number = CALLS[name]
    if number is None:
        return False
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return True


def mounts(*arguments):
    """Mounts in a namespace of its own where there may be one, so that what succeeds is gone with the process."""

    def action():
        try:
            call("unshare", NAMESPACES["mount"])
        except OSError:
            pass  # Then the mount itself is what is tried.
        call("mount", *arguments)

    return in_child(action)


def clones_with_new_user():
    """struct clone_args of clone3(2): flags, five zeroes, then SIGCHLD as the signal of its end."""
    arguments = ctypes.create_string_buffer(struct.pack("8Q", NAMESPACES["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0))
    pid = libc.syscall(ctypes.c_long(CALLS["clone3"]), arguments, ctypes.c_long(64))
    if pid == -1:
        raise OSError(ctypes.get_errno(), "clone3")
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def writes(path, text):
    def action():
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, text)
        finally:
            os.close(fd)

    return action


def reads(path, interesting=lambda data: len(data) > 0):
    def action():
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return interesting(os.read(fd, 65536))
        finally:
            os.close(fd)

    return action


def has_address(data):
    """Kernel symbols with addresses other than zero."""
    return any(line.split()[0].strip(b"0") for line in data.splitlines()[:-1] if line.split())


def rewrites(path):
    """Writes what is there already: shows whether it could be changed, and changes nothing."""

    def action():
        with open(path, "rb") as file:
            text = file.read()
        writes(path, text)()

    return action


def makes_device(kind, major, minor):
    def action():
        path = f"/tmp/device-{os.getpid()}"
        os.mknod(path, kind | 0o600, os.makedev(major, minor))
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        finally:
            os.unlink(path)

    return action


def connects(address, port, kind=socket.SOCK_STREAM):
    def action():
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, kind) as connection:
            connection.settimeout(2)
            connection.connect((address, port))
            if kind == socket.SOCK_DGRAM:
                # A query for the root, RFC 1035: only an answer shows that it went out.
                connection.send(struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\0\0\x02\0\x01")
                connection.recv(512)

    return action


def connects_unix(path):
    def action():
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(path)

    return action


def opens_socket(family, kind, protocol=0):
    def action():
        socket.socket(family, kind, protocol).close()

    return action


def sees_beyond_root():
    """The old way out of a chroot: a directory descriptor kept across a second chroot. /etc/holt-release is in the runtime's own root."""
    here = os.stat("/etc/holt-release").st_ino
    os.makedirs("/tmp/jail", exist_ok=True)
    fd = os.open("/", os.O_DIRECTORY)
    os.chroot("/tmp/jail")
    os.fchdir(fd)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
    return os.stat("/etc/holt-release").st_ino != here


def kernel_checks():
    zero = ctypes.c_char_p(None)
    buffer = ctypes.create_string_buffer(256)
    checks = {f"unshare {name}": in_child(lambda flag=flag: call("unshare", flag)) for name, flag in NAMESPACES.items()}
    checks |= {
        "clone3": in_child(clones_with_new_user),
        "setns pid 1": in_child(lambda: call("setns", os.open("/proc/1/ns/net", os.O_RDONLY), 0)),
        "mount tmpfs": mounts(b"none", b"/mnt", b"tmpfs", 0, zero),
        "mount proc": mounts(b"none", b"/mnt", b"proc", 0, zero),
        "mount sysfs": mounts(b"none", b"/mnt", b"sysfs", 0, zero),
        "remount sys writable": mounts(b"none", b"/sys", zero, 0x20 | 0x1000, zero),
        "fsopen": in_child(lambda: call("fsopen", b"tmpfs", 0)),
        "open_tree": in_child(lambda: call("open_tree", -100, b"/", 1)),
        # PTRACE_SEIZE: unlike an attach it does not stop the process.
        "ptrace init": in_child(lambda: call("ptrace", 0x4206, 1, 0, 0)),
        "read memory of init": in_child(reads("/proc/1/mem", lambda data: True)),
        "read environment of init": in_child(reads("/proc/1/environ")),
        "descriptors of init": in_child(lambda: len(os.listdir("/proc/1/fd")) > 0),
        "root of init": in_child(lambda: len(os.listdir("/proc/1/root/")) > 0),
        "bpf": in_child(lambda: call("bpf", 0, buffer, 72)),
        "keyctl": in_child(lambda: call("keyctl", 0, -3, 1)),
        "add_key": in_child(lambda: call("add_key", b"user", b"probe", b"x", 1, -3)),
        "perf_event_open": in_child(lambda: call("perf_event_open", buffer, 0, -1, -1, 0)),
        "userfaultfd": in_child(lambda: call("userfaultfd", 0)),
        "io_uring_setup": in_child(lambda: call("io_uring_setup", 1, ctypes.create_string_buffer(120))),
        "init_module": in_child(lambda: call("init_module", buffer, 16, b"")),
        "finit_module": in_child(lambda: call("finit_module", os.open("/etc/passwd", os.O_RDONLY), b"", 0)),
        "kexec_load": in_child(lambda: call("kexec_load", 0, 0, 0, 0)),
        # An unknown command: EINVAL would mean that the caller may.
        "reboot": in_child(lambda: call("reboot", 0xFEE1DEAD, 672274793, 0x12, 0)),
        "swapon": in_child(lambda: call("swapon", b"/etc/passwd", 0)),
        "open_by_handle_at": in_child(lambda: call("open_by_handle_at", -100, ctypes.create_string_buffer(b"\x08\0\0\0\x01\0\0\0" + b"\0" * 8), 0)),
        "settimeofday": in_child(lambda: call("settimeofday", ctypes.create_string_buffer(struct.pack("qq", int(time.time()), 0)), 0)),
        "quotactl": in_child(lambda: call("quotactl", 0x800007 << 8, b"/dev/loop0", 0, buffer)),
        "acct": in_child(lambda: call("acct", zero)),
        "read kernel log": in_child(lambda: call("syslog", 3, buffer, 256)),
        "kcmp": in_child(lambda: call("kcmp", 1, os.getpid(), 0, 0, 0)),
        "iopl": in_child(lambda: call("iopl", 3)),
        "ioperm": in_child(lambda: call("ioperm", 0x80, 1, 1)),
        "escape from chroot": in_child(sees_beyond_root),
    }
    return checks


def file_checks():
    checks = {
        f"read {path}": outcome(reads(path))
        for path in ("/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/iomem", "/proc/slabinfo", "/proc/modules", "/proc/config.gz")
    }
    checks["addresses in /proc/kallsyms"] = outcome(reads("/proc/kallsyms", has_address))
    checks["write /proc/sysrq-trigger"] = outcome(lambda: os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY)))
    checks |= {
        f"write {path}": in_child(rewrites(path))
        for path in (
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/hostname",
            "/proc/sys/kernel/modprobe",
            "/proc/sys/kernel/randomize_va_space",
            "/proc/sys/fs/binfmt_misc/register",
            "/proc/sys/vm/overcommit_memory",
            "/proc/sys/vm/drop_caches",
            "/proc/sys/net/ipv4/ip_forward",
            "/sys/kernel/uevent_helper",
            "/sys/power/state",
        )
    }
    checks |= {f"device {path}": outcome(lambda path=path: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))) for path in DEVICES}
    checks["make and open a block device"] = in_child(makes_device(stat.S_IFBLK, 7, 0))
    checks["make and open a disk"] = in_child(makes_device(stat.S_IFBLK, 254, 0))
    checks["make and open /dev/mem"] = in_child(makes_device(stat.S_IFCHR, 1, 1))
    checks["make and open /dev/kmsg"] = in_child(makes_device(stat.S_IFCHR, 1, 11))
    checks["make and open a tun"] = in_child(makes_device(stat.S_IFCHR, 10, 200))
    checks["list /sys/firmware"] = outcome(lambda: len(os.listdir("/sys/firmware")) > 0)
    checks["list /sys/kernel/debug"] = outcome(lambda: len(os.listdir("/sys/kernel/debug")) > 0)
    checks["list /sys/fs/bpf"] = outcome(lambda: len(os.listdir("/sys/fs/bpf")) > 0)
    checks["make a directory in /sys/fs/cgroup"] = outcome(lambda: os.mkdir(first_cgroup() + "/probe"))
    checks["make a file in /sys"] = outcome(lambda: os.close(os.open("/sys/probe", os.O_CREAT | os.O_WRONLY)))
    checks["make a file in /run/holt"] = outcome(lambda: os.close(os.open("/run/holt/probe", os.O_CREAT | os.O_WRONLY)))
    # Opened for writing, a program that runs is busy, which would not show that its mount is read-only too.
    checks["change the guest's program"] = outcome(lambda: os.chmod("/run/holt-guest", 0o777))
    checks["connect to the control socket"] = outcome(connects_unix("/run/holt/control.sock"))
    checks["type into another terminal"] = outcome(lambda: fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), 0x5412, b"x"))
    return checks


DEVICES = ("/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/dev/loop0", "/dev/vda", "/dev/sda", "/dev/mapper/control", "/dev/vhost-vsock")


def first_cgroup():
    path = "/sys/fs/cgroup"
    folders = [f"{path}/{name}" for name in os.listdir(path) if os.path.isdir(f"{path}/{name}")]
    return folders[0] if folders else path


def network_checks(targets):
    checks = {f"connect to {address} port {port}": outcome(connects(address, port)) for address, port in targets}
    checks |= {f"ask {address} for a name": outcome(connects(address, 53, socket.SOCK_DGRAM)) for address in ("1.1.1.1", "8.8.8.8", "169.254.169.253")}
    checks["resolve a name"] = outcome(lambda: bool(socket.getaddrinfo("example.com", 443)))
    checks["packet socket"] = outcome(opens_socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
    checks["raw socket"] = outcome(opens_socket(socket.AF_INET, socket.SOCK_RAW, 1))
    checks["vsock"] = outcome(opens_socket(getattr(socket, "AF_VSOCK", 40), socket.SOCK_STREAM))
    checks["alg socket"] = outcome(opens_socket(getattr(socket, "AF_ALG", 38), socket.SOCK_SEQPACKET))
    return checks


def lines_of(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def status_of(field):
    return next((line.split()[1] for line in lines_of("/proc/self/status") if line.startswith(field + ":")), "")


def special_files():
    """Sockets and devices anywhere but in /proc and /sys."""
    found = {"sockets": [], "devices": []}
    for folder, names, others in os.walk("/"):
        if folder == "/":
            names[:] = [name for name in names if name not in ("proc", "sys")]
        for name in others:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode if os.path.lexists(path) else 0
            if stat.S_ISSOCK(mode):
                found["sockets"].append(path)
            if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
                found["devices"].append(path)
    return found


def carriers_of(words):
    """Processes, abstract sockets and mounts whose text has one of the words."""
    texts = {f"socket {line.split()[-1]}": line for line in lines_of("/proc/net/unix")[1:]}
    texts |= {f"mount {line.split()[4]}": line for line in lines_of("/proc/self/mountinfo")}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) in (os.getpid(), os.getppid()):
            continue
        for file in ("cmdline", "environ", "cgroup"):
            texts[f"process {pid} {file}"] = "".join(lines_of(f"/proc/{pid}/{file}"))
    return sorted(where for where, text in texts.items() if any(word in text for word in words))


def lists(others):
    mounts = [line.split() for line in lines_of("/proc/self/mountinfo")]
    # A mount whose root is /null is /dev/null over a file: a mask.
    return special_files() | {
        "mounts": sorted(f"{row[4]} {row[row.index('-') + 1]}" for row in mounts),
        "writable mounts": sorted(row[4] for row in mounts if "ro" not in row[5].split(",") and row[3] != "/null"),
        "interfaces": sorted(name for _, name in socket.if_nameindex()),
        "routes": [line.split()[0] for line in lines_of("/proc/net/route")[1:] if line.split()],
        "environment": sorted(os.environ),
        "users": sorted({str(os.stat(f"/proc/{pid}").st_uid) for pid in filter(str.isdigit, os.listdir("/proc")) if os.path.exists(f"/proc/{pid}")}),
        "carriers": carriers_of(others),
        "capabilities": [status_of("CapEff"), status_of("CapBnd")],
        "no new privileges": [status_of("NoNewPrivs")],
        "seccomp": [status_of("Seccomp")],
    }


request = json.loads(sys.argv[1])
# The lists first: some checks, where they succeed, would show in them.
found = {"lists": lists(request["others"])}
found["checks"] = kernel_checks() | file_checks() | network_checks(request["targets"])
print(json.dumps(found))
