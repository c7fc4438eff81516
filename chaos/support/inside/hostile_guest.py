"""Takes the guest's place at the socket of its runtime and misbehaves: hostile_guest.py MODE SECONDS. Prints how often it got in."""
import os, socket, struct, sys, time

mode, seconds = sys.argv[1], float(sys.argv[2])
end = time.monotonic() + seconds
control = '/run/holt/control.sock'


def frame(kind, flags=0, stream=0, payload=b''):
    """A frame of HTTP/2 (RFC 9113, 4.1)."""
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload


DATA, HEADERS, RESET, SETTINGS, PUSH, PING, AWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
STATUS_200 = b'\x88'  # Entry 8 of HPACK's static table.

floods = {
    'garbage': lambda: os.urandom(65536),
    'pings': lambda: frame(PING, payload=b'12345678') * 1000,
    'settings': lambda: frame(SETTINGS) * 1000,
    'windows': lambda: frame(WINDOW, payload=struct.pack('>I', 1)) * 1000,
    'resets': lambda: b''.join(frame(RESET, stream=2 * n + 1, payload=b'\0\0\0\x08') for n in range(1000)),
    'pushes': lambda: b''.join(frame(PUSH, 4, 1, struct.pack('>I', 2 * n + 2) + STATUS_200) for n in range(1000)),
    'streams': lambda: b''.join(frame(HEADERS, 5, 2 * n + 2, STATUS_200) for n in range(1000)),
    'unknown frames': lambda: frame(0xf0, payload=b'x' * 16) * 1000,
    'empty data': lambda: frame(DATA, 0, 1) * 1000,
    'a header without end': lambda: frame(HEADERS, 0, 1, STATUS_200) + frame(CONTINUATION, 0, 1, b'\x40\x01a\x7f\x00' * 100) * 1000,
    'a frame that is too large': lambda: struct.pack('>I', 0xffffff)[1:] + bytes([DATA, 0]) + struct.pack('>I', 1) + b'x' * 65536,
}


def dial():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(2)
    s.connect(control)
    return s


def send_all(s, data):
    try:
        s.sendall(data)
        return True
    except (OSError, socket.timeout):
        return False


def answer(s):
    """Answers each request with what the mode says, again and again, and never with what was asked for."""
    buffer = b''
    streams = []
    chunk = {'endless answers': b'[' * 16000, 'answers of one byte a frame': b' ' * 4000, 'endless lines': b'x' * 16000, 'endless items': b'{"type":"start","cursor":0,"pid":1}\n' * 400}[mode]
    size = 1 if mode == 'answers of one byte a frame' else len(chunk)
    while time.monotonic() < end:
        try:
            s.settimeout(0.001 if streams else 0.2)
            got = s.recv(65536)
            if not got:
                return
            buffer += got
        except socket.timeout:
            pass
        if buffer.startswith(b'PRI * HTTP/2.0'):
            buffer = buffer[24:]
        while len(buffer) >= 9:
            length = int.from_bytes(buffer[:3], 'big')
            if len(buffer) < 9 + length:
                break
            kind, flags, stream = buffer[3], buffer[4], int.from_bytes(buffer[5:9], 'big')
            buffer = buffer[9 + length:]
            if kind == SETTINGS and not flags & 1:
                send_all(s, frame(SETTINGS, 1))
            if kind == HEADERS:
                streams.append(stream)
                send_all(s, frame(HEADERS, 4, stream, STATUS_200))
            if kind == RESET and stream in streams:
                streams.remove(stream)
        s.settimeout(2)
        for stream in streams[-64:]:
            if not send_all(s, b''.join(frame(DATA, 0, stream, chunk[at:at + size]) for at in range(0, len(chunk), size))):
                return


dialled = 0
while time.monotonic() < end:
    try:
        s = dial()
    except OSError:
        time.sleep(0.05)
        continue
    dialled += 1
    if mode == 'dialling':
        s.close()
        continue
    if mode == 'silence':
        time.sleep(0.5)
        s.close()
        continue
    send_all(s, frame(SETTINGS))
    if mode in floods:
        flood = floods[mode]()
        while time.monotonic() < end and send_all(s, flood):
            pass
    else:
        try:
            answer(s)
        except OSError:
            pass
    s.close()
print(dialled)
