import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boundaryOf, type PartLimits, readParts } from '../../src/multipart/read-parts.ts'
import { inPieces } from '../support/in-pieces.ts'

const boundary = Buffer.from('xYz')

interface Sent {
  readonly name: string
  readonly filename: string
  readonly content: Buffer
}

/** Writes a form as browsers and the clients do. */
function formOf(parts: readonly Sent[]): Buffer {
  const escaped = (text: string) => text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')
  const pieces = parts.map(({ name, filename, content }) => {
    const disposition = `form-data; name="${escaped(name)}"; filename="${escaped(filename)}"`
    const head = `--xYz\r\nContent-Disposition: ${disposition}\r\nContent-Type: text/plain\r\n\r\n`
    return Buffer.concat([Buffer.from(head), content, Buffer.from('\r\n')])
  })
  return Buffer.concat([...pieces, Buffer.from('--xYz--\r\n')])
}

async function partsIn(body: Buffer, cuts: readonly number[], limits: Partial<PartLimits> = {}): Promise<Sent[]> {
  const parts: Sent[] = []
  for await (const { name, filename, content } of readParts(inPieces(body, cuts), boundary, limits)) {
    const chunks: Buffer[] = []
    for await (const chunk of content) chunks.push(Buffer.from(chunk))
    parts.push({ name, filename: filename ?? '', content: Buffer.concat(chunks) })
  }
  return parts
}

// The file names of the clients: `%22` stands for a quote, so a name with these three characters
// comes back as one, and so do two backslashes.
const fileName = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((name) => !/%(?:22|0A|0D)|\\\\/.test(name))
const content = fc.oneof(
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
  // Almost boundaries.
  fc
    .array(fc.constantFrom('\r\n--xY', '\r\n--', '\r', '\n', '--xYz', 'z'), { maxLength: 8 })
    .map((texts) => texts.join(''))
    .filter((text) => !`${text}\r\n`.includes('\r\n--xYz'))
    .map((text) => Buffer.from(text)),
)

describe('a form', () => {
  it('is read however it is cut', async () => {
    const parts = fc.array(fc.record({ name: fileName, filename: fileName, content }), { maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(parts, fc.array(fc.integer({ min: 1, max: 40 })), async (sent, cuts) => {
        expect(await partsIn(formOf(sent), cuts)).toEqual(sent)
      }),
    )
  })

  it('of any bytes ends or fails with a Connect error', async () => {
    const bytes = fc.array(
      fc.constantFrom('--xYz', '\r\n', '--', 'a', ': ', 'Content-Disposition: form-data; name="a"'),
    )
    await fc.assert(
      fc.asyncProperty(bytes, fc.array(fc.integer({ min: 1, max: 9 })), async (texts, cuts) => {
        const ended = await partsIn(Buffer.from(texts.join('')), cuts).then(
          () => 'read',
          ({ code }: { code?: string }) => code,
        )
        expect(['read', 'invalid_argument']).toContain(ended)
      }),
    )
  })

  it('keeps backslashes and other escapes in names of files', async () => {
    const filename = 'dir/a\\b "q" %20 %2F é\r\n.txt'
    const [part] = await partsIn(formOf([{ name: 'file', filename, content: Buffer.from('x') }]), [])
    expect(part?.filename).toBe(filename)
  })

  it('skips what is not read of a part', async () => {
    const body = formOf(['one', 'two'].map((name) => ({ name, filename: name, content: Buffer.alloc(5000, 'a') })))
    const names: string[] = []
    for await (const { name, content: chunks } of readParts(inPieces(body, [700, 700]), boundary)) {
      names.push(name)
      if (name === 'one') for await (const _ of chunks) break
    }
    expect(names).toEqual(['one', 'two'])
  })

  it.each([
    [
      'too many parts',
      formOf(Array(4).fill({ name: 'f', filename: 'f', content: Buffer.alloc(0) })),
      'resource_exhausted',
    ],
    [
      'too long headers',
      formOf([{ name: 'f', filename: 'f'.repeat(600), content: Buffer.alloc(0) }]),
      'invalid_argument',
    ],
    ['endless headers', Buffer.concat([Buffer.from('--xYz\r\na:'), Buffer.alloc(9000, 'b')]), 'invalid_argument'],
    ['no boundary', Buffer.alloc(3000, 'a'), 'invalid_argument'],
    ['no end', formOf([{ name: 'f', filename: 'f', content: Buffer.alloc(0) }]).subarray(0, -4), 'invalid_argument'],
    ['a part without a name', Buffer.from('--xYz\r\nA: b\r\n\r\n\r\n--xYz--'), 'invalid_argument'],
    ['headers that are not UTF-8', Buffer.from('--xYz\r\nA: \xff\r\n\r\n\r\n--xYz--', 'latin1'), 'invalid_argument'],
  ])('with %s is refused', async (_, body, code) => {
    await expect(partsIn(body, [], { maxParts: 3, maxHeaderBytes: 500 })).rejects.toMatchObject({ code })
  })
})

describe('the boundary of a form', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data; charset=utf-8; boundary="a b"', 'a b'],
    ['Multipart/Form-Data;boundary=----x', '----x'],
  ])('is in %s', (type, found) => {
    expect(boundaryOf(type)?.toString()).toBe(found)
  })

  it.each([
    undefined,
    'multipart/form-data',
    'multipart/mixed; boundary=a',
    `multipart/form-data; boundary=${'a'.repeat(71)}`,
  ])('is not in %s', (type) => expect(boundaryOf(type)).toBeNull())
})
