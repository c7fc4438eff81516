import { expect, test } from 'vitest'
import { crc32c } from '../../src/layout/crc32c.ts'

test.each([
  // The check value of the catalogue of parametrised CRC algorithms (CRC-32/ISCSI), and RFC 3720,
  // B.4.
  ['the digits 1 to 9', Buffer.from('123456789'), 0xe3069283],
  ['32 bytes of zeros', Buffer.alloc(32), 0x8a9136aa],
  ['32 bytes of ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
])('gives the published value for %s, before its inversion', (_, bytes, published) => {
  expect(~crc32c(bytes) >>> 0).toBe(published)
})
