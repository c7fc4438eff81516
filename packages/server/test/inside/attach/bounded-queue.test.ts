import { expect, test, vi } from 'vitest'
import { BoundedQueue, type Flow, sharedFlow } from '../../../src/inside/attach/bounded-queue.ts'

const makeFlow = () => ({ stop: vi.fn(), go: vi.fn(), failed: vi.fn() })

/** A queue whose things are done when the test says so. */
function makeQueue<Source extends Flow>(flow: Source) {
  const done: number[] = []
  const waiting: (() => void)[] = []
  const queue = new BoundedQueue<number>(async (thing) => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    if (thing < 0) throw new Error(`${thing}`)
    done.push(thing)
  }, flow)
  const finish = async () => {
    waiting.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { queue, flow, done, finish }
}

test('does its work in order', async () => {
  const { queue, done, finish } = makeQueue(makeFlow())
  for (const thing of [1, 2, 3]) queue.add(thing, 1)
  await finish()
  expect(done).toEqual([1])
  await finish()
  await finish()
  expect(done).toEqual([1, 2, 3])
})

test.each([
  ['bytes', 3, 60_000],
  ['things', 300, 1],
])('stops its source while too many %s wait, and continues later', async (_, count, bytes) => {
  const { queue, flow, finish } = makeQueue(makeFlow())
  for (let thing = 1; thing <= count; thing += 1) queue.add(thing, bytes)
  expect([flow.stop.mock.calls.length, flow.go.mock.calls.length]).toEqual([1, 0])
  for (let thing = 1; thing <= count; thing += 1) await finish()
  expect([flow.stop.mock.calls.length, flow.go.mock.calls.length]).toEqual([1, 1])
})

test('reports failures', async () => {
  const { queue, flow, finish } = makeQueue(makeFlow())
  queue.add(-1, 1)
  await finish()
  expect(flow.failed).toHaveBeenCalledWith(new Error('-1'))
})

test('a source of two queues continues when neither is full', async () => {
  const source = makeFlow()
  const flow = sharedFlow(source)
  const queues = [makeQueue(flow), makeQueue(flow)]
  for (const { queue } of queues) for (let thing = 1; thing <= 300; thing += 1) queue.add(thing, 1)
  for (const [index, { finish }] of queues.entries()) {
    expect([source.stop.mock.calls.length, source.go.mock.calls.length]).toEqual([1, 0])
    for (let thing = 1; thing <= 300; thing += 1) await finish()
    expect(source.go.mock.calls.length).toBe(index)
  }
})
