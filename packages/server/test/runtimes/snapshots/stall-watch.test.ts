import { expect, test } from 'vitest'
import { StallWatch } from '../../../src/runtimes/snapshots/stall-watch.ts'

const stalled = () => new Error('stalled')
const never = new Promise<never>(() => {})
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

test('a source that stops sending is cancelled, even if it ignores that', async () => {
  const watch = new StallWatch(20, stalled)
  const source = async function* () {
    yield 1
    await never
  }
  const got: number[] = []
  const read = async () => {
    for await (const item of watch.watched(source())) got.push(item)
  }
  await expect(read()).rejects.toThrow('stalled')
  expect(got).toEqual([1])
  expect(watch.signal.reason).toMatchObject({ message: 'stalled' })
})

test('the time of a slow reader does not count against the source', async () => {
  const watch = new StallWatch(50, stalled)
  const source = async function* () {
    yield* [1, 2, 3]
  }
  const got: number[] = []
  for await (const item of watch.watched(source())) {
    got.push(item)
    await later(100)
  }
  expect(got).toEqual([1, 2, 3])
  expect(watch.signal.aborted).toBe(false)
})

test('a reader that stops ends the source', async () => {
  let ended = false
  const source = async function* () {
    try {
      yield* [1, 2]
    } finally {
      ended = true
    }
  }
  for await (const _ of new StallWatch(1000, stalled).watched(source())) break
  expect(ended).toBe(true)
})
