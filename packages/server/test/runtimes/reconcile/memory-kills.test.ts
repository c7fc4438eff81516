import { expect, test, vi } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

test('logs processes that were killed for memory: the first at once, more together', async () => {
  const { ask, engine, makeRuntime } = await startTestServer()
  const id = await makeRuntime()
  const events = async () => {
    const { json } = await ask('GET', `/v1/agents/event?type=runtime.oom_killed&subject=${id}`)
    return json.data.map(({ data }: { data: object }) => data)
  }
  // Time of the timers alone stands still.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    engine.killForMemory(id, 1, { name: 'a \u001b[2J with a long name', resident_bytes: 2 ** 30, command_id: 'cm1' })
    await expect.poll(events).toHaveLength(1)
    expect(await events()).toMatchObject([{ processes: 1, command_id: 'cm1', program: 'a ?[2J with a l' }])
    engine.killForMemory(id, 2, null)
    engine.killForMemory(id, 3, null)
    await vi.advanceTimersByTimeAsync(9_000)
    expect(await events()).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1_000)
    await expect.poll(events).toHaveLength(2)
    expect((await events()).at(-1)).toMatchObject({ processes: 5, command_id: null, program: null })
  } finally {
    vi.useRealTimers()
  }
  const { text } = await ask('GET', '/metrics')
  expect(text).toMatch(/^holt_oom_kills_total\{isolation="[a-z]+"\} 6$/m)
  expect((await ask('GET', `${path}/${id}`)).json.state).toBe('running')
})
