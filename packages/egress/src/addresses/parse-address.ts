/** An IP address. Every decision uses its bytes. */
export interface Address {
  readonly family: 4 | 6
  readonly bytes: Uint8Array
  /** Canonical text: dotted decimal, or RFC 5952 without the mixed form. */
  readonly text: string
}

/** A prefix of addresses. */
export interface Network {
  readonly family: 4 | 6
  readonly bytes: Uint8Array
  readonly length: number
}

const octet = /^(?:0|[1-9]\d{0,2})$/
const group = /^[0-9a-f]{1,4}$/i

/**
 * Parses an address strictly: four decimal octets without leading zeros, or RFC 4291 text without a
 * zone. Returns null for anything else.
 */
export function parseAddress(text: string): Address | null {
  if (text.length > 45) return null
  const bytes = text.includes(':') ? bytesOfV6(text) : bytesOfV4(text)
  return bytes === null ? null : addressOf(bytes)
}

/** Returns the address of 4 or 16 bytes. */
export function addressOf(bytes: Uint8Array): Address {
  if (bytes.length === 4) return { family: 4, bytes, text: bytes.join('.') }
  if (bytes.length !== 16) throw new RangeError(`an address has 4 or 16 bytes, not ${bytes.length}`)
  return { family: 6, bytes, text: textOfV6(bytes) }
}

/** Parses `address/length`. Returns null for anything else. Bits after the prefix are ignored. */
export function parseNetwork(text: string): Network | null {
  const [prefix = '', length = '', more] = text.split('/')
  const address = parseAddress(prefix)
  if (address === null || more !== undefined || !octet.test(length)) return null
  if (Number(length) > address.bytes.length * 8) return null
  return { family: address.family, bytes: address.bytes, length: Number(length) }
}

/**
 * Returns true if the address is in the network. An IPv4 address is never in an IPv6 network,
 * mapped or not.
 */
export function contains(network: Network, address: Address): boolean {
  if (network.family !== address.family) return false
  const whole = network.length >> 3
  for (let i = 0; i < whole; i++) if (network.bytes[i] !== address.bytes[i]) return false
  const rest = network.length & 7
  if (rest === 0) return true
  const mask = (0xff << (8 - rest)) & 0xff
  return ((network.bytes[whole] ?? 0) & mask) === ((address.bytes[whole] ?? 0) & mask)
}

function bytesOfV4(text: string): Uint8Array | null {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => octet.test(part) && Number(part) <= 255)) return null
  return Uint8Array.from(parts, Number)
}

function bytesOfV6(text: string): Uint8Array | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [head = '', tail] = halves
  const front = groupsOf(head, tail === undefined)
  const back = tail === undefined ? [] : groupsOf(tail, true)
  if (front === null || back === null) return null
  const missing = 16 - front.length - back.length
  if (tail === undefined ? missing !== 0 : missing < 2) return null
  return Uint8Array.from([...front, ...new Array<number>(missing).fill(0), ...back])
}

/**
 * Returns the bytes of groups between colons, or null. The last group may be an IPv4 address if the
 * text ends there.
 */
function groupsOf(text: string, endsHere: boolean): number[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const bytes: number[] = []
  for (const [index, part] of parts.entries()) {
    if (endsHere && index === parts.length - 1 && part.includes('.')) {
      const embedded = bytesOfV4(part)
      if (embedded === null) return null
      bytes.push(...embedded)
    } else {
      if (!group.test(part)) return null
      const value = Number.parseInt(part, 16)
      bytes.push(value >> 8, value & 0xff)
    }
  }
  return bytes
}

function textOfV6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0))
  let best = { start: -1, length: 1 }
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (start + length < 8 && groups[start + length] === 0) length++
    if (length > best.length) best = { start, length }
  }
  const hex = (from: number, to: number) =>
    groups
      .slice(from, to)
      .map((value) => value.toString(16))
      .join(':')
  return best.start < 0 ? hex(0, 8) : `${hex(0, best.start)}::${hex(best.start + best.length, 8)}`
}
