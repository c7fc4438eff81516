import { PassThrough, Readable } from 'node:stream'
import { EngineError, type GuestLink, type GuestRequest } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { keptOfThoseWhoLeave } from '../../../../async/test/support/pieces.ts'
import { RuntimeLink } from '../../../src/runtimes/links/runtime-link.ts'

const signal = () => AbortSignal.timeout(5_000)
const ask = (method: GuestRequest['method']): GuestRequest => ({ method, path: '/v1/info', signal: signal() })

/** A link to a guest that answers as a test says, and how often the runtime was brought back. */
function linkTo(answer: () => Promise<void>, body: () => Readable = () => Readable.from([])) {
  const guest: GuestLink = {
    connected: true,
    request: async () => {
      await answer()
      return { status: 200, headers: {}, body: body() }
    },
  }
  const engine = new FakeEngine()
  engine.dial = async () => guest
  let woken = 0
  const link: RuntimeLink = new RuntimeLink({
    runtimeId: 'rt1',
    engine,
    monotonic: () => performance.now(),
    wake: async () => {
      woken += 1
      link.setBack()
    },
  })
  return { link, wakes: () => woken }
}

test('a request that arrives during a pause resumes the runtime', async () => {
  const { link, wakes } = linkTo(async () => {})
  const asked = link.request(ask('POST'))
  link.setAway()
  expect((await asked).status).toBe(200)
  expect(wakes()).toBe(1)
})

test('a query that a pause interrupted is repeated after the resume, and does not cause it', async () => {
  const broken = Promise.withResolvers<void>()
  let asked = 0
  const { link, wakes } = linkTo(async () => {
    asked += 1
    if (asked === 1) await broken.promise
  })
  const answer = link.request(ask('GET'))
  await expect.poll(() => asked).toBe(1)
  link.setAway()
  broken.reject(new EngineError('unavailable', 'the connection broke'))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect([wakes(), asked]).toEqual([0, 1])
  link.setBack()
  expect((await answer).status).toBe(200)
  expect([wakes(), asked]).toEqual([0, 2])
})

test('a wait for another hold or for work in progress can be cancelled', async () => {
  const held = Promise.withResolvers<void>()
  const { link } = linkTo(() => held.promise)
  const first = link.hold(0, () => held.promise, signal())
  const stop = new AbortController()
  const second = link.hold(0, async () => {}, stop.signal)
  stop.abort(new Error('it is deleted'))
  await expect(second).rejects.toThrow('it is deleted')
  held.resolve()
  await first
  const answering = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const busy = linkTo(() => {
    arrived.resolve()
    return answering.promise
  }).link
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
function keptOfThoseWhoAsk(link: RuntimeLink): Promise<number> {
  return keptOfThoseWhoLeave((leaving, pieces) =>
    link.request({ ...ask('POST'), signal: leaving, body: pieces.next() }),
  )
}

test('cancelled waiters are released while a runtime is held and while it is resumed', async () => {
  const { link } = linkTo(async () => {})
  const written = Promise.withResolvers<void>()
  const held = link.hold(0, () => written.promise, signal())
  expect(await keptOfThoseWhoAsk(link)).toBeLessThanOrEqual(2)
  written.resolve()
  await held
  const back = Promise.withResolvers<void>()
  let woken = 0
  const paused: RuntimeLink = new RuntimeLink({
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

test('an answer that idles is a use until it begins, and others until they end', async () => {
  const body = new PassThrough()
  const began = Promise.withResolvers<void>()
  const { link } = linkTo(
    async () => began.promise,
    () => body,
  )
  const idling = link.request({ ...ask('POST'), follows: true, idles: true })
  await expect.poll(() => link.open).toBe(1)
  began.resolve()
  await idling
  expect(link.open).toBe(0)
  await link.request({ ...ask('POST'), follows: true })
  expect(link.open).toBe(1)
  body.destroy()
  await expect.poll(() => link.open).toBe(0)
})
