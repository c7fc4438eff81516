import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FrameMasker } from '../../../src/terminate/http1/mask-frames.ts'
import { FrameReader } from '../../../src/terminate/http1/websocket-frames.ts'
import { redactionOf } from '../../../src/terminate/secrets/redact.ts'
import { Redactor } from '../../../src/terminate/secrets/redactor.ts'
import { countingReads } from '../secrets/counting-reads.ts'

const secret = 'sk-the-real-value-0123456789'
const redactions = redactionOf({ text: secret, placeholder: 'placeholder' })
const mask = 'placeholder'.padEnd(secret.length, '*')
const longForms = { short: 0, '16 bits': 126, '64 bits': 127 } as const

/** Returns a frame of a server, with its length in one of the three forms. */
function frame(first: number, content: string, form: keyof typeof longForms = 'short'): Buffer {
  const bytes = Buffer.from(content)
  if (form === 'short') return Buffer.concat([Buffer.from([first, bytes.length]), bytes])
  const length = Buffer.alloc(form === '16 bits' ? 2 : 8)
  length.writeUIntBE(bytes.length, Math.max(0, length.length - 6), Math.min(6, length.length))
  return Buffer.concat([Buffer.from([first, longForms[form]]), length, bytes])
}

function* pieces(bytes: Buffer, cuts: readonly number[]): Generator<Buffer> {
  for (let at = 0, cut = 0; at < bytes.length; cut++) {
    const size = cuts[cut % cuts.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 })

test('a secret in a message is masked across frames, and the frames stay', () => {
  const parts = fc.array(fc.tuple(fc.integer({ min: 0, max: 12 }), fc.constantFrom('short', '16 bits', '64 bits')), {
    minLength: 1,
    maxLength: 8,
  })
  fc.assert(
    fc.property(parts, cuts, fc.boolean(), (sizes, cut, pings) => {
      const framesOf = (text: string) => {
        const frames: Buffer[] = []
        let at = 0
        for (const [index, [size, form]] of sizes.entries()) {
          frames.push(frame(index === 0 ? 0x01 : 0x00, text.slice(at, at + size), form))
          if (pings) frames.push(frame(0x89, 'ping'))
          at += size
        }
        return Buffer.concat([...frames, frame(0x80, text.slice(at)), frame(0x82, 'next')])
      }
      const masker = new FrameMasker(redactions)
      const given = [...pieces(framesOf(`<${secret}>`), cut)].map((piece) => masker.push(piece))
      expect(Buffer.concat(given)).toEqual(framesOf(`<${mask}>`))
    }),
  )
})

test('a complete message is sent at once', () => {
  const masker = new FrameMasker(redactions)
  const message = frame(0x81, `{"text":"${secret.slice(0, 20)}"}`)
  expect(masker.push(message)).toEqual(message)
})

test('a secret in a ping or a close is masked', () => {
  const masker = new FrameMasker(redactions)
  expect(masker.push(frame(0x89, secret))).toEqual(frame(0x89, mask))
})

test('bytes that are not frames are masked as bytes', () => {
  const masker = new FrameMasker(redactions)
  const given = [masker.push(Buffer.from(`no frame ${secret.slice(0, 9)}`)), masker.push(Buffer.from(secret.slice(9)))]
  expect(Buffer.concat([...given, masker.release()]).toString()).toBe(`no frame ${mask}`)
})

test('endless empty frames are not kept', () => {
  const masker = new FrameMasker(redactions)
  const first = frame(0x01, 'held')
  const empty = frame(0x00, '')
  let bytes = masker.push(first).length
  for (let count = 0; count < 5_000; count++) bytes += masker.push(empty).length
  expect(bytes).toBeGreaterThan(first.length + 3_000 * empty.length)
})

test('any bytes keep their number, without other effects', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), cuts, (bytes, cut) => {
      const masker = new FrameMasker([])
      const given = [...pieces(Buffer.from(bytes), cut)].map((piece) => masker.push(piece))
      const reader = new FrameReader()
      const parts = [...pieces(Buffer.from(bytes), cut)].flatMap((piece) => reader.read(piece))
      const whole = parts.reduce((sum, part) => sum + (part.type === 'end' ? 0 : part.bytes.length), 0)
      expect(Buffer.concat([...given, masker.release()])).toEqual(Buffer.from(bytes.subarray(0, whole)))
    }),
  )
})

test('a flood of pings and pongs shares one masker', () => {
  const { counted, reads } = countingReads(redactions)
  const masker = new FrameMasker(counted)
  const before = reads()
  const flood = Buffer.concat(Array.from({ length: 1_000 }, () => frame(0x8a, `-${secret}-`)))
  expect(masker.push(flood)).toEqual(Buffer.concat(Array.from({ length: 1_000 }, () => frame(0x8a, `-${mask}-`))))
  expect(reads()).toBe(before)
})

test('other work continues during a flood of the smallest messages, and all of it arrives', async () => {
  const whole = Buffer.alloc(3 * 2 ** 17, frame(0x81, 'x'))
  let [turns, ended] = [0, false]
  const arrived = new Redactor(new FrameMasker(redactions)).end(whole).toArray()
  const done = arrived.finally(() => {
    ended = true
  })
  while (!ended) {
    await new Promise((resolve) => setImmediate(resolve))
    turns += 1
  }
  expect(Buffer.concat(await done)).toEqual(whole)
  // Without rests there are about three. Some 400 kilobytes take hundreds of milliseconds in all.
  expect(turns).toBeGreaterThan(8)
})

test('a stream that ends during a flood stops', async () => {
  const stream = new Redactor(new FrameMasker(redactions))
  stream.write(Buffer.alloc(3 * 2 ** 17, frame(0x81, 'x')))
  stream.destroy()
  await new Promise((resolve) => stream.once('close', resolve))
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(stream.readableLength).toBe(0)
})
