import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAddress } from '../../src/addresses/parse-address.ts'
import { SyntheticAddresses } from '../../src/addresses/synthetic-addresses.ts'

const nameOf = (table: SyntheticAddresses, text: string | null) => {
  const address = parseAddress(text ?? '')
  return address === null ? null : table.nameOf(address)
}

describe('synthetic addresses', () => {
  test('begin after the resolver and map to one name each', () => {
    const table = new SyntheticAddresses({})
    expect(table.assign('a.example')).toBe('198.18.1.0')
    expect(table.assign('b.example')).toBe('198.18.1.1')
    expect(table.assign('a.example')).toBe('198.18.1.0')
    expect(nameOf(table, '198.18.1.1')).toBe('b.example')
    expect(nameOf(table, '198.18.1.2')).toBeNull()
    expect(nameOf(table, '8.8.8.8')).toBeNull()
    expect(nameOf(table, '::ffff:198.18.1.1')).toBeNull()
  })

  test('reuse the address of the least recently used name', () => {
    const table = new SyntheticAddresses({ capacity: 2 })
    const first = table.assign('a.example')
    table.assign('b.example')
    table.assign('a.example')
    const third = table.assign('c.example')
    expect(third).toBe('198.18.1.2')
    expect(nameOf(table, first)).toBe('a.example')
    expect(nameOf(table, '198.18.1.1')).toBeNull()
  })

  test('keep addresses in use, and report when none is free', () => {
    const table = new SyntheticAddresses({ capacity: 1 })
    table.assign('a.example')
    const release = table.hold('a.example')
    expect(table.assign('b.example')).toBeNull()
    release()
    release()
    expect(table.assign('b.example')).toBe('198.18.1.1')
  })

  test('are restored after a restart, without invalid ones', () => {
    const assigned: unknown[] = []
    const known = [
      { name: 'a.example', address: '198.18.7.7' },
      { name: 'b.example', address: '198.18.7.7' },
      { name: 'c.example', address: '198.18.0.1' },
      { name: 'd.example', address: '10.0.0.1' },
      { name: 'NOT A NAME', address: '198.18.9.9' },
      { name: 'e.example', address: '198.19.255.254' },
    ]
    const table = new SyntheticAddresses({ known, onAssigned: (entry) => assigned.push(entry) })
    expect(table.assign('a.example')).toBe('198.18.7.7')
    expect(table.assign('e.example')).toBe('198.19.255.254')
    expect(table.assign('b.example')).toBe('198.18.1.0')
    expect(assigned).toEqual([{ name: 'b.example', address: '198.18.1.0' }])
  })

  test('never map two names to one address, in any order', () => {
    const names = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 60 })
    fc.assert(
      fc.property(names, (order) => {
        const table = new SyntheticAddresses({ capacity: 5 })
        for (const name of order) table.assign(`n${name}.example`)
        const latest = [...new Set(order.toReversed())].slice(0, 5)
        const addresses = latest.map((name) => table.assign(`n${name}.example`))
        expect(new Set(addresses).size).toBe(latest.length)
        for (const [index, name] of latest.entries())
          expect(nameOf(table, addresses[index] ?? null)).toBe(`n${name}.example`)
      }),
    )
  })
})
