"""Tries, from inside a runtime, to reach something, and says as JSON what came of it.

Argument: JSON, a list of attempts, made one after the other; each names its `kind` and what that takes. Output: a list with one outcome for each. An outcome's
`end` is what ended it: "end" (an orderly end), an error's name, "no name", "tls" with what TLS had against it, or "nothing" when nothing came in time.
"""

import errno
import http.client
import json
import os
import socket
import ssl
import struct
import sys
import time

# Longer than any refusal takes; what is refused at once ends with an error's name, not with this.
TIMEOUT_SECS = 30
RIG_CA = "/srv/rig-ca.pem"
TYPES = {"A": 1, "CNAME": 5, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "HTTPS": 65, "ANY": 255}


def end_of(error):
    if isinstance(error, socket.gaierror):
        return {"end": "no name"}
    if isinstance(error, TimeoutError):
        return {"end": "nothing"} if error.errno is None else {"end": errno.errorcode[error.errno]}
    if isinstance(error, ssl.SSLError):
        return {"end": "tls", "why": str(error)}
    if isinstance(error, OSError) and error.errno is not None:
        return {"end": errno.errorcode.get(error.errno, str(error.errno))}
    return {"end": type(error).__name__}


def secured(raw, attempt):
    context = ssl.create_default_context()
    context.load_verify_locations(RIG_CA)
    if attempt.get("trusts_all"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if attempt["server_name"] is None:
        context.check_hostname = False
    return context.wrap_socket(raw, server_hostname=attempt["server_name"])


def connect(attempt):
    """A TCP connection to `host` and `port`; with `server_name` TLS on it; sends `send`, ends its side with `half_close`, and reads to the end."""
    outcome = {"connected": False, "issuer": None, "received": ""}
    received = b""
    try:
        with socket.create_connection((attempt["host"], attempt["port"]), timeout=attempt.get("timeout_secs", TIMEOUT_SECS)) as raw:
            outcome["connected"] = True
            connection = secured(raw, attempt) if "server_name" in attempt else raw
            if "server_name" in attempt and not attempt.get("trusts_all"):
                issuer = dict(pair for part in connection.getpeercert()["issuer"] for pair in part)
                outcome["issuer"] = issuer.get("commonName")
            connection.sendall(attempt.get("send", "").encode("latin1"))
            if attempt.get("half_close"):
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                received += part
        outcome["end"] = "end"
    except (OSError, ssl.SSLError) as error:
        outcome |= end_of(error)
    outcome["received"] = received.decode("latin1")
    return outcome


def requests(attempt):
    """Requests one after the other on one connection: `requests` is a list of method, path and fields."""
    outcome = {"answers": []}
    host, port = attempt["host"], attempt["port"]
    if attempt.get("tls"):
        context = ssl.create_default_context()
        context.load_verify_locations(RIG_CA)
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECS, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECS)
    try:
        connection.connect()
        connection.auto_open = 0
        for method, path, fields in attempt["requests"]:
            connection.request(method, path, headers=fields)
            answer = connection.getresponse()
            outcome["answers"].append([answer.status, answer.read().decode("latin1")])
        outcome["end"] = "end"
    except (OSError, http.client.HTTPException) as error:
        outcome |= end_of(error)
    finally:
        connection.close()
    return outcome


def question(labels, kind):
    name = b"".join(bytes([len(label)]) + label for label in (text.encode("latin1") for text in labels)) + b"\0"
    edns = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"
    return os.urandom(2) + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 1) + name + struct.pack(">HH", TYPES[kind], 1) + edns


def skip_name(message, at):
    while True:
        length = message[at]
        if length >= 0xC0:
            return at + 2
        at += 1 + length
        if length == 0:
            return at


def read_answer(message):
    _, flags, questions, answers, authorities, additions = struct.unpack(">HHHHHH", message[:12])
    at = 12
    for _ in range(questions):
        at = skip_name(message, at) + 4
    records, extended = [], None
    for index in range(answers + authorities + additions):
        at = skip_name(message, at)
        kind, _, _, length = struct.unpack(">HHIH", message[at : at + 10])
        data = message[at + 10 : at + 10 + length]
        at += 10 + length
        if index < answers:
            records.append([kind, socket.inet_ntoa(data) if kind == 1 else data.hex()])
        elif kind == 41 and data[:2] == b"\0\x0f":
            extended = struct.unpack(">H", data[4:6])[0]
    return {"end": "end", "code": flags & 15, "records": records, "extended": extended}


def dns(attempt):
    """A DNS query sent straight to `server`, over UDP or `over` TCP, for the labels of `name` as they are."""
    message = question(attempt["name"], attempt["type"])
    over_tcp = attempt.get("over") == "tcp"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM if over_tcp else socket.SOCK_DGRAM) as asking:
            asking.settimeout(TIMEOUT_SECS)
            asking.connect((attempt["server"], attempt.get("port", 53)))
            asking.sendall(struct.pack(">H", len(message)) + message if over_tcp else message)
            if not over_tcp:
                return read_answer(asking.recv(4096))
            file = asking.makefile("rb")
            return read_answer(file.read(struct.unpack(">H", file.read(2))[0]))
    except OSError as error:
        return end_of(error)


def datagram(attempt):
    """A datagram, and the refusal of it."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
            sending.settimeout(TIMEOUT_SECS)
            sending.connect((attempt["host"], attempt["port"]))
            sending.send(b"out")
            return {"end": "end", "received": sending.recv(4096).decode("latin1")}
    except OSError as error:
        return end_of(error)


def ping(attempt):
    """An echo request over ICMP, and the first packet that is about it."""
    head = struct.pack(">BBHHH", 8, 0, 0, os.getpid() & 0xFFFF, 1)
    total = sum(struct.unpack(">4H", head))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as pinging:
            pinging.settimeout(TIMEOUT_SECS)
            pinging.sendto(head[:2] + struct.pack(">H", checksum) + head[4:], (attempt["host"], 0))
            while True:
                packet = pinging.recv(4096)
                kind = packet[(packet[0] & 15) * 4]
                if kind in (0, 3):
                    return {"end": {0: "echo", 3: "unreachable"}[kind]}
    except OSError as error:
        return end_of(error)


def connect6(attempt):
    """A TCP connection over IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as connection:
            connection.settimeout(TIMEOUT_SECS)
            connection.connect((attempt["host"], attempt["port"]))
            return {"end": "connected"}
    except OSError as error:
        return end_of(error)


def hold(attempt):
    """Opens each of `connections`, says so in the file `ready`, and tells what ended each of them, or "held" for those that were open when the file `stop` came."""
    held, outcome = [], []
    for host, port, server_name in attempt["connections"]:
        raw = socket.create_connection((host, port), timeout=TIMEOUT_SECS)
        held.append(raw if server_name is None else secured(raw, {"server_name": server_name}))
    for connection in held:
        connection.setblocking(False)
        outcome.append("held")
    while not os.path.exists(attempt["stop"]):
        for index, connection in enumerate(held):
            if outcome[index] != "held":
                continue
            try:
                outcome[index] = "end" if connection.recv(4096) == b"" else "held"
            except (BlockingIOError, ssl.SSLWantReadError):
                pass
            except OSError as error:
                outcome[index] = end_of(error)["end"]
        with open(attempt["ready"] + ".new", "w") as file:
            json.dump(outcome, file)
        os.replace(attempt["ready"] + ".new", attempt["ready"])
        time.sleep(0.05)
    return {"end": "end", "ends": outcome}


def knock(attempt):
    """Asks for a path of its own again and again until the file `stop` comes, and writes a line for each attempt: number, begin, end, outcome."""
    number = 0
    with open(attempt["log"], "a") as log:
        while not os.path.exists(attempt["stop"]):
            number += 1
            begin = time.time()
            path = f"{attempt['path']}{number}"
            request = f"GET {path} HTTP/1.1\r\nHost: {attempt['name']}\r\nConnection: close\r\n\r\n"
            outcome = connect({"host": attempt["host"], "port": attempt["port"], "send": request, "timeout_secs": 1})
            said = outcome["received"][9:12] or outcome["end"]
            log.write(f"{number} {begin} {time.time()} {said}\n")
            log.flush()
            time.sleep(0.1)
    return {"end": "end"}


KINDS = {
    "connect": connect,
    "requests": requests,
    "dns": dns,
    "datagram": datagram,
    "ping": ping,
    "connect6": connect6,
    "hold": hold,
    "knock": knock,
}
print(json.dumps([KINDS[attempt["kind"]](attempt) for attempt in json.loads(sys.argv[1])]))
