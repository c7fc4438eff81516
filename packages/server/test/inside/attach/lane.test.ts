import { expect, test, vi } from 'vitest'
import { type Flow, Lane, sharedFlow } from '../../../src/inside/attach/lane.ts'

const makeFlow = () => ({ stop: vi.fn(), go: vi.fn(), failed: vi.fn() })

/** A lane whose things are done when the test says so. */
function makeLane<Source extends Flow>(flow: Source) {
  const done: number[] = []
  const waiting: (() => void)[] = []
  const lane = new Lane<number>(async (thing) => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    if (thing < 0) throw new Error(`${thing}`)
    done.push(thing)
  }, flow)
  const finish = async () => {
    waiting.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { lane, flow, done, finish }
}

test('does one thing after another, in their order', async () => {
  const { lane, done, finish } = makeLane(makeFlow())
  for (const thing of [1, 2, 3]) lane.add(thing, 1)
  await finish()
  expect(done).toEqual([1])
  await finish()
  await finish()
  expect(done).toEqual([1, 2, 3])
})

test.each([
  ['bytes', 3, 60_000],
  ['things', 300, 1],
])('stops its source while too many %s wait, and lets it go on', async (_, count, bytes) => {
  const { lane, flow, finish } = makeLane(makeFlow())
  for (let thing = 1; thing <= count; thing += 1) lane.add(thing, bytes)
  expect([flow.stop.mock.calls.length, flow.go.mock.calls.length]).toEqual([1, 0])
  for (let thing = 1; thing <= count; thing += 1) await finish()
  expect([flow.stop.mock.calls.length, flow.go.mock.calls.length]).toEqual([1, 1])
})

test('says what could not be done', async () => {
  const { lane, flow, finish } = makeLane(makeFlow())
  lane.add(-1, 1)
  await finish()
  expect(flow.failed).toHaveBeenCalledWith(new Error('-1'))
})

test('a source of two lanes goes on when neither has it stopped', async () => {
  const source = makeFlow()
  const flow = sharedFlow(source)
  const lanes = [makeLane(flow), makeLane(flow)]
  for (const { lane } of lanes) for (let thing = 1; thing <= 300; thing += 1) lane.add(thing, 1)
  for (const [index, { finish }] of lanes.entries()) {
    expect([source.stop.mock.calls.length, source.go.mock.calls.length]).toEqual([1, 0])
    for (let thing = 1; thing <= 300; thing += 1) await finish()
    expect(source.go.mock.calls.length).toBe(index)
  }
})
