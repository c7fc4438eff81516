import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressOf, contains, parseAddress, parseNetwork } from '../../src/addresses/parse-address.ts'

describe('an address', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['::ffff:1.2.3.4', '::ffff:102:304'],
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
    ['1::', '1::'],
  ])('%s has the canonical text %s', (text, canonical) => {
    expect(parseAddress(text)?.text).toBe(canonical)
  })

  test.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.04',
    '0x7f.0.0.1',
    '2130706433',
    '127.1',
    '256.0.0.1',
    '1.2.3.-4',
    ' 1.2.3.4',
    '1.2.3.4\0',
    '1.2.3.4 ',
    '１.2.3.4',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '12345::',
    '::1%eth0',
    '[::1]',
    '::1.2.3',
    '1.2.3.4::',
    '::ffff:01.2.3.4',
    '1:2:3:4:5:6:7::8:9',
    '1:2:3:4:5:6:7:1.2.3.4',
    ':1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:',
  ])('%j is not an address', (text) => {
    expect(parseAddress(text)).toBeNull()
  })

  test('every formatted address is parsed as the same bytes, and Node agrees', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    )
    fc.assert(
      fc.property(bytes, (value) => {
        const address = addressOf(value)
        expect(parseAddress(address.text)?.bytes).toEqual(value)
        expect(isIP(address.text)).toBe(value.length === 4 ? 4 : 6)
      }),
    )
  })

  test('every text that is parsed as an address is one for Node', () => {
    const texts = fc.stringMatching(/^[0-9a-f:.]{1,24}$/)
    fc.assert(
      fc.property(texts, (text) => parseAddress(text) === null || isIP(text) !== 0),
      { numRuns: 2000 },
    )
  })
})

describe('a network', () => {
  test.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/9', '10.128.0.0', false],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '1.2.3.4', false],
    ['::ffff:0:0/96', '1.2.3.4', false],
    ['203.0.113.7/32', '203.0.113.7', true],
    ['203.0.113.7/32', '203.0.113.6', false],
    ['2001:db8::/33', '2001:db8:8000::', false],
  ])('%s contains %s: %s', (network, address, expected) => {
    const [parsed, inside] = [parseNetwork(network), parseAddress(address)]
    expect(parsed !== null && inside !== null && contains(parsed, inside)).toBe(expected)
  })

  test.each(['10.0.0.0', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/-1', '::/129', '10.0.0.0/8/8', '/8', '10.0.0.0/'])(
    '%j is not a network',
    (text) => {
      expect(parseNetwork(text)).toBeNull()
    },
  )

  test('contains exactly the addresses that share its first bits', () => {
    const cases = fc.tuple(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.integer({ min: 0, max: 32 }),
    )
    const bits = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
    fc.assert(
      fc.property(cases, ([one, other, length]) => {
        const network = { family: 4, bytes: one, length } as const
        expect(contains(network, addressOf(other))).toBe(bits(one).slice(0, length) === bits(other).slice(0, length))
      }),
    )
  })
})
