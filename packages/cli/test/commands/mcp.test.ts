import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { Holt } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { endOf, holtArgv, runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

/** Starts `holt mcp` as an agent does. */
async function connect(args: readonly string[] = [], revision?: string): Promise<Client> {
  const [command, ...first] = holtArgv
  const env = { PATH: process.env.PATH ?? '', HOLT_URL: service.url, HOLT_API_KEY: service.key }
  const transport = new StdioClientTransport({ command, args: [...first, 'mcp', ...args], env, stderr: 'inherit' })
  const client = new Client(
    { name: 'test', version: '1' },
    revision === undefined ? {} : { versionNegotiation: { mode: { pin: revision } } },
  )
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

const states = () => [...service.runtimes.values()].map(({ state }) => state)

test.each([undefined, '2026-07-28'])('serves the official client, pinned to %s', async (revision) => {
  const client = await connect([], revision)
  expect(client.getServerVersion()).toMatchObject({ name: 'holt' })
  await client.callTool({ name: 'create_runtime', arguments: { name: 'mine' } })
  const ran = await client.callTool({ name: 'run_command', arguments: { runtime: 'mine', command: 'echo hello' } })
  expect(ran.content).toContainEqual({ type: 'text', text: expect.stringContaining('hello') })
})

test('offers only the tools that the scopes of the key allow', async () => {
  service.scopes = ['template:read']
  const { tools } = await (await connect()).listTools()
  expect(tools.map(({ name }) => name)).toEqual(['list_templates'])
})

test('--runtime takes a name, and offers tools for that runtime', async () => {
  const runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
  const client = await connect(['--runtime', 'mine'])
  await client.callTool({ name: 'write_file', arguments: { path: '/a', content: 'x' } })
  expect(await runtime.files.readText('/a')).toBe('x')
  await client.close()
  expect(states()).toEqual(['running'])
})

test('--own makes a runtime at the first use, and deletes it when the agent leaves', async () => {
  const client = await connect(['--own', '-n', 'own', '--cpu', '2', '--timeout', '10m'])
  expect(states()).toEqual([])
  await client.callTool({ name: 'write_file', arguments: { path: '/a', content: 'x' } })
  expect([...service.runtimes.values()]).toMatchObject([{ name: 'own', cpu: 2, timeout_secs: 600 }])
  await client.close()
  await expect.poll(states).toEqual(['terminated'])
})

test('a signal ends the command, and deletes its own runtime', async () => {
  const child = startHolt(['mcp', '--own'], { service })
  const ended = endOf(child)
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const clientInfo = { name: 'test', version: '1' }
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } })
  send({ method: 'notifications/initialized' })
  send({ id: 2, method: 'tools/call', params: { name: 'list_files', arguments: { path: '/' } } })
  await expect.poll(states).toEqual(['running'])
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
  expect(states()).toEqual(['terminated'])
})

test('a killed command leaves a runtime that its deadline terminates', async () => {
  const client = await connect(['--own', '--isolation', 'container'])
  await client.callTool({ name: 'write_file', arguments: { path: '/a', content: 'x' } })
  const { pid } = client.transport as StdioClientTransport
  process.kill(Number(pid), 'SIGKILL')
  // The class has no default deadline.
  expect([...service.runtimes.values()]).toMatchObject([{ timeout_secs: 3600, on_timeout: 'terminate' }])
})

test.each([
  [['--runtime', 'mine', '--own'], /one of --runtime and --own/],
  [['-t', 'base-small'], /need --own/],
  [['--timeout', '10m'], /need --own/],
])('%j is wrong usage', async (args, message) => {
  expect(await runHolt(['mcp', ...args], { service })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(message),
  })
})

test('a wrong key is reported on stderr before the agent speaks', async () => {
  const ended = await runHolt(['mcp'], { service, env: { HOLT_API_KEY: 'holt_wrong' } })
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('No valid key') })
})
