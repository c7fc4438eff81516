import packet from 'dns-packet'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readQuery } from '../../src/dns/read-query.ts'
import { rcode, writeAnswer, writeMalformed } from '../../src/dns/write-answer.ts'

/** A message with one question of raw labels. */
function queryOf(
  labels: readonly (string | Buffer)[],
  more: { flags?: number; counts?: number[]; tail?: Buffer; type?: number } = {},
): Buffer {
  const header = Buffer.alloc(12)
  for (const [i, value] of [7, more.flags ?? 0x0100, ...(more.counts ?? [1, 0, 0, 0])].entries())
    header.writeUInt16BE(value, i * 2)
  const name = labels.map((label) => {
    const bytes = Buffer.from(label as string, 'latin1')
    return Buffer.concat([Buffer.of(bytes.length), bytes])
  })
  const end = Buffer.from([0, 0, more.type ?? 1, 0, 1])
  return Buffer.concat([header, ...name, end, more.tail ?? Buffer.alloc(0)])
}

describe('a query', () => {
  test('has one canonical name in any case', () => {
    expect(readQuery(queryOf(['aPi', 'ExAmPlE', 'com']))).toMatchObject({
      id: 7,
      name: 'api.example.com',
      type: 1,
      class: 1,
      ednsVersion: null,
      recursionDesired: true,
    })
  })

  test.each([
    ['a NUL inside a label', ['attacker\0', 'allowed', 'com'], 'attacker\\000.allowed.com'],
    ['a dot inside a label', ['api.example', 'com'], 'api\\046example.com'],
    ['a name in one label', ['api.example.com'], 'api\\046example\\046com'],
    ['bytes above ASCII', ['b\xfccher', 'example'], 'b\\252cher.example'],
    ['a space', ['a b', 'com'], 'a\\032b.com'],
    ['the root', [], '.'],
    ['one label', ['localhost'], 'localhost'],
    ['a backslash', ['a\\046b', 'com'], 'a\\092046b.com'],
    ['a final hyphen', ['a-', 'com'], 'a-.com'],
  ])('with %s has no name, and is logged safely', (_, labels, shown) => {
    expect(readQuery(queryOf(labels))).toMatchObject({ name: null, shownName: shown })
  })

  test.each([
    ['an answer', queryOf(['a', 'b'], { flags: 0x8100 })],
    ['an update', queryOf(['a', 'b'], { flags: 0x2800 })],
    ['cut off', queryOf(['a', 'b'], { flags: 0x0300 })],
    ['two questions', queryOf(['a', 'b'], { counts: [2, 0, 0, 0], tail: queryOf(['c', 'd']).subarray(12) })],
    ['no question', queryOf(['a', 'b'], { counts: [0, 0, 0, 0] })],
    ['an answer record', queryOf(['a', 'b'], { counts: [1, 1, 0, 0] })],
    ['bytes at the end', queryOf(['a', 'b'], { tail: Buffer.of(1) })],
    ['a promised record that is missing', queryOf(['a', 'b'], { counts: [1, 0, 0, 1] })],
    [
      'another record than EDNS',
      queryOf(['a', 'b'], { counts: [1, 0, 0, 1], tail: Buffer.from([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]) }),
    ],
    ['a pointer', Buffer.concat([queryOf([]).subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])])],
    [
      'a pointer after a label',
      Buffer.concat([queryOf([]).subarray(0, 12), Buffer.from([1, 97, 0xc0, 12, 0, 1, 0, 1])]),
    ],
    [
      'a label of 64 bytes',
      Buffer.concat([
        queryOf([]).subarray(0, 12),
        Buffer.from([64]),
        Buffer.alloc(64, 97),
        Buffer.from([0, 0, 1, 0, 1]),
      ]),
    ],
    ['a name of 256 bytes', queryOf([...Array.from({ length: 127 }, () => 'a'), 'b'])],
    ['no end', queryOf(['a', 'b']).subarray(0, 15)],
    ['no type', queryOf(['a', 'b']).subarray(0, 18)],
  ])('is malformed with %s', (_, message) => {
    expect(readQuery(message)).toMatchObject({ id: 7, malformed: expect.any(String) })
  })

  test('is ignored if it is shorter than a header', () => {
    expect(readQuery(Buffer.alloc(11))).toBeNull()
  })

  test('never throws, and never has a name that is not in its bytes', () => {
    const flip = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }))
    const start = fc.constantFrom(
      queryOf(['api', 'example', 'com']),
      packet.encode({
        type: 'query',
        id: 7,
        questions: [{ type: 'A', name: 'api.example.com' }],
        additionals: [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: 1232,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ],
      }),
    )
    const mutated = fc
      .tuple(start, fc.array(flip, { maxLength: 6 }), fc.nat({ max: 60 }))
      .map(([message, flips, cut]) => {
        const bytes = Buffer.from(message)
        for (const [at, value] of flips) bytes[at % bytes.length] = value
        return bytes.subarray(0, Math.max(0, bytes.length - Math.max(0, cut - 40)))
      })
    fc.assert(
      fc.property(
        fc.oneof(
          mutated,
          fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
        ),
        (message) => {
          const query = readQuery(message)
          if (query === null || 'malformed' in query || query.name === null) return
          const [question] = packet.decode(message).questions ?? []
          expect(question?.name.toLowerCase()).toBe(query.name)
          expect(writeAnswer(query, { code: 0 }).length).toBeGreaterThan(12)
        },
      ),
      { numRuns: 3000 },
    )
  })
})

describe('an answer', () => {
  const edns = packet.encode({
    type: 'query',
    id: 99,
    flags: packet.RECURSION_DESIRED,
    questions: [{ type: 'A', name: 'aPi.example.com' }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: 4096,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  })
  const query = (message: Buffer) => {
    const read = readQuery(message)
    if (read === null || 'malformed' in read) throw new Error('malformed')
    return read
  }

  test('repeats the question unchanged, and has an address', () => {
    const address = { family: 4, bytes: Uint8Array.of(198, 18, 1, 0), text: '198.18.1.0' } as const
    const answer = packet.decode(writeAnswer(query(edns), { code: rcode.ok, record: { type: 'A', address } }))
    expect(answer).toMatchObject({ id: 99, type: 'response', rcode: 'NOERROR', flag_rd: true, flag_ra: true })
    expect(answer.questions?.[0]?.name).toBe('aPi.example.com')
    expect(answer.answers).toMatchObject([{ name: 'aPi.example.com', type: 'A', ttl: 60, data: '198.18.1.0' }])
  })

  test('has a name', () => {
    const answer = packet.decode(
      writeAnswer(query(edns), { code: rcode.ok, record: { type: 'PTR', name: 'a.b.example.com' } }),
    )
    expect(answer.answers).toMatchObject([{ type: 'PTR', data: 'a.b.example.com' }])
  })

  test('has an extended error that says it is blocked', () => {
    const bytes = writeAnswer(query(edns), { code: rcode.refused, extendedError: 15 })
    expect(packet.decode(bytes)).toMatchObject({ rcode: 'REFUSED', additionals: [{ type: 'OPT' }] })
    expect(bytes.subarray(-6)).toEqual(Buffer.from([0, 15, 0, 2, 0, 15]))
    const plain = writeAnswer(query(queryOf(['a', 'b'])), { code: rcode.refused, extendedError: 15 })
    expect(packet.decode(plain)).toMatchObject({ rcode: 'REFUSED', additionals: [] })
  })

  test('to an invalid query is an error code', () => {
    expect(packet.decode(writeMalformed({ id: 5, malformed: '' }))).toMatchObject({
      id: 5,
      rcode: 'FORMERR',
      questions: [],
    })
  })
})
