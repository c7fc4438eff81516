import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { copyInKernel, startRelay } from '../../../support/floors/kernel-copy.ts'

const { signal } = new AbortController()
let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holt-kernel-copy-'))
})

afterAll(() => rm(dir, { recursive: true, force: true }))

it('copies every byte over a connection and returns the time', async () => {
  const [source, copy] = [join(dir, 'source'), join(dir, 'copy')]
  const bytes = randomBytes((5 << 20) + 7)
  await writeFile(source, bytes)
  expect(await copyInKernel(source, copy, signal)).toBeGreaterThan(0)
  expect(bytes.equals(await readFile(copy))).toBe(true)
})

it('rejects if there is nothing to copy', async () => {
  await expect(copyInKernel(join(dir, 'absent'), join(dir, 'copy'), signal)).rejects.toThrow('absent')
})

it('relays in both directions and passes each end on', async () => {
  const received: Promise<Buffer>[] = []
  const target = createServer({ allowHalfOpen: true }, (socket) => {
    const all = buffer(socket)
    received.push(all)
    void all.then((bytes) => socket.end(Buffer.from(bytes.toReversed())))
  })
  await once(target.listen(0, '127.0.0.1'), 'listening')
  try {
    await using relay = await startRelay((target.address() as AddressInfo).port, signal)
    const bytes = randomBytes((1 << 20) + 3)
    const clients = [1, 2].map(async () => {
      const socket = connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true })
      socket.end(bytes)
      return buffer(socket)
    })
    const reversed = Buffer.from(bytes.toReversed())
    for (const answer of await Promise.all(clients)) expect(reversed.equals(answer)).toBe(true)
    expect(received).toHaveLength(2)
  } finally {
    target.close()
  }
})
