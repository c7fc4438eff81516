import { expect, test } from 'vitest'
import { runMany } from '../src/runtimes/run-many.ts'

const items = ['a', 'b', 'c', 'd', 'e', 'f']

test('a few parts run at a time, and a failed one does not stop the others', async () => {
  let running = 0
  let most = 0
  const progress: number[] = []
  const { done, failures, left } = await runMany({
    items,
    labelOf: (item) => item.toUpperCase(),
    run: async (item) => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      if (item === 'c') throw new Error('not this one')
      return `${item}!`
    },
    signal: new AbortController().signal,
    onProgress: (count) => progress.push(count),
  })
  expect(most).toBe(4)
  expect(done.map(({ result }) => result).toSorted()).toEqual(['a!', 'b!', 'd!', 'e!', 'f!'])
  expect(failures).toMatchObject([{ item: 'c', label: 'C', error: { message: 'not this one' } }])
  expect([left, progress.at(-1)]).toEqual([[], 6])
})

test('a stopped job leaves the parts that have not begun', async () => {
  const ended = new AbortController()
  const { done, left } = await runMany({
    items,
    labelOf: String,
    run: async () => ended.abort(),
    signal: ended.signal,
    onProgress: () => {},
  })
  expect(done.length + left.length).toBe(items.length)
  expect(left.length).toBeGreaterThanOrEqual(2)
})
