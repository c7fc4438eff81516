import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { TinyPieces } from '../../../streams/test/support/tiny-pieces.ts'
import { BodyRoom } from '../../src/http/body-room.ts'
import { KeptByRequest } from '../../src/http/kept-memory.ts'
import { readJson } from '../../src/http/read-json.ts'
import { ProjectRoom } from '../../src/limits/project-room.ts'

test('a body that comes in pieces of one byte is kept as one', async () => {
  const request = new IncomingMessage(new Socket())
  request.headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const rooms = { maxBytes: 2 ** 20, maxBytesOfProject: 2 ** 20 }
  const kept = {
    room: new BodyRoom(),
    payer: 'p',
    request: new KeptByRequest(new ProjectRoom(rooms), 'p'),
    timeoutMs: 30_000,
  }
  const read = readJson(request, kept)
  const pieces = new TinyPieces()
  await pieces.countKept() // It flows.
  for (let n = 0; n < 20_000; n += 1) request.push(pieces.next())
  expect(await pieces.countKept()).toBeLessThan(10)
  request.push('{"a":1}')
  request.push(null)
  expect(await read).toEqual({ a: 1 })
})
