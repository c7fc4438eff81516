import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { embeddedAddresses, mayDial, nonPublicKind } from '../../src/addresses/non-public.ts'
import { type Address, addressOf, type Network, parseAddress, parseNetwork } from '../../src/addresses/parse-address.ts'

const address = (text: string): Address => {
  const parsed = parseAddress(text)
  if (parsed === null) throw new Error(text)
  return parsed
}
const networks = (...texts: string[]): Network[] => texts.flatMap((text) => parseNetwork(text) ?? [])

describe('an address is not public', () => {
  test.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.0.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '169.254.169.254',
    '100.100.100.200',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:2::1',
    '2001:10::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    'ff0e::1',
    '4000::1',
    '8000::1',
    '2600:1f18::5efe:a00:1',
    '2600:1f18::200:5efe:808:808',
    'fd20:ce::254',
  ])('%s', (text) => {
    expect(nonPublicKind(address(text))).not.toBeNull()
    expect(mayDial(address(text), [])).toBe(false)
  })
})

describe('an address is public', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.1',
    '192.0.3.1',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '203.0.112.1',
    '223.255.255.255',
    '168.63.129.17',
    '2606:4700::1111',
    '2a00:1450::1',
    '2001:4860:4860::8888',
    '2400::1',
    '2001:200::1',
    '2003::1',
    '3ffe::1',
  ])('%s', (text) => {
    expect(nonPublicKind(address(text))).toBeNull()
    expect(mayDial(address(text), [])).toBe(true)
  })
})

describe('a network that the operator allows', () => {
  test.each([
    ['10.1.2.3', ['10.0.0.0/8'], true],
    ['10.1.2.3', ['11.0.0.0/8', '10.1.2.3/32'], true],
    ['127.0.0.1', ['0.0.0.0/0'], true],
    ['169.254.0.1', ['169.254.0.0/16'], true],
    ['169.254.169.254', ['169.254.0.0/16'], false],
    ['169.254.169.254', ['0.0.0.0/0'], false],
    ['169.254.169.254', ['169.254.169.254/32'], true],
    ['168.63.129.16', ['168.63.0.0/16'], false],
    ['fd00:ec2::254', ['fc00::/7'], false],
    ['fd00:ec2::254', ['fd00:ec2::254/128'], true],
    ['fd00::1', ['fc00::/7'], true],
    ['::ffff:10.0.0.1', ['10.0.0.0/8'], false],
    ['::ffff:10.0.0.1', ['::ffff:0:0/96'], false],
    ['::ffff:10.0.0.1', ['::ffff:0:0/96', '10.0.0.0/8'], true],
    ['::ffff:8.8.8.8', ['::ffff:0:0/96'], true],
    ['64:ff9b::8.8.8.8', ['64:ff9b::/96'], true],
    ['64:ff9b::169.254.169.254', ['64:ff9b::/96'], false],
    ['64:ff9b::169.254.169.254', ['::/0', '0.0.0.0/0'], false],
    ['64:ff9b::10.0.0.1', ['64:ff9b::/96'], false],
    ['2002:a00:1::1', ['2002::/16'], false],
    ['2002:808:808::1', ['2002::/16'], true],
    ['2600:1f18::5efe:a00:1', ['2600::/16'], false],
  ])('%s with %j: %s', (text, allowed, expected) => {
    expect(mayDial(address(text), networks(...allowed))).toBe(expected)
  })

  test('never opens the IPv4 metadata address by a range, however it is embedded', () => {
    const wraps = ['', '::ffff:', '::', '64:ff9b::', '::ffff:0:']
    const ranges = networks(
      '0.0.0.0/0',
      '::/0',
      '169.254.0.0/16',
      '64:ff9b::/96',
      '::ffff:0:0/96',
      '::/96',
      '168.0.0.0/5',
    )
    for (const wrap of wraps)
      for (const metadata of ['169.254.169.254', '168.63.129.16', '100.100.100.200'])
        expect(mayDial(address(`${wrap}${metadata}`), ranges)).toBe(false)
  })

  test('decides on an address that embeds IPv4', () => {
    const v4 = fc.uint8Array({ minLength: 4, maxLength: 4 })
    const all = networks('::/0')
    fc.assert(
      fc.property(v4, fc.constantFrom('::ffff:', '64:ff9b::', '::', '::ffff:0:'), (bytes, wrap) => {
        const inner = addressOf(bytes)
        const outer = address(`${wrap}${inner.text}`)
        expect(nonPublicKind(outer)).not.toBeNull()
        if (outer.text !== '::' && outer.text !== '::1')
          expect(embeddedAddresses(outer).map(({ text }) => text)).toContain(inner.text)
        expect(mayDial(outer, all)).toBe(nonPublicKind(inner) === null)
      }),
    )
  })
})
