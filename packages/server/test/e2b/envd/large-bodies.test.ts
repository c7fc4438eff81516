import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { buffersBytes, chunkOf, flood, mib, startAttacked, unreadEngine } from '../../support/e2b-attack.ts'

/** The memory by which the process of the test and the service may grow. */
const mostGrowthBytes = 256 * mib

/** Returns the bytes by which the process grows during some work. */
async function growth(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss()
  await work()
  return process.memoryUsage.rss() - before
}

/** Reads a connection on and on. Returns a function that returns the text so far. */
function textOf(socket: Socket): () => string {
  const received: Buffer[] = []
  socket.on('data', (bytes) => received.push(bytes)).resume()
  return () => Buffer.concat(received).toString('latin1')
}

describe('a message that announces 4 GiB', () => {
  test.each(['Start', 'Connect', 'StreamInput'])('is refused by %s before it comes', async (method) => {
    const { open, honest } = await startAttacked()
    const socket = open(`/process.Process/${method}`, { 'content-type': 'application/connect+json' })
    const answer = textOf(socket)
    const grown = await growth(async () => {
      socket.write(chunkOf(Buffer.from([0, 0xff, 0xff, 0xff, 0xff])))
      expect(await flood(socket, chunkOf(Buffer.alloc(mib)))).toBeLessThan(buffersBytes)
    })
    expect(answer()).toContain('"code":"resource_exhausted"')
    expect(grown).toBeLessThan(mostGrowthBytes)
    expect(await honest()).toBe(200)
  })

  test('is refused by its length where it has one', async () => {
    const { open, honest } = await startAttacked()
    const headers = { 'content-type': 'application/json', 'content-length': String(2 ** 32 - 1) }
    const answer = textOf(open('/process.Process/List', headers))
    await expect.poll(answer).toMatch(/^HTTP\/1\.1 429 [\s\S]*"code":"resource_exhausted"/)
    expect(await honest()).toBe(200)
  })
})

test('gzip is unpacked no faster than its file is written, and ends with its sandbox', async () => {
  const { engine, waiting } = unreadEngine('/files/content')
  const { open, honest, e2b, sandboxID } = await startAttacked(engine)
  // A MiB that unpacks to eight. Members of gzip may follow each other (RFC 1952, 2.2).
  const member = gzipSync(Buffer.concat([randomBytes(mib), Buffer.alloc(7 * mib)]))
  const headers = { 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' }
  const socket = open('/files?path=/tmp/a', headers)
  const grown = await growth(async () => {
    expect(await flood(socket, chunkOf(member))).toBeLessThan(buffersBytes)
  })
  expect(grown).toBeLessThan(mostGrowthBytes)
  expect([waiting.size, await honest()]).toEqual([1, 200])
  expect((await e2b('DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204)
  await expect.poll(() => waiting.size).toBe(0)
})

describe('a form', () => {
  const part = (name: string) => Buffer.from(`--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`)
  const type = { 'content-type': 'multipart/form-data; boundary=x' }

  test('of more than ten thousand parts is refused before its end', async () => {
    const { open, honest } = await startAttacked()
    const socket = open('/files', { ...type })
    const answer = textOf(socket)
    const line = Buffer.from('\r\n')
    socket.write(chunkOf(Buffer.concat(Array.from({ length: 10_002 }, () => Buffer.concat([part('a'), line])))))
    await expect.poll(answer).toMatch(/^HTTP\/1\.1 429 /)
    expect(await honest()).toBe(200)
  })

  test('is not unpacked on and on for a part that is no file', async () => {
    const { open, honest } = await startAttacked()
    const socket = open('/files', { ...type, 'content-encoding': 'gzip' })
    const answer = textOf(socket)
    const zeros = gzipSync(Buffer.alloc(16 * mib))
    socket.write(chunkOf(Buffer.concat([gzipSync(part('a')), zeros, zeros])))
    await expect.poll(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*no files/)
    expect(await honest()).toBe(200)
  })
})
