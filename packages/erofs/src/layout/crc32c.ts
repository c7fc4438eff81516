const POLYNOMIAL_REVERSED = 0x82f63b78

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL_REVERSED : value >>> 1
  return value
})

/**
 * Returns the CRC-32C (RFC 3720, Castagnoli) without the final inversion, as the kernel's
 * `crc32c(~0, ...)` does.
 */
export function crc32c(bytes: Uint8Array): number {
  let value = 0xffff_ffff
  for (const byte of bytes) value = (TABLE[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8)
  return value >>> 0
}
