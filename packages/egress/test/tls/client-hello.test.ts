import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { refuseHello } from '../../src/session/check-hello.ts'
import { maxHelloBytes, readClientHello } from '../../src/tls/client-hello.ts'
import { buildHello, captureHello, extension, serverNames } from '../support/client-hello.ts'

const verdict = (bytes: Buffer, name: string | null = 'api.example.com') => {
  const hello = readClientHello(bytes)
  return hello.type === 'hello' ? refuseHello(hello, name) : hello.type
}

describe('a ClientHello', () => {
  let real: Buffer
  beforeAll(async () => {
    real = await captureHello({ servername: 'api.example.com', ALPNProtocols: ['h2', 'http/1.1'] })
  })

  test('of a real client is parsed with its server name and protocols', async () => {
    expect(readClientHello(real)).toEqual({
      type: 'hello',
      serverName: 'api.example.com',
      protocols: ['h2', 'http/1.1'],
      hasEncryptedHello: false,
    })
    const old = await captureHello({ servername: 'api.example.com', maxVersion: 'TLSv1.2' })
    expect(verdict(old)).toBeNull()
    expect(verdict(await captureHello({}))).toBe('sni_missing')
  })

  test('reports the number of missing bytes, at every length', () => {
    for (let length = 0; length < real.length; length++) {
      const read = readClientHello(real.subarray(0, length))
      expect(read.type).toBe('incomplete')
      if (read.type === 'incomplete') expect(read.needed).toBeGreaterThan(length)
    }
  })

  test.each([1, 2, 3, 5, 50, 1000])('can arrive in records of %i bytes', (recordBytes) => {
    expect(verdict(buildHello([serverNames('api.example.com')], { recordBytes }))).toBeNull()
  })

  test.each([
    ['the name', serverNames('api.example.com'), null],
    ['the name in other letters', serverNames('API.example.COM'), null],
    ['another name', serverNames('other.example.com'), 'sni_mismatch'],
    ['a name below', serverNames('x.api.example.com'), 'sni_mismatch'],
    ['a final dot', serverNames('api.example.com.'), 'sni_mismatch'],
    ['a NUL after the name', serverNames('api.example.com\0'), 'sni_mismatch'],
    ['a NUL inside', serverNames('api.example.com\0.evil.com'), 'sni_mismatch'],
    ['the Kelvin sign', serverNames(Buffer.from('api.example.co\u212a')), 'sni_mismatch'],
    ['an address', serverNames('127.0.0.1'), 'sni_mismatch'],
    ['two names', serverNames('api.example.com', 'evil.example.com'), 'invalid'],
    ['no name in the list', serverNames(), 'invalid'],
    ['an empty name', serverNames(''), 'invalid'],
    [
      'the extension twice',
      Buffer.concat([serverNames('api.example.com'), serverNames('evil.example.com')]),
      'invalid',
    ],
    ['another type of name', extension(0, Buffer.from([0, 4, 1, 0, 1, 97])), 'invalid'],
    ['no extension', Buffer.alloc(0), 'sni_missing'],
    ['a cut off extension', Buffer.from([0, 0, 0]), 'invalid'],
    [
      'noise that looks like an encrypted hello',
      Buffer.concat([extension(0xfe0d, Buffer.alloc(100)), serverNames('api.example.com')]),
      null,
    ],
    [
      'an encrypted hello behind another name',
      Buffer.concat([serverNames('cloud.example'), extension(0xfe0d, Buffer.alloc(100))]),
      'sni_mismatch',
    ],
    ['an encrypted hello and no outer name', extension(0xfe0d, Buffer.alloc(100)), 'sni_missing'],
  ])('with %s', (_, extensions, expected) => {
    expect(verdict(buildHello([extensions]))).toBe(expected)
  })

  test('to an address can have any name or none', () => {
    expect(verdict(buildHello([serverNames('any.example.com')]), null)).toBeNull()
    expect(verdict(buildHello([]), null)).toBeNull()
  })

  test('reports encrypted client hello', () => {
    expect(readClientHello(buildHello([extension(0xfe0d, Buffer.alloc(9))]))).toMatchObject({ hasEncryptedHello: true })
  })

  test.each([
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['SSH', Buffer.from('SSH-2.0-OpenSSH_9\r\n')],
    ['SSLv2', Buffer.from([0x80, 0x2e, 1, 3, 1, 0, 0x15])],
    ['an alert', Buffer.from([21, 3, 1, 0, 2, 2, 40])],
    ['another handshake message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['an empty record', Buffer.from([22, 3, 1, 0, 0])],
    ['a record that is too long', Buffer.from([22, 3, 1, 0xff, 0xff])],
    ['a message that is too long', Buffer.from([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff])],
    ['bytes behind it in its record', buildHello([serverNames('api.example.com')], { tail: Buffer.of(0) })],
    [
      'a second message',
      Buffer.concat([buildHello([serverNames('api.example.com')]), buildHello([serverNames('evil.example.com')])]),
    ],
  ])('is not %s', (name, bytes) => {
    // A second message in a record of its own is nobody's business before the server has spoken;
    // the first counts.
    expect(readClientHello(bytes).type).toBe(name === 'a second message' ? 'hello' : 'invalid')
  })

  test('reads a bounded number of bytes', () => {
    const trickle = Buffer.concat(Array.from({ length: 8000 }, () => Buffer.from([22, 3, 1, 0, 1, 1])))
    const read = readClientHello(
      Buffer.concat([
        buildHello([extension(21, Buffer.alloc(16_000))], { recordBytes: 1 }).subarray(0, 6 * 4),
        trickle,
      ]),
    )
    if (read.type === 'incomplete') expect(read.needed).toBeLessThanOrEqual(2 * maxHelloBytes)
    else expect(read.type).toBe('invalid')
  })

  test('with changed bytes never throws, and never has a name that it does not contain', () => {
    const flips = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 5 })
    fc.assert(
      fc.property(flips, fc.nat({ max: 600 }), fc.boolean(), (changes, cut, isCut) => {
        const bytes = Buffer.from(real)
        for (const [at, value] of changes) bytes[at % bytes.length] = value
        const read = readClientHello(isCut ? bytes.subarray(0, cut) : bytes)
        if (read.type === 'hello' && read.serverName !== null)
          expect(bytes.includes(Buffer.from(read.serverName, 'latin1'))).toBe(true)
      }),
      { numRuns: 5000 },
    )
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        (bytes) => readClientHello(Buffer.from([22, 3, 1, ...bytes])).type !== undefined,
      ),
      { numRuns: 3000 },
    )
  })
})
