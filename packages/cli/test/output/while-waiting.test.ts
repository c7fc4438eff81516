import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { whileWaiting } from '../../src/output/while-waiting.ts'

let stream: NodeJS.WriteStream
const seen = () => String((stream as unknown as PassThrough).read() ?? '')
beforeEach(() => {
  vi.useFakeTimers()
  stream = Object.assign(new PassThrough(), { isTTY: true, columns: 30 }) as unknown as NodeJS.WriteStream
})
afterEach(() => {
  vi.useRealTimers()
})

test('shows on a terminal the reason and time of a wait, and removes it at the end', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const answer = whileWaiting('Pausing mine', () => promise, stream)
  await vi.advanceTimersByTimeAsync(500)
  expect(seen()).toContain('Pausing mine…')
  await vi.advanceTimersByTimeAsync(3000)
  expect(seen()).toContain('Pausing mine… 3s')
  resolve('done')
  expect(await answer).toBe('done')
  expect(seen()).toMatch(/\u001b\[K$/)
  await vi.advanceTimersByTimeAsync(5000)
  expect(seen()).toBe('')
})

test('shows nothing for a short wait, and nothing without a terminal', async () => {
  await whileWaiting('Pausing mine', async () => undefined, stream)
  expect(seen()).toBe('')
  Object.assign(stream, { isTTY: false })
  const { promise, resolve } = Promise.withResolvers<void>()
  const answer = whileWaiting('Pausing mine', () => promise, stream)
  await vi.advanceTimersByTimeAsync(3000)
  resolve()
  await answer
  expect(seen()).toBe('')
})

test('passes a failure on', async () => {
  await expect(whileWaiting('x', () => Promise.reject(new Error('no room')), stream)).rejects.toThrow('no room')
})
