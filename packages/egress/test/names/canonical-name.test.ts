import { isHostName } from '@holt/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalName, splitAuthority } from '../../src/names/canonical-name.ts'

describe('a canonical name', () => {
  test.each([
    ['API.Example.COM', 'api.example.com'],
    ['api.example.com.', 'api.example.com'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ])('of %s is %s', (text, name) => {
    expect(canonicalName(text)).toBe(name)
  })

  test.each([
    'attacker.example\0.allowed.com',
    'allowed.com..',
    '.allowed.com',
    'allowed',
    'a b.com',
    'bücher.example',
    'api.example.co\u212a',
    '1.2.3.4',
    '0x7f.1',
    'allowed.com:443',
    'allowed.com/',
    'evil.com#.allowed.com',
    'a%00.com',
    '-a.com',
    '',
    '.',
    `${'a.'.repeat(130)}com`,
    'allowed.com\n',
  ])('%j has none', (text) => {
    expect(canonicalName(text)).toBeNull()
  })

  test('is unchanged by a second pass, and valid in a policy', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[a-zA-Z0-9._-]{1,30}$/)), (text) => {
        const name = canonicalName(text)
        if (name === null) return
        expect(canonicalName(name)).toBe(name)
        expect(isHostName(name)).toBe(true)
      }),
    )
  })
})

describe('an authority', () => {
  test.each([
    ['198.18.1.0:443', { host: '198.18.1.0', port: 443 }],
    ['[2001:db8::1]:443', { host: '2001:db8::1', port: 443 }],
    ['api.example.com', { host: 'api.example.com', port: null }],
  ])('%s is split', (text, expected) => {
    expect(splitAuthority(text)).toEqual(expected)
  })

  test.each([
    '198.18.1.0:0443',
    '198.18.1.0:0',
    '198.18.1.0:65536',
    '198.18.1.0:+443',
    '198.18.1.0:443 ',
    '198.18.1.0:',
    'user@host:443',
    '2001:db8::1',
    '[::1',
    '::1]:80',
    'a/b:80',
    'a?b:80',
    '',
    ':443',
    '[::1]x:80',
    '1.2.3.4:4:4',
  ])('%j is not valid', (text) => {
    expect(splitAuthority(text)).toBeNull()
  })
})
