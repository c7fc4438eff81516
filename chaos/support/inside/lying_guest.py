"""Takes the guest's place at the socket of its runtime and answers everything with lies: lying_guest.py SECONDS. Prints how many."""
import json, socket, struct, sys, time

end = time.monotonic() + float(sys.argv[1])
control = '/run/holt/control.sock'
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
STATUS_200 = b'\x88'  # Entry 8 of HPACK's static table.
mark = 'PWN' + 'ED'  # In two parts: an honest guest tells this program's text as an argument.
attacks = [f'$(touch /tmp/{mark})', f'\x1b]0;{mark}\x07', f'x;touch {mark}', f'../../{mark}', f'{mark}\0', f'{mark}\ud800', f'/etc/{mark}/../..']


def frame(kind, flags=0, stream=0, payload=b''):
    """A frame of HTTP/2 (RFC 9113, 4.1)."""
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload


def lie(n):
    """One object that is an answer to every question, as readers pass over fields that they do not know: all of it a lie, or in turn one field of it."""
    word = attacks[n % len(attacks)]
    file = {'path': '/srv/f', 'name': 'f', 'type': 'file', 'size_bytes': 1, 'mode': '0644', 'permissions': 'rw-r--r--', 'uid': 0, 'gid': 0,
            'user': 'root', 'group': 'root', 'modified_at_ms': 1, 'symlink_target': None}
    session = {'name': 'dev', 'shell': '/bin/sh', 'user': 'root', 'cwd': '/', 'commands': 1, 'current': None, 'started_at_ms': 1, 'used_at_ms': 1}
    process = {'id': 'cmaaaaaaaaaaaaaaaaaaaa', 'pid': 1, 'command': 'id', 'argv': None, 'cwd': '/', 'user': 'root', 'state': 'exited', 'exit_code': 0,
               'signal': None, 'timed_out': False, 'started_at_ms': 1, 'ended_at_ms': 1, 'cursor': 0, 'stdout_bytes': 0, 'stderr_bytes': 0,
               'dropped_bytes': 0, 'descendants': False, 'session': None, 'session_kept': None, 'pty': None}
    for honest, fields in ((file, ['path', 'name', 'user', 'group', 'mode', 'permissions']), (session, ['name', 'shell', 'user', 'current']),
                           (process, ['id', 'user', 'signal', 'session'])):
        honest[fields[n // len(attacks) % len(fields)]] = word
    return json.dumps({'sessions': [session], 'processes': [process], 'entries': [file], 'more': False, 'ports': [word], **file}).encode()


def serve(s, n):
    """Answers each request at once; answers how many it has."""
    buffer, given = b'', 0
    s.settimeout(0.5)
    s.sendall(frame(SETTINGS))
    while time.monotonic() < end:
        try:
            got = s.recv(65536)
        except socket.timeout:
            continue
        if not got:
            break
        buffer += got
        if buffer.startswith(b'PRI * HTTP/2.0'):
            buffer = buffer[24:]
        while len(buffer) >= 9 and len(buffer) >= 9 + int.from_bytes(buffer[:3], 'big'):
            length = int.from_bytes(buffer[:3], 'big')
            kind, flags, stream, payload = buffer[3], buffer[4], int.from_bytes(buffer[5:9], 'big'), buffer[9:9 + length]
            buffer = buffer[9 + length:]
            if kind == SETTINGS and not flags & 1:
                s.sendall(frame(SETTINGS, 1))
            elif kind == PING and not flags & 1:
                s.sendall(frame(PING, 1, 0, payload))
            elif kind == HEADERS:
                s.sendall(frame(HEADERS, 4, stream, STATUS_200) + frame(DATA, 1, stream, lie(n + given)))
                given += 1
    return given


told = 0
while time.monotonic() < end:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(2)
        s.connect(control)
        told += serve(s, told)
    except OSError:
        time.sleep(0.05)
    finally:
        s.close()
print(told)
