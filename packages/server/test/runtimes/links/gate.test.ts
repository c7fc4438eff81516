import { Readable } from 'node:stream'
import { EngineError, type GuestLink, type GuestRequest } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { keptOfThoseWhoLeave } from '../../../../async/test/support/pieces.ts'
import { Gate } from '../../../src/runtimes/links/gate.ts'

const signal = () => AbortSignal.timeout(5_000)
const ask = (method: GuestRequest['method']): GuestRequest => ({ method, path: '/v1/info', signal: signal() })

/** A gate to a guest that answers as a test says, and how often the runtime was brought back. */
function gateTo(answer: () => Promise<void>) {
  const link: GuestLink = {
    connected: true,
    request: async () => {
      await answer()
      return { status: 200, headers: {}, body: Readable.from([]) }
    },
  }
  const engine = new FakeEngine()
  engine.dial = async () => link
  let woken = 0
  const gate: Gate = new Gate({
    runtimeId: 'rt1',
    engine,
    monotonic: () => performance.now(),
    wake: async () => {
      woken += 1
      gate.setBack()
    },
  })
  return { gate, wakes: () => woken }
}

test('a request that arrives during a pause resumes the runtime', async () => {
  const { gate, wakes } = gateTo(async () => {})
  const asked = gate.request(ask('POST'))
  gate.setAway()
  expect((await asked).status).toBe(200)
  expect(wakes()).toBe(1)
})

test('a query that a pause interrupted is repeated after the resume, and does not cause it', async () => {
  const broken = Promise.withResolvers<void>()
  let asked = 0
  const { gate, wakes } = gateTo(async () => {
    asked += 1
    if (asked === 1) await broken.promise
  })
  const answer = gate.request(ask('GET'))
  await expect.poll(() => asked).toBe(1)
  gate.setAway()
  broken.reject(new EngineError('unavailable', 'the connection broke'))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect([wakes(), asked]).toEqual([0, 1])
  gate.setBack()
  expect((await answer).status).toBe(200)
  expect([wakes(), asked]).toEqual([0, 2])
})

test('a wait for another hold or for work in progress can be cancelled', async () => {
  const held = Promise.withResolvers<void>()
  const { gate } = gateTo(() => held.promise)
  const first = gate.hold(0, () => held.promise, signal())
  const stop = new AbortController()
  const second = gate.hold(0, async () => {}, stop.signal)
  stop.abort(new Error('it is deleted'))
  await expect(second).rejects.toThrow('it is deleted')
  held.resolve()
  await first
  const answering = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const busy = gateTo(() => {
    arrived.resolve()
    return answering.promise
  }).gate
  const asked = busy.request(ask('POST'))
  await arrived.promise
  const stopBusy = new AbortController()
  const third = busy.hold(60_000, async () => {}, stopBusy.signal)
  await new Promise((resolve) => setTimeout(resolve, 20))
  stopBusy.abort(new Error('it is deleted, too'))
  await expect(third).rejects.toThrow('it is deleted, too')
  expect(busy.isOpen).toBe(true)
  answering.resolve()
  expect((await asked).status).toBe(200)
})

/** Counts what is kept of requests whose clients have left while the runtime was not to be had. */
function keptOfThoseWhoAsk(gate: Gate): Promise<number> {
  return keptOfThoseWhoLeave((leaving, pieces) =>
    gate.request({ ...ask('POST'), signal: leaving, body: pieces.next() }),
  )
}

test('cancelled waiters are released while a runtime is held and while it is resumed', async () => {
  const { gate } = gateTo(async () => {})
  const written = Promise.withResolvers<void>()
  const held = gate.hold(0, () => written.promise, signal())
  expect(await keptOfThoseWhoAsk(gate)).toBeLessThanOrEqual(2)
  written.resolve()
  await held
  const back = Promise.withResolvers<void>()
  let woken = 0
  const paused: Gate = new Gate({
    runtimeId: 'rt1',
    engine: new FakeEngine(),
    monotonic: () => performance.now(),
    wake: async () => {
      woken += 1
      await back.promise
      paused.setBack()
    },
  })
  paused.setAway()
  expect(await keptOfThoseWhoAsk(paused)).toBeLessThanOrEqual(2)
  expect(woken).toBe(1)
  const waiting = paused.whenOpen(signal())
  back.resolve()
  await waiting
})
