import { Port } from '@holt/protocol'
import { expect } from 'vitest'
import { success } from './api.ts'
import { service } from './facts.ts'
import { send } from './http.ts'
import type { TestRuntime } from './test-runtime.ts'

/**
 * One visit to a port of a runtime, which waits for nothing; answers the JSON that its program
 * said.
 */
export async function visit<Value>(runtime: TestRuntime, number: number, path: string): Promise<Value> {
  const port = success(await runtime.call('GET', `/ports/${number}`), 200, Port)
  expect(port.listening).toBe(true)
  const target = `${runtime.path}/ports/${number}/proxy${path}`
  const answer = await send(service.url, { method: 'GET', target, headers: { 'x-holt-port-token': port.token } })
  expect(answer.status, answer.status === 200 ? '' : await describe(runtime, number, answer.bytes)).toBe(200)
  return JSON.parse(answer.bytes.toString()) as Value
}

/** The answer to a failed visit, and the remains of the program. */
async function describe(runtime: TestRuntime, number: number, answer: Buffer): Promise<string> {
  const port = await runtime.call('GET', `/ports/${number}`)
  const commands = await runtime.call('GET', '/commands')
  const output = await runtime.call('GET', '/commands/cmstartcommand00000000/output', { query: { follow: false } })
  return [answer, port.text, commands.text, output.text].join('\n')
}
