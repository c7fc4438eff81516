import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BuildQueue, type Busy, chooseNext, type QueuedJob } from '../../src/builds/build-queue.ts'

const job = (projectId: string, templateId: string, buildId = `${projectId}/${templateId}`): QueuedJob => ({
  projectId,
  templateId,
  buildId,
})

/** Nobody had a turn, and everybody may have one. */
const free: Busy = { order: [], busyTemplates: new Set(), busyProjects: new Set() }

test('projects take turns, regardless of the order and number of their requests', () => {
  const waiting = [job('a', '1'), job('a', '2'), job('a', '3'), job('b', '4')]
  expect(chooseNext(waiting, { ...free, order: [] })).toBe(waiting[0])
  expect(chooseNext(waiting.slice(1), { ...free, order: ['a'] })).toBe(waiting[3])
  expect(chooseNext(waiting.slice(1, 3), { ...free, order: ['a', 'b'] })).toBe(waiting[1])
  expect(chooseNext(waiting, { ...free, busyTemplates: new Set(['1']) })).toBe(waiting[1])
  expect(chooseNext(waiting, { ...free, busyProjects: new Set(['a']) })).toBe(waiting[3])
  expect(chooseNext([waiting[0] as QueuedJob], { ...free, busyTemplates: new Set(['1']) })).toBeNull()
})

const jobs = fc.array(
  fc.record({ projectId: fc.constantFrom('a', 'b', 'c'), templateId: fc.constantFrom('1', '2', '3') }),
  { maxLength: 40 },
)

test('every build runs within the limit, in order for a template, and in fair turns for projects', async () => {
  await fc.assert(
    fc.asyncProperty(jobs, fc.integer({ min: 1, max: 4 }), async (given, atOnce) => {
      const all = given.map(({ projectId, templateId }, index) =>
        job(projectId, `${projectId}${templateId}`, String(index)),
      )
      const began: QueuedJob[] = []
      const running = new Set<QueuedJob>()
      const ends: (() => void)[] = []
      const queue = new BuildQueue<QueuedJob>({
        atOnce,
        atOnceOf: () => atOnce,
        run: async (one) => {
          began.push(one)
          running.add(one)
          expect(running.size).toBeLessThanOrEqual(atOnce)
          expect(new Set([...running].map(({ templateId }) => templateId)).size).toBe(running.size)
          await new Promise<void>((resolve) => ends.push(resolve))
          running.delete(one)
        },
      })
      for (const one of all) queue.add(one)
      for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
        const before = began.length
        const waiting = [...queue.waiting]
        end()
        await new Promise((resolve) => setImmediate(resolve))
        const next = began[before]
        if (next === undefined) continue
        // The project whose turn it is had its last turn no later than any other project with
        // waiting builds.
        const lastTurn = (projectId: string) =>
          began.slice(0, before).findLastIndex((one) => one.projectId === projectId)
        const busy = new Set([...running].filter((one) => one !== next).map(({ templateId }) => templateId))
        for (const other of waiting.filter(({ templateId }) => !busy.has(templateId)))
          expect(lastTurn(next.projectId)).toBeLessThanOrEqual(lastTurn(other.projectId))
      }
      expect(began).toHaveLength(all.length)
      for (const { templateId } of all) {
        const order = began.filter((one) => one.templateId === templateId).map(({ buildId }) => Number(buildId))
        expect(order).toEqual(order.toSorted((a, b) => a - b))
      }
    }),
  )
})

test('a removed build does not run', async () => {
  const began: QueuedJob[] = []
  const { promise: go, resolve } = Promise.withResolvers<void>()
  const queue = new BuildQueue<QueuedJob>({
    atOnce: 1,
    atOnceOf: () => 1,
    run: (one) => {
      began.push(one)
      return go
    },
  })
  const [first, second, third] = [job('a', '1'), job('a', '2'), job('a', '3')]
  for (const one of [first, second, third]) queue.add(one)
  expect([queue.remove(second), queue.remove(first)]).toEqual([true, false])
  resolve()
  await new Promise((resolve) => setImmediate(resolve))
  expect(began).toEqual([first, third])
})
