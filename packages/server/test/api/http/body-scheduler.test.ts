import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BodyScheduler } from '../../../src/api/http/body-scheduler.ts'

/** Occupies this thread for a time. Returns when it began and ended. */
function occupy(ms: number): { readonly begun: number; readonly ended: number } {
  const begun = performance.now()
  const used = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(used)
    if (user + system >= ms * 1000) return { begun, ended: performance.now() }
  }
}

test('each turn of the event loop processes one body, and projects take turns', async () => {
  const scheduler = new BodyScheduler()
  const order: string[] = []
  for (const name of ['many', 'many', 'many', 'one']) void scheduler.next(name).then(() => order.push(name))
  const seen: number[] = []
  while (order.length < 4) {
    await nextTurn()
    seen.push(order.length)
  }
  expect(order).toEqual(['many', 'one', 'many', 'many'])
  expect(seen).toEqual(expect.arrayContaining([1, 2, 3, 4]))
})

test('a project waits three times as long as its work took, and other projects work meanwhile', async () => {
  const scheduler = new BodyScheduler()
  const mine = [scheduler.run('mine', () => occupy(30)), scheduler.run('mine', () => occupy(1))]
  const others = await scheduler.run('others', () => occupy(1))
  const [first, second] = await Promise.all(mine)
  expect(second?.begun).toBeGreaterThanOrEqual((first?.ended ?? 0) + 85)
  expect(others.begun).toBeLessThan(second?.begun ?? 0)
})

test('the next work runs after work that throws', async () => {
  const scheduler = new BodyScheduler()
  const failed = scheduler.run('p', () => {
    throw new Error('no JSON')
  })
  await expect(failed).rejects.toThrow('no JSON')
  expect(await scheduler.run('p', () => 1)).toBe(1)
})
