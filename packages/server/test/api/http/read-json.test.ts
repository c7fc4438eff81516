import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Pieces } from '../../../../async/test/support/pieces.ts'
import { BodyScheduler } from '../../../src/api/http/body-scheduler.ts'
import { readJson } from '../../../src/api/http/read-json.ts'
import { BodyRoom } from '../../../src/tenancy/limits/body-room.ts'
import { KeptByRequest } from '../../../src/tenancy/limits/kept-memory.ts'
import { ProjectRoom } from '../../../src/tenancy/limits/project-room.ts'

const mib = 2 ** 20

const asIs = (value: unknown) => value

/** A request whose body is to come in pieces, and on whose account it is read. */
function arriving() {
  const request = new IncomingMessage(new Socket())
  request.headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  request.complete = true // Else its end takes the connection with it.
  const rooms = { maxBytes: mib, maxBytesOfProject: mib }
  const room = new BodyRoom()
  const scheduler = new BodyScheduler()
  const kept = {
    room,
    scheduler,
    payer: 'p',
    request: new KeptByRequest(new ProjectRoom(rooms), 'p'),
    timeoutMs: 30_000,
  }
  return { request, room, kept }
}

test('a body that arrives byte by byte is buffered as one', async () => {
  const { request, kept } = arriving()
  const read = readJson(request, kept, asIs)
  const pieces = new Pieces()
  await pieces.countKept() // It flows.
  for (let n = 0; n < 20_000; n += 1) request.push(pieces.next())
  expect(await pieces.countKept()).toBeLessThan(10)
  request.push('{"a":1}')
  request.push(null)
  expect(await read).toEqual({ a: 1 })
})

test('a refused body is released before its request is answered', async () => {
  const { request, room, kept } = arriving()
  room.take('p', 61 * mib) // Others of the project send as well.
  const read = readJson(request, kept, asIs)
  const pieces = new Pieces(mib)
  for (let n = 0; n < 4; n += 1) request.push(pieces.next())
  await expect(read).rejects.toMatchObject({ code: 'rate_limited' })
  request.resume()
  expect(await pieces.countKept()).toBeLessThanOrEqual(1) // The one that was refused is in its turn still.
  expect(request.readableFlowing).toBe(true)
})

test('a large body is read in parts, and other requests run between them', async () => {
  const { request, kept } = arriving()
  const read = readJson(request, kept, asIs)
  await nextTurn() // It flows.
  const part = Buffer.alloc(128 * 1024, ' ')
  for (const _ of [1, 2, 3]) {
    request.push(part)
    expect(request.isPaused()).toBe(true)
    expect(request.push(part)).toBe(false) // Node reads no more from the socket.
    await expect.poll(() => request.readableLength).toBe(0)
  }
  request.push('{"a":1}')
  request.push(null)
  expect(await read).toEqual({ a: 1 })
})

test('a complete body is released if other requests of its project leave no room', async () => {
  const { request, kept } = arriving()
  kept.request.takeBody(mib) // A body of the project is at work.
  const pieces = new Pieces(mib)
  const read = readJson(request, kept, asIs)
  request.push(pieces.next())
  request.push(null)
  await expect(read).rejects.toMatchObject({ code: 'rate_limited' })
  expect(await pieces.countKept()).toBe(0)
  expect(request.readableEnded).toBe(true)
})

test('the body of a disconnected client is neither parsed nor kept', async () => {
  const { scheduler } = arriving().kept
  let parsed = 0
  const [first, second] = [1, 2].map(() => {
    const { request, kept } = arriving()
    const read = readJson(request, { ...kept, scheduler }, () => {
      parsed += 1
    })
    const pieces = new Pieces(64 * 1024)
    request.push(pieces.next())
    request.push('{}')
    request.push(null)
    return { request, read, pieces }
  })
  second?.request.socket.destroy()
  await first?.read
  await expect(second?.read).rejects.toMatchObject({ code: 'invalid_request' })
  expect(parsed).toBe(1)
  expect(await second?.pieces.countKept()).toBe(0)
})

test('one large body is parsed per turn, and small bodies at once', async () => {
  const parsedIn = async (text: string) => {
    const { scheduler } = arriving().kept
    let turn = 0
    const bodies = [1, 2, 3].map(async (n) => {
      const { request, kept } = arriving()
      const parsed = readJson(request, { ...kept, scheduler, payer: `p${n}` }, () => turn)
      request.push(text)
      request.push(null)
      return parsed
    })
    let isOver = false
    const all = Promise.all(bodies).finally(() => {
      isOver = true
    })
    for (; !isOver; turn += 1) await nextTurn()
    return new Set(await all).size
  }
  expect(await parsedIn('{"a":1}')).toBe(1)
  expect(await parsedIn(`{"a":${' '.repeat(5_000)}1}`)).toBe(3)
})

test('an aborted body is not waited for', async () => {
  const { request, kept } = arriving()
  request.on('error', () => {}) // It breaks.
  request.push('{}')
  request.push(null)
  request.destroy()
  await new Promise((resolve) => request.once('close', resolve))
  await expect(readJson(request, kept, asIs)).rejects.toMatchObject({ code: 'invalid_request' })
})
