import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Observation, Observed } from '@holt/engine'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkSpec, sameSpec } from '../../src/runtimes/check-spec.ts'
import { Observers } from '../../src/runtimes/observers.ts'
import { type RuntimeRecord, readRecord, writeRecord } from '../../src/runtimes/runtime-record.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

const spec = {
  id: 'a'.repeat(22),
  isolation: 'gvisor',
  imageDigest: `sha256:${'0'.repeat(64)}`,
  cpu: 1,
  memoryMiB: 64,
  diskMiB: 64,
  pidsMax: 10,
  checkpointId: null,
} as const
const record: RuntimeRecord = {
  format: 1,
  installationId: 'test',
  bootId: 'boot',
  guest: 'f'.repeat(64),
  spec,
  firstId: null,
  state: 'running',
  restored: false,
  fallback: null,
  process: { pid: 1, startTicks: 2 },
  ending: null,
}
const observed = (id: string, state: Observed['state']): Observed => ({
  id,
  spec: { ...spec, id },
  state,
  ending: null,
  restored: false,
  fallback: null,
  frozen: false,
  memoryKills: { count: 0, last: null },
})

test.each([
  { cpu: 0 },
  { cpu: Number.NaN },
  { cpu: Number.POSITIVE_INFINITY },
  { memoryMiB: 8 },
  { memoryMiB: 64.5 },
  { diskMiB: 1 },
  { pidsMax: 0 },
  { id: '../x' },
  { imageDigest: 'sha256:../../etc/passwd' } as never,
])('refuses a spec with %j', (change) => {
  expect(() => checkSpec({ ...spec, ...change })).toThrow(expect.objectContaining({ kind: 'invalid' }))
})

test('compares specs regardless of the order of their fields', () => {
  expect(sameSpec(spec, Object.fromEntries(Object.entries(spec).reverse()) as never)).toBe(true)
  expect(sameSpec(spec, { ...spec, checkpointId: 'x' })).toBe(false)
})

test('reads back its record, and reports an absent and an invalid one', async () => {
  await using dir = await temporaryDirectory()
  const path = join(dir.path, 'runtime.json')
  expect(await readRecord(path)).toBe('absent')
  await writeRecord(path, record, true)
  expect(await readRecord(path)).toEqual(record)
  for (const text of [
    '',
    '{',
    '[]',
    JSON.stringify({ ...record, format: 2 }),
    JSON.stringify({ ...record, spec: null }),
  ]) {
    await writeFile(path, text)
    expect(await readRecord(path)).toBe('unreadable')
  }
})

test('never throws for a truncated record', async () => {
  await using dir = await temporaryDirectory()
  const path = join(dir.path, 'runtime.json')
  const text = JSON.stringify(record)
  await fc.assert(
    fc.asyncProperty(fc.nat(text.length - 1), async (length) => {
      await writeFile(path, text.slice(0, length))
      expect(await readRecord(path)).toBe('unreadable')
    }),
    { numRuns: 30 },
  )
})

test('observes existing runtimes, then the listing, then changes, and only the newest of each', async () => {
  const observers = new Observers()
  const stop = new AbortController()
  const items: Observation[] = []
  const stream = observers.observe(() => [observed('a', 'running')], stop.signal)
  items.push((await stream.next()).value, (await stream.next()).value)
  observers.tellPresent(observed('b', 'preparing'))
  observers.tellPresent(observed('b', 'running'))
  observers.tellAbsent('a')
  items.push((await stream.next()).value, (await stream.next()).value)
  expect(items).toEqual([
    { type: 'present', observed: observed('a', 'running') },
    { type: 'listed' },
    { type: 'present', observed: observed('b', 'running') },
    { type: 'absent', id: 'a' },
  ])
  const last = stream.next()
  stop.abort()
  expect((await last).done).toBe(true)
})
