import { expect, test } from 'vitest'
import { FairQueue } from '../../src/dockerfile/fair-queue.ts'

const forever = new AbortController().signal

/** Returns a queue whose jobs end when the test says so. */
function steered(options: { atOnce: number; atOnceOfOwner: number }) {
  const queue = new FairQueue(options)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const add = (owner: string, name: string, signal = forever) =>
    queue.run(owner, signal, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    })
  return { queue, begun, add, end: (name: string) => ends.get(name)?.() }
}

test('owners take turns, and each has a limit of concurrent jobs', async () => {
  const { queue, begun, add, end } = steered({ atOnce: 2, atOnceOfOwner: 1 })
  const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => add(name[0] ?? '', name))
  await Promise.resolve()
  expect(begun).toEqual(['a1', 'b1'])
  expect([queue.waiting, queue.waitingOf('a'), queue.waitingOf('c')]).toEqual([4, 2, 1])
  for (const name of ['a1', 'b1', 'a2', 'c1', 'b2', 'a3']) {
    await expect.poll(() => begun).toContain(name)
    end(name)
  }
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2'])
  expect(begun).toEqual(['a1', 'b1', 'a2', 'c1', 'b2', 'a3'])
  expect([queue.waiting, queue.waitingOf('a')]).toEqual([0, 0])
})

test('a cancelled job leaves the queue, and delays nobody', async () => {
  const { queue, begun, add, end } = steered({ atOnce: 1, atOnceOfOwner: 1 })
  const gone = new AbortController()
  const first = add('a', 'a1')
  const second = add('b', 'b1', gone.signal)
  const third = add('b', 'b2')
  gone.abort(new Error('gone'))
  await expect(second).rejects.toThrow('gone')
  expect(queue.waitingOf('b')).toBe(1)
  end('a1')
  await first
  await expect.poll(() => begun).toEqual(['a1', 'b2'])
  end('b2')
  await third
  await expect(add('a', 'a2', gone.signal)).rejects.toThrow('gone')
})

test('a failed job frees its slot', async () => {
  const queue = new FairQueue({ atOnce: 1, atOnceOfOwner: 1 })
  const failing = queue.run('a', forever, async () => {
    throw new Error('failed')
  })
  const next = queue.run('a', forever, async () => 'next')
  await expect(failing).rejects.toThrow('failed')
  expect(await next).toBe('next')
})
