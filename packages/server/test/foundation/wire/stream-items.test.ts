import { afterEach, describe, expect, test, vi } from 'vitest'
import { bytesInUse } from '../../../../async/test/support/pieces.ts'
import { acceptedFormat, writeItems } from '../../../src/foundation/wire/stream-items.ts'

afterEach(() => void vi.useRealTimers())

test.each([
  [undefined, null],
  ['*/*', null],
  ['application/json', null],
  ['text/event-stream', 'text/event-stream'],
  ['application/x-ndjson', 'application/x-ndjson'],
  ['application/ndjson, application/json', 'application/x-ndjson'],
  ['application/json, text/event-stream;q=0.9', 'text/event-stream'],
])('Accept: %s asks for %s', (accept, format) => {
  expect(acceptedFormat(accept)).toBe(format)
})

describe.each(['text/event-stream', 'application/x-ndjson'] as const)('%s', (format) => {
  test('reads items only as fast as the client', async () => {
    let made = 0
    const body = writeItems(
      (async function* () {
        for (; made < 10_000; made += 1) yield { type: 'stdout', cursor: made }
      })(),
      format,
    )
    await new Promise((resolve) => body.once('readable', resolve))
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    expect(made).toBeLessThan(20)
    body.destroy()
  })

  test('sends its headers at once', async () => {
    const never = (async function* () {
      await new Promise(() => {})
      yield { type: 'stdout', cursor: 0 }
    })()
    const body = writeItems(never, format)
    expect(await new Promise((resolve) => body.once('data', resolve))).toBe('')
    body.destroy()
  })

  test('breaks if the items break', async () => {
    const body = writeItems(
      (async function* () {
        yield { type: 'start', cursor: 0 }
        throw new Error('the guest is gone')
      })(),
      format,
    )
    const seen: string[] = []
    await expect(
      (async () => {
        for await (const text of body) seen.push(text)
      })(),
    ).rejects.toThrow('the guest is gone')
    expect(seen.filter((text) => text !== '')).toHaveLength(1)
  })

  test('releases the items when its reader disconnects', async () => {
    const { promise: released, resolve } = Promise.withResolvers<void>()
    const body = writeItems(
      (async function* () {
        try {
          for (let cursor = 0; ; cursor += 1) yield { type: 'stdout', cursor }
        } finally {
          resolve()
        }
      })(),
      format,
    )
    for await (const text of body) if (text.length > 0) break
    await released
  })
})

test('a quiet event stream sends a comment and then continues', async () => {
  vi.useFakeTimers()
  const { promise: later, resolve } = Promise.withResolvers<void>()
  const body = writeItems(
    (async function* () {
      yield { type: 'start', cursor: 0 }
      await later
      yield { type: 'end', cursor: 0 }
    })(),
    'text/event-stream',
  )
  const seen: string[] = []
  const reading = (async () => {
    for await (const text of body) seen.push(text)
  })()
  await vi.advanceTimersByTimeAsync(31_000)
  resolve()
  await vi.advanceTimersByTimeAsync(1)
  await reading
  expect(seen.map((text) => text.split('\n')[0])).toEqual(['', 'event: start', ': quiet', ': quiet', 'event: end'])
})

test('a stream that is quiet for days keeps no memory of it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const never = (async function* () {
    await new Promise(() => {})
    yield { type: 'stdout', cursor: 0 }
  })()
  const body = writeItems(never, 'text/event-stream')
  let quiet = 0
  body.on('data', () => {
    quiet += 1
  })
  const pass = async (times: number) => {
    for (let time = 0; time < times; time += 1) await vi.advanceTimersByTimeAsync(15_000)
    return bytesInUse()
  }
  const before = await pass(1000)
  const grown = (await pass(10_000)) - before
  expect(quiet).toBeGreaterThan(10_000)
  expect(grown / 10_000, 'bytes for each heartbeat').toBeLessThan(100)
  body.destroy()
}, 60_000)
