import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideEgress, type EgressMode, type EgressWish } from '../../src/index.ts'

const modes = ['deny', 'request', 'open'] as const
const all = ['0.0.0.0/0']

const wish = (internet: boolean | undefined, network?: EgressWish['network'] | object): EgressWish => ({
  internet,
  network:
    network === undefined
      ? undefined
      : { allowOut: undefined, denyOut: undefined, egressProxy: undefined, rules: undefined, ...network },
})

describe('egress', () => {
  // The columns are the modes deny, request and open.
  it.each<[string, EgressWish, readonly [string, string, string]]>([
    ['nothing', wish(undefined), ['nothing', 'nothing', 'internet']],
    ['the Internet', wish(true), ['nothing', 'internet', 'internet']],
    ['no Internet', wish(false), ['nothing', 'nothing', 'nothing']],
    ['names', wish(undefined, { allowOut: ['a.b'] }), ['403', 'only', '400']],
    ['names, and nothing else', wish(undefined, { allowOut: ['a.b'], denyOut: all }), ['403', 'only', 'only']],
    ['names, and the Internet', wish(true, { allowOut: ['a.b'], denyOut: all }), ['403', 'only', 'only']],
    ['names, and no Internet', wish(false, { allowOut: ['a.b'] }), ['403', 'nothing', 'nothing']],
    ['addresses', wish(undefined, { allowOut: ['1.2.3.4'] }), ['403', 'only', 'internet']],
    ['everything', wish(undefined, { allowOut: all }), ['403', 'internet', 'internet']],
    ['a deny of everything', wish(true, { denyOut: all }), ['nothing', 'nothing', 'nothing']],
    ['a deny of everything in IPv6', wish(true, { denyOut: ['::/0'] }), ['nothing', 'nothing', 'nothing']],
    ['a deny of some', wish(true, { denyOut: ['1.2.3.0/24'] }), ['nothing', 'internet', 'internet']],
    ['a deny of some, and nothing', wish(undefined, { denyOut: ['1.2.3.0/24'] }), ['nothing', 'nothing', 'internet']],
    ['a deny of a name', wish(true, { denyOut: ['a.b'] }), ['400', '400', '400']],
    ['addresses, and a deny', wish(true, { allowOut: ['1.2.3.4'], denyOut: ['5.6.7.8'] }), ['403', 'only', 'internet']],
    ['a deny of a part', wish(true, { allowOut: ['1.2.0.0/16'], denyOut: ['1.2.3.4'] }), ['400', '400', '400']],
    ['a deny of more', wish(true, { allowOut: ['1.2.3.4'], denyOut: ['1.2.3.0/24'] }), ['400', '400', '400']],
    ['a proxy', wish(true, { egressProxy: { address: 'a:1' } }), ['400', '400', '400']],
    ['no proxy', wish(true, { egressProxy: null }), ['nothing', 'internet', 'internet']],
    ['rules', wish(true, { rules: { 'a.b': [] } }), ['400', '400', '400']],
    ['no destination', wish(true, { allowOut: ['a b'] }), ['400', '400', '400']],
    ['a wrong network', wish(true, { allowOut: ['1.2.3.4/x'] }), ['400', '400', '400']],
  ])('of a create that says %s', (_, asked, expected) => {
    const found = modes.map((mode) => {
      const egress = decideEgress(mode, asked)
      return egress.type === 'refused' ? String(egress.status) : egress.type
    })
    expect(found).toEqual(expected)
  })

  it('writes hosts in their canonical form', () => {
    const allowOut = ['A.Example.com.', '*.B.c', '1.2.3.4', '2001:db8::1', '10.0.0.0/8']
    expect(decideEgress('request', wish(undefined, { allowOut }))).toEqual({
      type: 'only',
      hosts: ['a.example.com', '*.b.c', '1.2.3.4/32', '2001:db8::1/128', '10.0.0.0/8'],
      deny: [],
    })
    const denyOut = ['1.2.3.4', '2001:db8::/32', '0.0.0.0/0']
    expect(decideEgress('request', wish(true, { allowOut: ['a.b'], denyOut }))).toEqual({
      type: 'only',
      hosts: ['a.b'],
      deny: ['1.2.3.4/32', '2001:db8::/32'],
    })
  })

  const anyWish = fc.record({
    internet: fc.constantFrom(true, false, undefined),
    network: fc.option(
      fc.record({
        allowOut: fc.option(fc.array(fc.oneof(fc.domain(), fc.ipV4(), fc.constant('0.0.0.0/0'))), { nil: undefined }),
        denyOut: fc.option(fc.array(fc.oneof(fc.ipV4(), fc.constant('0.0.0.0/0'))), { nil: undefined }),
        egressProxy: fc.constantFrom(undefined, null),
        rules: fc.constant(undefined),
      }),
      { nil: undefined },
    ),
  })

  it('never opens anything that the operator denies', () => {
    fc.assert(fc.property(anyWish, (asked) => ['nothing', 'refused'].includes(decideEgress('deny', asked).type)))
  })

  it('never opens anything for a create that wants no Internet and names no host', () => {
    const without = anyWish.filter(({ network }) => (network?.allowOut ?? []).length === 0)
    fc.assert(
      fc.property(without, fc.constantFrom<EgressMode>(...modes), (asked, mode) => {
        const { type } = decideEgress(mode, { ...asked, internet: false })
        return type === 'nothing' || type === 'refused'
      }),
    )
  })
})
