import { expect, test } from 'vitest'
import { type Address, parseAddress } from '../../src/addresses/parse-address.ts'
import { deniesPeer, withoutDenied } from '../../src/upstream/denied-networks.ts'

const addresses = (...texts: string[]) => texts.map((text) => parseAddress(text) as Address)

test.each([
  [['203.0.113.0/24'], '203.0.113.7', true],
  [['203.0.113.0/24'], '203.0.114.7', false],
  [['203.0.113.0/24'], '::ffff:203.0.113.7', true],
  [['203.0.113.0/24'], '64:ff9b::cb00:7107', true],
  [['2001:db8::/32'], '2001:db8::1', true],
  [['2001:db8::/32'], '203.0.113.7', false],
  [['0.0.0.0/0'], '1.2.3.4', true],
  [['not a network'], '1.2.3.4', true],
  [[], '1.2.3.4', false],
])('%j denies %s: %s', (deny, text, expected) => {
  const found = { type: 'found', addresses: addresses(text), port: 1 } as const
  expect(withoutDenied({ deny }, found).type).toBe(expected ? 'refused' : 'found')
  expect(deniesPeer({ deny }, text)).toBe(expected)
})

test('the other addresses of a name are kept', () => {
  const found = { type: 'found', addresses: addresses('1.2.3.4', '5.6.7.8'), port: 1 } as const
  expect(withoutDenied({ deny: ['1.2.3.0/24'] }, found)).toEqual({ ...found, addresses: addresses('5.6.7.8') })
})
