/**
 * An attack of a program in a runtime against the machine, for a number of seconds. It is written
 * in Python and runs as root.
 */
export interface InsideAttack {
  readonly name: string
  /** The program. It reads the seconds from `sys.argv[1]`, and ends by itself if it can. */
  readonly program: string
  /** The network of the runtime. Absent: none. */
  readonly network?: 'none' | 'some'
}

const clock = `
import json, os, sys, time
end = time.monotonic() + float(sys.argv[1])
`

/**
 * The attacks. Each is stopped by its time, its limit, or the kernel, and none of these is a
 * failure of the service.
 */
export const insideAttacks: readonly InsideAttack[] = [
  {
    name: 'processes that fork for ever',
    program: `${clock}
while time.monotonic() < end:
    try: os.fork()
    except OSError: time.sleep(0.01)`,
  },
  {
    name: 'threads that start and end',
    program: `${clock}
import threading
count = 0
while time.monotonic() < end:
    try:
        threads = [threading.Thread(target=lambda: None) for _ in range(100)]
        for t in threads: t.start()
        for t in threads: t.join()
        count += 100
    except RuntimeError: pass
print(count)`,
  },
  {
    name: 'memory, all there is of it',
    program: `${clock}
held = []
while time.monotonic() < end:
    try: held.append(bytearray(b'x') * (16 << 20))
    except MemoryError: time.sleep(0.01)`,
  },
  {
    name: 'the disk, all there is of it, again and again',
    program: `${clock}
block = os.urandom(1 << 20)
while time.monotonic() < end:
    with open('/srv/fill', 'wb', buffering=0) as f:
        try:
            while time.monotonic() < end: f.write(block)
        except OSError: pass
os.remove('/srv/fill')`,
  },
  {
    name: 'files without content',
    program: `${clock}
count = 0
os.makedirs('/srv/many', exist_ok=True)
try:
    while time.monotonic() < end:
        os.close(os.open(f'/srv/many/{count}', os.O_CREAT | os.O_WRONLY))
        count += 1
except OSError: pass
print(count)`,
  },
  {
    name: 'open files, as many as there may be',
    program: `${clock}
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
count = 0
for child in range(20):
    if os.fork() == 0: break
held = []
while time.monotonic() < end:
    try: held.append(os.open('/etc/passwd', os.O_RDONLY)); held += os.pipe()
    except OSError: time.sleep(0.05)`,
  },
  {
    name: 'listeners on thousands of ports',
    program: `${clock}
import socket
held = []
for port in range(2000, 12000):
    if time.monotonic() > end: break
    s = socket.socket()
    try:
        s.bind(('127.0.0.1', port)); s.listen(); held.append(s)
    except OSError: pass
while time.monotonic() < end: time.sleep(0.05)
print(len(held))`,
  },
  {
    name: 'a storm of changes to watched files',
    program: `${clock}
os.makedirs('/srv/watched', exist_ok=True)
count = 0
while time.monotonic() < end:
    path = f'/srv/watched/{count % 1000}'
    open(path, 'w').close(); os.rename(path, path + 'x'); os.remove(path + 'x')
    count += 1
print(count)`,
  },
  {
    name: 'connections over loopback',
    program: `${clock}
import socket
listener = socket.socket(); listener.bind(('127.0.0.1', 0)); listener.listen(4096)
held = []
while time.monotonic() < end:
    try:
        s = socket.create_connection(listener.getsockname(), timeout=0.2); held.append(s); held.append(listener.accept()[0])
    except OSError:
        held.clear()
print(len(held))`,
  },
  {
    name: 'names that are not allowed, asked for without end',
    network: 'some',
    program: `${clock}
import socket, threading
counts = [0] * 32
def ask(n):
    while time.monotonic() < end:
        try: socket.getaddrinfo(f'n{counts[n]}-{n}.denied.example.com', 443)
        except OSError: pass
        counts[n] += 1
threads = [threading.Thread(target=ask, args=(n,)) for n in range(32)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(counts))`,
  },
  {
    name: 'questions to the resolver without waiting for answers',
    network: 'some',
    program: `${clock}
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver = next(line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver'))
count = 0
while time.monotonic() < end:
    query = count.to_bytes(2, 'big') if count < 65536 else os.urandom(2)
    name = f'q{count}'.encode()
    try: s.sendto(query + b'\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + bytes([len(name)]) + name + b'\\7example\\3com\\0\\0\\1\\0\\1', (resolver, 53))
    except OSError: time.sleep(0.001)
    count += 1
print(count)`,
  },
  {
    name: 'connections that are not allowed, by the thousand',
    network: 'some',
    program: `${clock}
import socket, threading
counts = [0] * 64
def dial(n):
    while time.monotonic() < end:
        s = socket.socket()
        s.settimeout(1)
        try: s.connect((f'203.0.113.{counts[n] % 250}', 443))
        except OSError: pass
        s.close()
        counts[n] += 1
threads = [threading.Thread(target=dial, args=(n,)) for n in range(64)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(counts))`,
  },
]
