import type { GuestClient } from '@holt/engine'
import { expect, test, vi } from 'vitest'
import { writeDown } from '../../../src/runtimes/lifecycle/write-down.ts'
import type { Runtimes } from '../../../src/runtimes/runtimes.ts'

const slept = vi.hoisted(() => ({ held: false, open: [] as number[], inside: [] as number[] }))

vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number) => void (slept.held ? slept.inside : slept.open).push(ms),
}))

test('a guest whose connections linger for ever keeps nobody waiting at its gate', async () => {
  const guest = {
    info: async () => ({ lingering_ms: 120_000, knowsRenew: true }),
    quiesce: async () => {},
  } as unknown as GuestClient
  const { signal } = new AbortController()
  const holdSignals: AbortSignal[] = []
  const service = {
    log: { debug: () => {} },
    engine: {
      ability: () => ({ take: async () => ({ checkpointId: 'cp1' }) }),
      dial: () => Promise.reject(new Error('nobody is there')),
    },
    links: {
      hold: async <Result>(_id: string, work: (link: GuestClient) => Promise<Result>, ends: AbortSignal) => {
        holdSignals.push(ends)
        slept.held = true
        const result = await work(guest)
        slept.held = false
        return result
      },
    },
  } as unknown as Runtimes
  expect(await writeDown(service, 'rt1', { checkpointId: 'cp1', goOn: true }, signal)).toEqual({ checkpointId: 'cp1' })
  expect(slept.open.length).toBeGreaterThan(0)
  for (const ms of slept.open) expect(ms).toBeLessThan(120_000)
  expect(Math.max(...slept.inside)).toBeLessThanOrEqual(5_000)
  expect(new Set(holdSignals)).toEqual(new Set([signal]))
})
