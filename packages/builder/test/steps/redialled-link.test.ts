import { Readable } from 'node:stream'
import { EngineError, type GuestLink, type GuestRequest } from '@holt/engine'
import { expect, test } from 'vitest'
import { redialledLink } from '../../src/steps/redialled-link.ts'

const id = 'rt00000000000000000000' as never
const request = (signal: AbortSignal): GuestRequest => ({ method: 'GET', path: '/', signal })
const never = () => new AbortController().signal

/** An engine whose one guest is away until it is let back. */
function engineOf() {
  const state = { connected: true, back: Promise.withResolvers<void>(), sent: 0 }
  const link: GuestLink = {
    get connected() {
      return state.connected
    },
    request: async () => {
      state.sent += 1
      if (!state.connected) throw new EngineError('unavailable', 'the guest is not connected')
      return { status: 200, headers: {}, body: Readable.from([]) }
    },
  }
  const dial = async (_id: unknown, signal: AbortSignal) => {
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    if (!state.connected) await Promise.race([state.back.promise, promise])
    return link
  }
  return { state, engine: { dial } }
}

test('a request waits for a guest that reconnects', async () => {
  const { state, engine } = engineOf()
  const link = await redialledLink(engine, id, never())
  state.connected = false
  const answer = link.request(request(never()))
  expect([link.connected, state.sent]).toEqual([false, 0])
  state.connected = true
  state.back.resolve()
  expect((await answer).status).toBe(200)
})

test('a missing guest is reported as not connected, and a cancelled wait ends', async () => {
  const { state, engine } = engineOf()
  const link = await redialledLink(engine, id, never())
  state.connected = false
  const controller = new AbortController()
  const given = link.request(request(controller.signal))
  controller.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  const gone = link.request(request(never()))
  state.back.reject(new EngineError('gone', 'it has ended'))
  await expect(gone).rejects.toMatchObject({ kind: 'unavailable' })
})
