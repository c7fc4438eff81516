import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

/** Metadata whose JSON contains the text of entries that they do not have. */
const hostile: Record<string, string> = { a: 'b', ':': 'x', 'k"': '","c":"d', 'back\\': '\\":"', __proto__x: 'ü.$[0]' }

test('runtimes are found by exact keys and values of their metadata', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const id = await makeRuntime({ metadata: hostile })
  await makeRuntime({ metadata: { a: 'B' } })
  const found = async (key: string, value: string) => {
    const query = `${encodeURIComponent(`metadata.${key}`)}=${encodeURIComponent(value)}`
    const { status, json } = await ask('GET', `${path}?${query}`)
    expect(status).toBe(200)
    return json.data.map(({ runtime_id }: { runtime_id: string }) => runtime_id)
  }
  for (const [key, value] of Object.entries(hostile)) expect([key, await found(key, value)]).toEqual([key, [id]])
  // The text `",":":"` is in the JSON, where one entry ends and another begins.
  const absent = [
    [',', ':'],
    ['c', 'd'],
    ['a', 'x'],
    ['A', 'b'],
    ['a', 'b\u0000'],
    ['a', ''],
    ['$.a', 'b'],
    ['a%', 'b'],
    ['__proto__', ''],
    ['toString', 'x'],
  ] as const
  for (const [key, value] of absent) expect([key, await found(key, value)]).toEqual([key, []])
})
