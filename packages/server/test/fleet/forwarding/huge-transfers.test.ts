import { type IncomingMessage, request } from 'node:http'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { byLength } from '@holt/testkit'
import { describe, expect, test } from 'vitest'
import { startStubOwner, startTestFleet } from '../../support/test-fleet.ts'

const bytes = byLength({ short: 48 * 2 ** 20, long: 10 * 2 ** 30, soak: 40 * 2 ** 30 })
const pieceBytes = 64 * 1024

/** The memory that a transfer of any size may add, in bytes. */
const mostMemory = 192 * 2 ** 20

/** Yields the bytes of a transfer. Each piece has its number, so none can take another's place. */
async function* pieces(onPeak: () => void): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; at += pieceBytes) {
    const piece = Buffer.alloc(pieceBytes)
    piece.writeDoubleBE(at)
    if (at % (32 * 2 ** 20) === 0) onPeak()
    yield piece
  }
}

/** Reads a stream to its end. Returns how many bytes came, and their checksum. */
async function sumOf(stream: Readable): Promise<{ readonly bytes: number; readonly sum: number }> {
  let [count, sum] = [0, 0]
  for await (const piece of stream as AsyncIterable<Buffer>) {
    count += piece.length
    sum = crc32(piece, sum)
  }
  return { bytes: count, sum }
}

async function startTransfer(receive: (incoming: IncomingMessage, answer: Writable) => Promise<void>) {
  const fleet = await startTestFleet()
  const stub = await startStubOwner(fleet, (incoming, response) => {
    response.writeHead(200)
    receive(incoming, response).catch((error) => response.destroy(error))
  })
  fleet.entry.owners.set(fleet.runtimeId, stub.hostId)
  const { url, adminKey } = fleet.entry.server
  const ask = (method: string, body: Readable) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${adminKey}` }
      const sent = request(`${url}${fleet.path}/files/content?path=/a`, { method, headers }, resolve)
      sent.once('error', reject)
      pipeline(body, sent).catch(reject)
    })
  let peak = 0
  const before = process.memoryUsage().rss
  const note = () => {
    peak = Math.max(peak, process.memoryUsage().rss - before)
  }
  return { ask, note, peak: () => peak }
}

describe('a transfer of any size through another host', () => {
  test('up: every byte arrives, and no host keeps them', { timeout: 1_200_000 }, async () => {
    const arrived: unknown[] = []
    const { ask, note, peak } = await startTransfer(async (incoming, answer) => {
      arrived.push(await sumOf(incoming))
      answer.end('{}')
    })
    let sum = 0
    const sent = async function* () {
      for await (const piece of pieces(note)) {
        sum = crc32(piece, sum)
        yield piece
      }
    }
    const answer = await ask('PUT', Readable.from(sent(), { objectMode: false }))
    answer.resume()
    expect(answer.statusCode).toBe(200)
    expect(arrived).toEqual([{ bytes, sum }])
    expect(peak()).toBeLessThan(mostMemory)
  })

  test('down: every byte arrives, and no host keeps them', { timeout: 1_200_000 }, async () => {
    let sum = 0
    const { ask, note, peak } = await startTransfer(async (_, answer) => {
      const sent = async function* () {
        for await (const piece of pieces(note)) {
          sum = crc32(piece, sum)
          yield piece
        }
      }
      await pipeline(Readable.from(sent(), { objectMode: false }), answer)
    })
    const arrived = await sumOf(await ask('GET', Readable.from([])))
    expect(arrived).toEqual({ bytes, sum })
    expect(peak()).toBeLessThan(mostMemory)
  })
})
