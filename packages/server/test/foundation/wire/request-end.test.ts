import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { RequestsInFlight } from '../../../src/api/http/requests-in-flight.ts'
import { RequestEnd } from '../../../src/foundation/wire/request-end.ts'
import { KeptMemory } from '../../../src/tenancy/limits/kept-memory.ts'

const mib = 2 ** 20

test('a disconnected request counts, with its bytes, until its work ends', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const end = new RequestEnd(response)
  const inFlight = new RequestsInFlight(1)
  const kept = new KeptMemory()
  inFlight.enter('p', end)
  kept.open('p', end).takeBody(60 * mib)
  const other = () => new RequestEnd(new ServerResponse(new IncomingMessage(new Socket())))
  const another = () => kept.open('p', other()).takeBody(60 * mib)
  const work = end.work()
  response.emit('close')
  expect(() => inFlight.enter('p', other())).toThrow(expect.objectContaining({ code: 'rate_limited' }))
  expect(another).toThrow(expect.objectContaining({ code: 'rate_limited' }))
  work[Symbol.dispose]()
  inFlight.enter('p', other())
  another()
})

test('work that ends before the answer was sent does not end the count', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const end = new RequestEnd(response)
  let isOver = false
  end.once(() => {
    isOver = true
  })
  end.work()[Symbol.dispose]()
  expect(isOver).toBe(false)
  response.emit('close')
  expect(isOver).toBe(true)
})
