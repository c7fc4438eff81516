/**
 * Orders hosts for a key by rendezvous hashing: each host gets a weight from the key and its id,
 * and the largest weight comes first. A host that joins or leaves changes no order of the others.
 *
 * Source: Thaler and Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM
 * Transactions on Networking 6 (1998).
 */
export function rankHosts(key: string, hostIds: readonly string[]): readonly string[] {
  const seed = hashOf(key)
  return hostIds
    .map((hostId) => ({ hostId, weight: weigh(seed, hostId) }))
    .sort((one, other) => other.weight - one.weight || (one.hostId < other.hostId ? -1 : 1))
    .map(({ hostId }) => hostId)
}

/** Returns the weight of a host for the hash of a key, from 0 to 2^32 - 1. */
export function weigh(seed: number, hostId: string): number {
  return mix(seed ^ Math.imul(hashOf(hostId), 0x9e3779b1))
}

/** Returns a hash of a text, from 0 to 2^32 - 1: FNV-1a over UTF-16 units, then mixed. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return mix(hash)
}

/** Mixes the bits of a number of 32 bits: the finalizer of MurmurHash3 (Austin Appleby). */
function mix(value: number): number {
  let bits = value
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
