"""
The identity of the runtime, and fresh random numbers after a change of it.

A fork and a runtime of a checkpoint have a new machine id before their first request. Random
generators in the memory of kernels would continue alike in all of them.
"""

import json
import os
import secrets
from contextlib import suppress

_MACHINE_ID = "/etc/machine-id"


def read_identity() -> tuple[str, str]:
    """Returns the host name and the machine id. Each run asks, so it makes few system calls."""
    machine_id = b""
    with suppress(OSError):  # The host name alone tells forks apart.
        file = os.open(_MACHINE_ID, os.O_RDONLY | os.O_CLOEXEC)
        try:
            machine_id = os.read(file, 64)
        finally:
            os.close(file)
    return os.uname().nodename, machine_id.decode("ascii", "replace")


# Math.random cannot be seeded, so a generator of its own replaces it: sfc32 of PractRand
# (pracrand.sourceforge.net). Deno's crypto takes its numbers from a generator in memory, so they
# are replaced with those of the kernel.
_JAVASCRIPT = """void (() => {
  let [a, b, c, d] = SEED;
  const next = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 16; i += 1) next();
  Math.random = () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
  if (typeof Deno === 'undefined' || globalThis.crypto.getRandomValues.holt) return;
  const urandom = Deno.openSync('/dev/urandom');
  const original = crypto.getRandomValues.bind(crypto);
  const getRandomValues = (array) => {
    original(array);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let at = 0; at < bytes.length; ) at += urandom.readSync(bytes.subarray(at)) ?? bytes.length;
    return array;
  };
  getRandomValues.holt = true;
  const randomUUID = () => {
    const bytes = getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  };
  Object.defineProperties(crypto, {
    getRandomValues: { value: getRandomValues, configurable: true, writable: true },
    randomUUID: { value: randomUUID, configurable: true, writable: true },
  });
})()"""


def reseeding(language: str) -> str | None:
    """
    Returns code that gives the generators of a language a fresh seed, or null. The Python kernel of
    this template does it by itself.
    """
    if language in ("javascript", "typescript"):
        seed = [secrets.randbits(32) - 2**31 for _ in range(4)]
        return _JAVASCRIPT.replace("SEED", json.dumps(seed))
    if language == "bash":
        return f"RANDOM={secrets.randbits(31)}"
    if language == "r":
        return f"set.seed({secrets.randbits(31)})"
    return None
