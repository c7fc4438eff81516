import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { Holt } from '../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { existingRuntime, McpEndpoint, makeServer, Session, sessionLimits } from '../src/index.ts'
import { openClient, revisions } from './support/open-client.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

const signals = () => [...service.processes.values()].map(({ command }) => command.signal)

test('the end of a session that was dropped kills its command', async () => {
  const holt = new Holt({ url: service.url, apiKey: service.key })
  await holt.runtimes.create({ name: 'mine' })
  const session = new Session({ holt, scopes: new Set(['admin'] as const), bound: null })
  const endpoint = new McpEndpoint((one) => makeServer(one, { version: '1' }), { ...sessionLimits, idleMs: 300 })
  onTestFinished(() => endpoint.close())
  const send = (body: object, id?: string) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const more = id === undefined ? {} : { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
    const request = new Request('http://holt.test/mcp', { method: 'POST', headers: { ...headers, ...more } })
    return endpoint.answer(request, { jsonrpc: '2.0', ...body }, { keyId: 'ky', owner: 'digest', session })
  }
  const clientInfo = { name: 'test', version: '1' }
  const opened = await send({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  })
  const id = String(opened.headers.get('mcp-session-id'))
  await opened.text()
  const args = { runtime: 'mine', command: 'echo begun; sleep 60' }
  const called = await send({ id: 2, method: 'tools/call', params: { name: 'run_command', arguments: args } }, id)
  await expect.poll(() => [...service.processes.values()].map((one) => one.text('stdout'))).toEqual(['begun\n'])
  await called.body?.cancel()
  await expect.poll(() => endpoint.sessions).toBe(0)
  await expect.poll(signals).toEqual(['SIGKILL'])
})

test.each(revisions)('two sessions share one runtime, and one may leave (%s)', async (revision) => {
  const { holt } = await openClient(service)
  const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
  const bound = (one: Holt) => existingRuntime(one, runtime_id)
  const [first, second] = [
    await openClient(service, { revision, bound }),
    await openClient(service, { revision, bound }),
  ]
  const outputs = await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      (at % 2 === 0 ? first : second).text('run_command', { command: `echo out${at}` }),
    ),
  )
  for (const [at, output] of outputs.entries()) expect(output).toContain(`\nout${at}\n`)
  const running = second.text('run_command', { command: 'echo begun; sleep 1; echo done' })
  await expect.poll(() => [...service.processes.values()].at(-1)?.text('stdout')).toBe('begun\n')
  await first.client.close()
  await first.endpoint.close()
  expect(await running).toContain('begun\ndone\n')
  expect(service.runtimes.get(runtime_id)).toMatchObject({ state: 'running' })
})

test('a file of 100 MB is read in parts', async () => {
  const { holt, text } = await openClient(service)
  const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
  await text('write_file', { runtime: 'mine', path: '/small', content: 'x' })
  await writeFile(service.place(runtime_id, '/large'), Buffer.alloc(100_000_000, 'line of text\n'))
  const read = await text('read_file', { runtime: 'mine', path: '/large' })
  expect(read.length).toBeLessThan(34_000)
  expect(read).toContain('[The file goes on: read it with start_line ')
  expect(await text('read_file', { runtime: 'mine', path: '/large', start_line: 7_000_000 })).toContain('line of text')
}, 120_000)
