import { expect, test } from 'vitest'
import { IdleWatch } from '../../../src/runtimes/lifecycle/idle-watch.ts'
import { RuntimeLinks } from '../../../src/runtimes/links/runtime-links.ts'
import type { Runtimes } from '../../../src/runtimes/runtimes.ts'

const running = (runtime_id: string) => ({
  project_id: 'pr',
  runtime_id,
  idle_timeout_secs: 60,
  pause_kind: 'memory' as const,
})

/** A watch of frozen runtimes, a clock that stands still, and which of them were to be paused. */
function watchOf(...ids: readonly string[]) {
  const clock = { now: 1_000_000 }
  const paused: string[] = []
  const service: Runtimes = {
    monotonic: () => clock.now,
    log: { warn: () => {}, debug: () => {} },
    networks: { egressOf: () => null },
    transitions: {
      has: () => false,
      run: async (id: string) => {
        paused.push(id)
        return { state: 'paused' }
      },
    },
  } as unknown as Runtimes
  const links = new RuntimeLinks(() => service)
  const watch = new IdleWatch({ ...service, links })
  for (const id of ids) links.link(id).noteFrozen()
  const look = () => watch.look(ids.map(running))
  const lookAfter = (ms: number) => {
    clock.now += ms
    look()
  }
  return { lookAfter, links, paused }
}

test('after a missed check, waiting requests are counted before idleness is judged', () => {
  const { lookAfter, links, paused } = watchOf('used', 'idle')
  for (let looks = 0; looks < 5; looks += 1) lookAfter(1_000)
  lookAfter(600_000)
  expect(paused).toEqual([])
  links.use('used')[Symbol.dispose]()
  lookAfter(1_000)
  expect(paused).toEqual(['idle'])
})

test('late checks still find idle runtimes', () => {
  const { lookAfter, paused } = watchOf('idle')
  for (let looks = 0; looks < 10; looks += 1) lookAfter(5_000)
  expect(paused).toEqual([])
  for (let looks = 0; looks < 5; looks += 1) lookAfter(5_000)
  expect(new Set(paused)).toEqual(new Set(['idle']))
})
