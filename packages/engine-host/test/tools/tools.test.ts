import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Gate } from '../../src/tools/gate.ts'
import { KeyedLock } from '../../src/tools/keyed-lock.ts'
import { identifyProcess, isAlive, parseStat } from '../../src/tools/process-table.ts'
import { mustRun, runTool } from '../../src/tools/run-tool.ts'

const never = new AbortController().signal

test('runs a tool with its arguments as they are, in an environment of its own', async () => {
  const odd = 'a b; $(touch /x) \'"'
  expect((await runTool(['printf', '%s', odd], { timeoutMs: 10_000 })).stdout).toBe(odd)
  const { stdout } = await runTool(['env'], { timeoutMs: 10_000 })
  expect(stdout.split('\n').map((line) => line.split('=')[0])).toEqual(['PATH', 'LC_ALL', ''])
  expect((await runTool(['pwd'], { timeoutMs: 10_000 })).stdout).toBe('/\n')
})

test('tells how a tool failed in its own words', async () => {
  await expect(mustRun(['ls', '--', '/no/such/file'], { timeoutMs: 10_000 })).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('/no/such/file'),
  })
  await expect(runTool(['/no/such/program'], { timeoutMs: 10_000 })).rejects.toMatchObject({ kind: 'failed' })
})

test('kills a tool that takes too long, or that nobody waits for any more', async () => {
  await expect(runTool(['sleep', '1000'], { timeoutMs: 20 })).rejects.toMatchObject({ kind: 'failed' })
  const stop = new AbortController()
  const running = runTool(['sleep', '1000'], { timeoutMs: 60_000, signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
})

test('cuts the output of a tool that does not stop talking', async () => {
  const { stdout } = await runTool(['head', '-c', '3000000', '/dev/zero'], { timeoutMs: 10_000 })
  expect(stdout).toHaveLength(2 ** 20)
})

test('tells a process from a later one with the same number', async () => {
  const self = await identifyProcess(process.pid)
  expect(self).not.toBeNull()
  if (self === null) return
  expect(await isAlive(self)).toBe(true)
  expect(await isAlive({ ...self, startTicks: self.startTicks + 1 })).toBe(false)
})

test('reads a start time past a name with brackets and spaces, and none of a zombie', () => {
  const rest = `${'0 '.repeat(18)}4711 0 0`
  expect(parseStat(`12 (a) b (c) S ${rest}`)).toBe(4711)
  expect(parseStat(`12 (a) Z ${rest}`)).toBeNull()
  fc.assert(fc.property(fc.string(), (text) => void parseStat(text)))
})

test('runs one thing at a time for a key, in order, past failures, and forgets the key', async () => {
  const lock = new KeyedLock()
  const seen: number[] = []
  const gate = Promise.withResolvers<void>()
  const works = [
    lock.run('a', async () => {
      await gate.promise
      seen.push(1)
      throw new Error('one')
    }),
    lock.run('a', async () => seen.push(2)),
    lock.run('b', async () => seen.push(0)),
  ]
  await works[2]
  expect(seen).toEqual([0])
  gate.resolve()
  await expect(works[0]).rejects.toThrow('one')
  await works[1]
  expect(seen).toEqual([0, 1, 2])
})

test('lets so many through a gate as it is wide, and the next when one leaves', async () => {
  const gate = new Gate(2)
  const doors = [1, 2, 3].map(() => Promise.withResolvers<void>())
  let inside = 0
  let most = 0
  const works = doors.map((door) =>
    gate.run(never, async () => {
      most = Math.max(most, ++inside)
      await door.promise
      inside -= 1
    }),
  )
  for (const door of doors) door.resolve()
  await Promise.all(works)
  expect(most).toBe(2)
})

test('takes who gives up out of the queue of a gate', async () => {
  const gate = new Gate(1)
  const door = Promise.withResolvers<void>()
  const first = gate.run(never, () => door.promise)
  const stop = new AbortController()
  const second = gate.run(stop.signal, async () => 'second')
  stop.abort(new Error('gave up'))
  await expect(second).rejects.toThrow('gave up')
  door.resolve()
  await first
  expect(await gate.run(never, async () => 'third')).toBe('third')
})
