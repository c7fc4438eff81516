import type { GuestClient } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { OutputPump } from '../../../src/inside/attach/output-pump.ts'

/** A pump of a command that says nothing, and how its output was asked for. */
function runPump() {
  const gone = new AbortController()
  const asked: boolean[] = []
  const processes = {
    readOutput: (_id: string, { hold }: { hold: boolean }, signal: AbortSignal) => {
      asked.push(hold)
      return Promise.resolve({
        [Symbol.asyncIterator]: () => ({
          next: () =>
            new Promise((_, reject) => {
              if (signal.aborted) reject(signal.reason)
              signal.addEventListener('abort', () => reject(signal.reason))
            }),
        }),
      })
    },
  }
  const guest = { processes } as unknown as GuestClient
  const pump = new OutputPump({
    guest,
    commandId: 'cm',
    cursor: 0,
    windowBytes: null,
    gone: gone.signal,
    streamRetry: { after: () => Promise.reject(new Error('it was no change of how it reads')) } as never,
    send: async () => {},
  })
  return { pump, asked, gone, ended: pump.run() }
}

test('a command is told at once that it must wait for its reader', async () => {
  const { pump, asked, gone, ended } = runPump()
  pump.hold(true)
  await new Promise(setImmediate)
  expect(asked).toEqual([false, true])
  gone.abort(new Error('the end'))
  await expect(ended).rejects.toThrow('the end')
})

test('frequent changes are reported at intervals, and the last state always', async () => {
  const { pump, asked, gone, ended } = runPump()
  for (let change = 0; change < 1000; change++) {
    pump.hold(change % 2 === 0)
    await new Promise(setImmediate)
  }
  const some = asked.length
  pump.hold(true)
  await expect.poll(() => asked.at(-1)).toBe(true)
  expect(some).toBeLessThan(500)
  pump.hold(false)
  await expect.poll(() => asked.at(-1)).toBe(false)
  gone.abort(new Error('the end'))
  await expect(ended).rejects.toThrow('the end')
})

test.each([
  ['misses bytes', 10],
  ['repeats bytes', 2],
])('output that %s is not sent', async (_what, cursor) => {
  async function* answer() {
    yield { type: 'stdout', cursor, data: Buffer.from('abc').toString('base64') }
    yield { type: 'end', cursor }
  }
  const sent: unknown[] = []
  const pump = new OutputPump({
    guest: { processes: { readOutput: async () => answer() } } as unknown as GuestClient,
    commandId: 'cm',
    cursor: 0,
    windowBytes: null,
    gone: new AbortController().signal,
    streamRetry: { progress: () => {}, after: (error: unknown) => Promise.reject(error) } as never,
    send: async (item) => void sent.push(item),
  })
  await expect(pump.run()).rejects.toMatchObject({ kind: 'wrong_answer' })
  expect(sent).toEqual([])
})
