import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Pieces } from '../../../streams/test/support/pieces.ts'
import { BodyRoom } from '../../src/http/body-room.ts'
import { KeptByRequest } from '../../src/http/kept-memory.ts'
import { readJson } from '../../src/http/read-json.ts'
import { ProjectRoom } from '../../src/limits/project-room.ts'

const mib = 2 ** 20

/** A request whose body is to come in pieces, and on whose account it is read. */
function arriving() {
  const request = new IncomingMessage(new Socket())
  request.headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const rooms = { maxBytes: mib, maxBytesOfProject: mib }
  const room = new BodyRoom()
  const kept = { room, payer: 'p', request: new KeptByRequest(new ProjectRoom(rooms), 'p'), timeoutMs: 30_000 }
  return { request, room, kept }
}

test('a body that comes in pieces of one byte is kept as one', async () => {
  const { request, kept } = arriving()
  const read = readJson(request, kept)
  const pieces = new Pieces()
  await pieces.countKept() // It flows.
  for (let n = 0; n < 20_000; n += 1) request.push(pieces.next())
  expect(await pieces.countKept()).toBeLessThan(10)
  request.push('{"a":1}')
  request.push(null)
  expect(await read).toEqual({ a: 1 })
})

test('of a body that is refused nothing is kept while its request waits for the answer', async () => {
  const { request, room, kept } = arriving()
  room.take('p', 61 * mib) // Others of the project send as well.
  const read = readJson(request, kept)
  const pieces = new Pieces(mib)
  for (let n = 0; n < 4; n += 1) request.push(pieces.next())
  await expect(read).rejects.toMatchObject({ code: 'rate_limited' })
  request.resume()
  expect(await pieces.countKept()).toBeLessThanOrEqual(1) // The one that was refused is in its turn still.
  expect(request.readableFlowing).toBe(true)
})

test('a body that broke off before it is read is not waited for', async () => {
  const { request, kept } = arriving()
  request.on('error', () => {}) // It breaks.
  request.push('{}')
  request.push(null)
  request.destroy()
  await new Promise((resolve) => request.once('close', resolve))
  await expect(readJson(request, kept)).rejects.toMatchObject({ code: 'invalid_request' })
})
