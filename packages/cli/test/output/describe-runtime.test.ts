import { expect, test } from 'vitest'
import { labelOf, nextOf } from '../../src/output/describe-runtime.ts'

const now = Date.UTC(2030, 0, 1)
const running = {
  state: 'running',
  expires_at: null,
  on_timeout: 'pause',
  idle_timeout_secs: null,
  auto_resume: true,
} as const
const inAnHour = { expires_at: new Date(now + 3600_000).toISOString() }

test.each([
  ['a runtime without a deadline', {}, ''],
  ['one that pauses', inAnHour, 'pauses in 60m'],
  ['one that was just made', { expires_at: new Date(now + 3_599_600).toISOString() }, 'pauses in 60m'],
  ['one that ends', { ...inAnHour, on_timeout: 'terminate' as const }, 'ends in 60m'],
  ['one whose deadline has just passed', { expires_at: new Date(now - 5).toISOString() }, 'pauses in 0s'],
  ['one that pauses when idle', { idle_timeout_secs: 60 }, 'pauses when idle for 60s'],
  ['one that does both', { ...inAnHour, idle_timeout_secs: 600 }, 'pauses in 60m or when idle for 10m'],
  [
    'one that ends, and is paused before where nobody uses it',
    { ...inAnHour, on_timeout: 'terminate' as const, idle_timeout_secs: 600 },
    'ends in 60m, pauses when idle for 10m',
  ],
  ['a paused one', { state: 'paused' as const }, 'resumes when used'],
  ['a paused one that stays so', { state: 'paused' as const, auto_resume: false }, ''],
  ['one that has ended', { ...inAnHour, state: 'terminated' as const }, ''],
])('%s: %j', (_, facts, told) => {
  expect(nextOf({ ...running, ...facts }, now)).toBe(told)
})

test.each([
  [{ runtime_id: 'rt1' as never, name: null }, 'rt1'],
  [{ runtime_id: 'rt1' as never, name: 'mine' }, 'mine (rt1)'],
])('%j is called %s', (runtime, label) => {
  expect(labelOf(runtime)).toBe(label)
})
