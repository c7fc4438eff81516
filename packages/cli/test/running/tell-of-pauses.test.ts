import type { Runtime, RuntimeState } from '@holt/sdk'
import { afterEach, expect, test, vi } from 'vitest'
import { tellOfPauses } from '../../src/running/tell-of-pauses.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/**
 * A runtime whose deadline has just been acted on each time it is looked at, in one state after the
 * other.
 */
function runtimeOf(states: readonly (RuntimeState | Error)[]) {
  const ended = new AbortController()
  const left = [...states]
  const runtime = {
    runtime_id: 'rt1',
    name: 'mine',
    state: 'running' as RuntimeState,
    state_reason: { code: 'timeout', message: '' },
    expires_at: soon(),
    refresh: async () => {
      const next = left.shift()
      runtime.expires_at = soon()
      if (left.length === 0) ended.abort()
      if (next instanceof Error) throw next
      if (next !== undefined) runtime.state = next
    },
  }
  return { runtime: runtime as unknown as Runtime, signal: ended.signal }
}

const soon = () => new Date(Date.now() - 1_990).toISOString()

async function toldOf(states: readonly (RuntimeState | Error)[]): Promise<string> {
  let told = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text)
    return true
  })
  const { runtime, signal } = runtimeOf(states)
  await tellOfPauses(runtime, signal)
  return told
}

test('a pause is reported once, with what to do, and so is its end', async () => {
  expect(await toldOf(['running', 'pausing', 'paused', 'paused', 'running', 'running'])).toBe(
    'holt: the runtime is paused, as its time is over, and its command with it; to continue: holt resume mine\nholt: the runtime continues\n',
  )
})

test('a running runtime is not reported, and other errors neither', async () => {
  expect(await toldOf(['running', new Error('gone'), 'running'])).toBe('')
})
