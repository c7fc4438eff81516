"""A terminal with a person at it: runs a program in it, types what is asked for on stdin, and shows its screen on stdout.

Each line of stdin is JSON: {"type": text}, {"size": [rows, cols]} or {"signal": number}. At the end one line of JSON goes to stderr: how the program
ended, and whether the terminal is as it was.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios


def resize(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


master, slave = pty.openpty()
resize(master, 24, 80)
before = termios.tcgetattr(slave)
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.closerange(3, 64)
    os.execvp(sys.argv[1], sys.argv[1:])

ended = None
lines = b""
sources = [0, master]
while True:
    ready, _, _ = select.select(sources, [], [], 0.05)
    if master in ready:
        os.write(1, os.read(master, 65536))
    elif ended is not None:
        break
    if 0 in ready:
        data = os.read(0, 65536)
        if not data:
            sources.remove(0)
        *complete, lines = (lines + data).split(b"\n")
        for order in map(json.loads, complete):
            if "type" in order:
                os.write(master, order["type"].encode())
            elif "size" in order:
                resize(master, *order["size"])
            else:
                os.kill(child, order["signal"])
    if ended is None:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            ended = os.waitstatus_to_exitcode(status)

restored = termios.tcgetattr(slave) == before
print(json.dumps({"code": ended, "restored": restored}), file=sys.stderr)
