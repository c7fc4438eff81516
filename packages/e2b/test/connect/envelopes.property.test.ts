import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endEnvelope, messageEnvelope, readEnvelopes } from '../../src/connect/envelopes.ts'
import { ConnectError } from '../../src/index.ts'
import { inPieces } from '../support/in-pieces.ts'

const maxBytes = 4096

async function messagesIn(body: AsyncIterable<Uint8Array>): Promise<string[]> {
  const all: string[] = []
  for await (const one of readEnvelopes(body, { maxBytes })) all.push(one.toString())
  return all
}

/** Returns an envelope with any flags and any announced length. */
function rawEnvelope(flags: number, length: number, body = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(flags, 0)
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, body])
}

describe('envelopes', () => {
  it('are read again however the body is cut', async () => {
    const messages = fc.array(fc.dictionary(fc.string(), fc.string({ maxLength: 40 }), { maxKeys: 4 }), {
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(messages, fc.array(fc.nat(64)), async (all, cuts) => {
        const body = Buffer.concat(all.map(messageEnvelope))
        expect(await messagesIn(inPieces(body, cuts))).toEqual(all.map((one) => JSON.stringify(one)))
      }),
    )
  })

  it('may be empty', async () => {
    expect(await messagesIn(inPieces(Buffer.concat([rawEnvelope(0, 0), rawEnvelope(0, 0)]), [1, 1]))).toEqual(['', ''])
  })

  it('of any bytes never give more than was sent, and fail with a Connect error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(16)), async (bytes, cuts) => {
        const read = messagesIn(inPieces(Buffer.from(bytes), cuts))
        const length = await read.then(
          (all) => all.reduce((sum, { length }) => sum + length, 0),
          (error) => (error instanceof ConnectError ? 0 : Number.POSITIVE_INFINITY),
        )
        expect(length).toBeLessThanOrEqual(bytes.length)
      }),
    )
  })

  it.each([
    ['of 4 GiB', rawEnvelope(0, 0xffff_ffff), 'resource_exhausted'],
    ['one byte too long', rawEnvelope(0, maxBytes + 1), 'resource_exhausted'],
    ['that is compressed', rawEnvelope(1, 2, Buffer.from('{}')), 'unimplemented'],
    ['with the flag of the last one', rawEnvelope(2, 2, Buffer.from('{}')), 'invalid_argument'],
    ['that ends early', rawEnvelope(0, 4, Buffer.from('{')), 'invalid_argument'],
    ['with half a head', Buffer.from([0, 0]), 'invalid_argument'],
  ])('refuse one %s', async (_, body, code) => {
    await expect(messagesIn(inPieces(body, []))).rejects.toMatchObject({ code })
  })

  it('take room as they arrive, and give it back when they are taken or break off', async () => {
    let taken = 0
    let most = 0
    const room = {
      take: (bytes: number) => {
        taken += bytes
        most = Math.max(most, taken)
        if (taken > 40_000) throw new Error('there is no room')
      },
      give: (bytes: number) => {
        taken -= bytes
      },
    }
    const read = async (body: AsyncIterable<Uint8Array>) => {
      for await (const _ of readEnvelopes(body, { maxBytes: 2 ** 20, room }));
    }
    const whole = rawEnvelope(0, 50_000, Buffer.alloc(50_000))
    await read(inPieces(Buffer.concat([whole, whole, rawEnvelope(0, 10, Buffer.alloc(10))]), [1000, 30_000]))
    expect([taken, most]).toEqual([0, 50_000 - 16_384])
    await expect(read(inPieces(rawEnvelope(0, 50_000, Buffer.alloc(30_000)), []))).rejects.toThrow(ConnectError)
    expect(taken).toBe(0)
    await expect(read(inPieces(rawEnvelope(0, 90_000, Buffer.alloc(90_000)), [1000]))).rejects.toThrow('no room')
  })

  it('end with flags 2', () => {
    expect(endEnvelope()).toEqual(rawEnvelope(2, 2, Buffer.from('{}')))
    const json = '{"error":{"code":"not_found","message":"m"}}'
    expect(endEnvelope(new ConnectError('not_found', 'm'))).toEqual(rawEnvelope(2, json.length, Buffer.from(json)))
  })
})
