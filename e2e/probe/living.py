"""A process that lives through whatever happens to its runtime, and answers orders.

Argument: how many MiB of memory it holds. Orders are lines of JSON on stdin, each with one of these fields; each is answered with one line of JSON on stdout:

add: adds the number to the sum it keeps, and answers the sum and how many orders there have been
look: answers what it is and holds: pid, sum, orders, the digest of its memory, its ticks, the clocks
identity: answers what has to be another one in each clone
connect: connects to [host, port] and keeps that connection; says how that ended
exchange: sends a word over the connection it keeps, and answers what came back, or the error's name
"""

import errno
import hashlib
import json
import os
import socket
import sys
import threading
import time
import uuid

held = bytearray(os.urandom(1 << 20)) * int(sys.argv[1])
total = orders = ticks = 0
connection = None
# Its first one takes whatever state the module keeps.
uuid.uuid4()


def tick():
    global ticks
    while True:
        time.sleep(0.02)
        ticks += 1


def read(path):
    with open(path) as file:
        return file.read().strip()


def look():
    return {
        "pid": os.getpid(),
        "total": total,
        "orders": orders,
        "digest": hashlib.sha256(held).hexdigest(),
        "ticks": ticks,
        "monotonic": time.monotonic(),
        "wall": time.time(),
    }


def identity():
    return {
        "uuid": str(uuid.uuid4()),
        "urandom": os.urandom(16).hex(),
        "hostname": socket.gethostname(),
        "machine_id": read("/etc/machine-id"),
    }


def connect(address):
    global connection
    connection = socket.create_connection(tuple(address), timeout=20)
    return {"end": "connected"}


def exchange(word):
    connection.sendall(word.encode())
    return {"end": "end", "received": connection.recv(1000).decode()}


def reached(work, argument):
    try:
        return work(argument)
    except OSError as error:
        return {"end": errno.errorcode.get(error.errno, type(error).__name__)}


threading.Thread(target=tick, daemon=True).start()
for line in sys.stdin:
    order = json.loads(line)
    orders += 1
    if "add" in order:
        total += order["add"]
        answer = {"total": total, "orders": orders}
    elif "look" in order:
        answer = look()
    elif "identity" in order:
        answer = identity()
    elif "connect" in order:
        answer = reached(connect, order["connect"])
    else:
        answer = reached(exchange, order["exchange"])
    print(json.dumps(answer), flush=True)
