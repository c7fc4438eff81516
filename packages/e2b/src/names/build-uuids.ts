import { type Id, idPrefixes } from '@holt/protocol'

/** The digits of base 36 in the order of their values. */
const digits = '0123456789abcdefghijklmnopqrstuvwxyz'

/** The number of random characters in an id. They have less than 104 bits. */
const idLength = 20

/** Version 8 of RFC 9562, section 5.8: all bits except version and variant are free. */
const version = 8n
const variant = 0b10n

/**
 * Returns a build's id as a UUID of version 8 (RFC 9562). The clients parse ids of builds as UUIDs.
 * `buildIdOf` returns the id again.
 */
export function buildUuid(buildId: Id<'build'>): string {
  let value = 0n
  for (const character of buildId.slice(idPrefixes.build.length))
    value = value * 36n + BigInt(digits.indexOf(character))
  // The 122 free bits surround the version (4 bits, after the first 48) and the variant (2 bits,
  // after 12 more).
  const bits =
    ((value >> 74n) << 80n) |
    (version << 76n) |
    (((value >> 62n) & 0xfffn) << 64n) |
    (variant << 62n) |
    (value & ((1n << 62n) - 1n))
  const hex = bits.toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Returns the build's id that a UUID stands for. Returns undefined for every other text. */
export function buildIdOf(uuid: string): Id<'build'> | undefined {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(uuid)) return undefined
  const bits = BigInt(`0x${uuid.replaceAll('-', '')}`)
  let value = ((bits >> 80n) << 74n) | (((bits >> 64n) & 0xfffn) << 62n) | (bits & ((1n << 62n) - 1n))
  let text = ''
  for (let index = 0; index < idLength; index += 1) {
    text = `${digits[Number(value % 36n)]}${text}`
    value /= 36n
  }
  return value === 0n ? (`${idPrefixes.build}${text}` as Id<'build'>) : undefined
}
