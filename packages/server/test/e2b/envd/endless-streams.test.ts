import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import {
  buffersBytes,
  chunkOf,
  envelopeOf,
  flood,
  mib,
  mostRequests,
  startAttacked,
  unreadEngine,
} from '../../support/e2b-attack.ts'

const cat = { process: { cmd: 'cat' }, stdin: true, tag: 'cat' }
const selector = { start: { process: { tag: 'cat' } } }

describe('a stream of input without end', () => {
  test('for a program that reads nothing is read no further, and ends with its client', async () => {
    const { engine, waiting } = unreadEngine('/stdin')
    const { attack, honest, e2b, sandboxID } = await startAttacked(engine)
    const program = attack('Start', cat).resume()
    await expect.poll(honest).toBe(200)
    const input = attack('StreamInput', selector)
    const data = envelopeOf({ data: { input: { stdin: Buffer.alloc(48 * 1024, 'x').toString('base64') } } })
    expect(await flood(input, chunkOf(data))).toBeLessThan(buffersBytes)
    expect([waiting.size, await honest()]).toEqual([1, 200])
    // The unread input hides the end of its connection, so the request ends with its sandbox.
    input.destroy()
    program.destroy()
    expect((await e2b('DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204)
    await expect.poll(() => waiting.size).toBe(0)
  })

  test('ends with its client, also while the program reads nothing', async () => {
    const { engine, waiting } = unreadEngine('/stdin')
    const { attack, honest } = await startAttacked(engine)
    attack('Start', cat).resume()
    await expect.poll(honest).toBe(200)
    for (const leave of [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.resetAndDestroy()]) {
      const input = attack('StreamInput', selector)
      input.write(chunkOf(envelopeOf({ data: { input: { stdin: 'eA==' } } })))
      await expect.poll(() => waiting.size).toBe(1)
      leave(input)
      await expect.poll(() => waiting.size).toBe(0)
    }
  })

  test('ends with its sandbox', async () => {
    const { engine, waiting } = unreadEngine('/stdin')
    const { attack, honest, e2b, sandboxID } = await startAttacked(engine)
    attack('Start', cat).resume()
    await expect.poll(honest).toBe(200)
    const input = attack('StreamInput', selector).resume()
    input.write(chunkOf(envelopeOf({ data: { input: { stdin: 'eA==' } } })))
    await expect.poll(() => waiting.size).toBe(1)
    expect((await e2b('DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204)
    await expect.poll(() => [waiting.size, input.destroyed]).toEqual([0, true])
  })

  test('of keepalives costs no memory, and is one request', async () => {
    const { attack, honest } = await startAttacked()
    attack('Start', cat).resume()
    await expect.poll(honest).toBe(200)
    const input = attack('StreamInput', selector)
    const nothing = chunkOf(Buffer.concat(Array.from({ length: 2000 }, () => envelopeOf({ keepalive: {} }))))
    const before = process.memoryUsage.rss()
    for (let n = 0; n < 200 && !input.destroyed; n += 1)
      if (!input.write(nothing)) await new Promise((resolve) => input.once('drain', resolve).once('close', resolve))
    expect([input.destroyed, await honest()]).toEqual([false, 200])
    expect(process.memoryUsage.rss() - before).toBeLessThan(256 * mib)
  })
})

test('messages after the one of a request are not read, and its command runs on', async () => {
  const { attack, honest, e2b, sandboxID } = await startAttacked()
  const socket = attack('Start', cat)
  const received: Buffer[] = []
  socket.on('data', (bytes) => received.push(bytes)).resume()
  expect(
    await flood(socket, chunkOf(envelopeOf({ process: { cmd: 'false', args: ['x'.repeat(60_000)] } }))),
  ).toBeLessThan(buffersBytes)
  expect(await honest()).toBe(200)
  expect(Buffer.concat(received).toString('latin1')).toContain('"start"')
  expect((await e2b('DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204)
  await expect.poll(() => socket.destroyed).toBe(true)
})

const clients: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['never reads', () => {}],
  ['has vanished', (socket) => socket.destroy()],
  ['has reset its connection', (socket) => socket.resetAndDestroy()],
]

describe('the streams of a client that', () => {
  test.each(clients)(
    '%s count until they are cut, and their sandbox is free then',
    {
      timeout: 120_000,
    },
    async (_, leave) => {
      const { attack, honest, e2b, sandboxID } = await startAttacked()
      // More output than all buffers on the way hold.
      const output = { process: { cmd: 'fill', args: [String(16 * mib)] } }
      const sockets = Array.from({ length: mostRequests }, () => attack('Start', output))
      await expect.poll(honest).toBe(429)
      for (const socket of sockets) leave(socket)
      await expect.poll(honest, { timeout: 60_000 }).toBe(200)
      const paused = await e2b('POST', `/sandboxes/${sandboxID}/pause`)
      expect([paused.status, (await e2b('DELETE', `/sandboxes/${sandboxID}`)).status]).toEqual([204, 204])
    },
  )
})
