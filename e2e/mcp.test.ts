import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it } from 'vitest'
import { call, runtimesPath } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { fetchOnce } from './support/fetch-once.ts'
import { McpAgent, makeKey, textOf, transports, workScopes } from './support/mcp-agent.ts'
import { repairProject } from './support/repair-project.ts'
import { repository } from './support/service-process.ts'

describeClasses('MCP', (isolation) => {
  it.each(transports)('an agent repairs the project of the quickstart over %s', async (transport) => {
    await using agent = await McpAgent.connect(transport, await makeKey(...workScopes))
    await repairProject((name, args) => agent.use(name, args), isolation)
  })

  it('forks, snapshots, ports and long output work', async () => {
    await using agent = await McpAgent.connect('http', await makeKey(...workScopes))
    const { runtime_id: runtime } = JSON.parse(await agent.use('create_runtime', { isolation, timeout_secs: 600 }))
    await agent.use('write_file', { runtime, path: '/workspace/index.html', content: 'served' })
    const command = 'python -m http.server 8000'
    await agent.use('run_command', { runtime, command, background: true })
    const { url } = JSON.parse(await agent.use('expose_port', { runtime, port: 8000 }))
    expect(await (await fetchOnce(url)).text()).toBe('served')

    const long = await agent.use('run_command', { runtime, command: 'seq 200000' })
    const [, command_id, cursor] = /command_id (cm\w+) and cursor (\d+)/.exec(long) ?? []
    const last = /\n(\d+)\n\[…/.exec(long)?.[1]
    const next = await agent.use('read_output', { runtime, command_id, cursor: Number(cursor) })
    // The runtime keeps the last MiB, and the output is longer.
    expect(Number(next.split('\n')[0])).toBeGreaterThanOrEqual(Number(last) + 1)

    const snapshot = JSON.parse(await agent.use('snapshot_runtime', { runtime, kind: 'filesystem' }))
    expect(snapshot).toMatchObject({ state: 'ready', kind: 'filesystem' })
    await call('DELETE', `/v1/agents/snapshot/${snapshot.snapshot_id}`)
    if (isolation === 'gvisor') {
      const [child] = (await agent.use('fork_runtime', { runtime })).split('\n').map((line) => JSON.parse(line))
      expect(await agent.use('read_file', { runtime: child.runtime_id, path: '/workspace/index.html' })).toBe('served')
      await agent.use('delete_runtime', { runtime: child.runtime_id })
    } else expect(textOf(await agent.call('fork_runtime', { runtime }))).toContain('code: not_supported_here')
    await agent.use('delete_runtime', { runtime })
  })

  it.each(['stdio', 'http', 'http, current revision'] as const)(
    'a cancelled call kills its command over %s',
    async (transport) => {
      await using agent = await McpAgent.connect(transport, await makeKey(...workScopes))
      const { runtime_id: runtime } = JSON.parse(await agent.use('create_runtime', { isolation, timeout_secs: 600 }))
      const stop = new AbortController()
      const began = Promise.withResolvers<void>()
      const args = { runtime, command: 'echo begun; sleep 600', timeout_secs: 600 }
      const running = agent.client.callTool(
        { name: 'run_command', arguments: args },
        { signal: stop.signal, onprogress: () => began.resolve() },
      )
      running.catch(() => undefined)
      await began.promise
      stop.abort()
      await expect(running).rejects.toThrow()
      await expect
        .poll(async () => JSON.parse((await call('GET', `${runtimesPath}/${runtime}/commands`)).text).data[0].signal)
        .toBe('SIGKILL')
      await agent.use('delete_runtime', { runtime })
    },
  )

  it('a session with a runtime of its own leaves nothing', async () => {
    const of = randomBytes(6).toString('hex')
    const options = ['--own', '--isolation', isolation, '--metadata', `of=${of}`, '--timeout', '10m']
    const own = async () => JSON.parse((await call('GET', runtimesPath, { query: { 'metadata.of': of } })).text).data
    {
      await using agent = await McpAgent.connect('stdio', await makeKey(...workScopes), options)
      expect(await agent.names()).not.toContain('create_runtime')
      expect(await agent.use('run_command', { command: 'echo hello' })).toContain('hello')
      expect(await own()).toMatchObject([{ state: 'running', isolation, on_timeout: 'terminate' }])
    }
    await expect.poll(async () => (await own())[0].state).toBe('terminated')
  })
})

it('a killed command leaves nothing after the deadline of its runtime', async () => {
  const of = randomBytes(6).toString('hex')
  const options = ['--own', '--metadata', `of=${of}`, '--timeout', '20s']
  const own = async () => JSON.parse((await call('GET', runtimesPath, { query: { 'metadata.of': of } })).text).data
  await using agent = await McpAgent.connect('stdio', await makeKey(...workScopes), options)
  expect(await agent.use('run_command', { command: 'echo hello' })).toContain('hello')
  const { pid } = agent.client.transport as StdioClientTransport
  process.kill(Number(pid), 'SIGKILL')
  expect(await own()).toMatchObject([{ on_timeout: 'terminate' }])
  await expect.poll(async () => (await own())[0].state, { timeout: 60_000 }).toBe('terminated')
})

it('a killed agent leaves nothing', async () => {
  const of = randomBytes(6).toString('hex')
  const own = async () => JSON.parse((await call('GET', runtimesPath, { query: { 'metadata.of': of } })).text).data
  const key = await makeKey(...workScopes)
  const holt = join(repository, 'packages/cli/bin/holt')
  const messages = [
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e2e', version: '1' } },
    },
    { method: 'notifications/initialized' },
    {
      id: 2,
      method: 'tools/call',
      params: { name: 'run_command', arguments: { command: 'sleep 600', timeout_secs: 600 } },
    },
  ].map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }))
  // An agent that speaks through a pipe, and is killed while its command runs.
  const program = `
    const { spawn } = require('node:child_process')
    const child = spawn(process.argv[1], process.argv.slice(2), { stdio: ['pipe', 'ignore', 'inherit'] })
    child.stdin.write(${JSON.stringify(`${messages.join('\n')}\n`)})`
  const args = ['-e', program, '--', holt, 'mcp', '--own', '--metadata', `of=${of}`]
  const env = { PATH: process.env.PATH ?? '', HOME: '/root', HOLT_URL: service.url, HOLT_API_KEY: key }
  const agent = spawn(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  await expect.poll(async () => (await own())[0]?.state, { timeout: 60_000 }).toBe('running')
  agent.kill('SIGKILL')
  await expect.poll(async () => (await own())[0].state, { timeout: 60_000 }).toBe('terminated')
})

/** The table of the page: scopes, and the tools that they add to those of the second scope. */
const rows = readFileSync(join(repository, 'docs/mcp.md'), 'utf8').matchAll(
  /^\| `(?<scope>[a-z]+:[a-z]+)`(?:, with `(?<also>[a-z:]+)`)? \| (?<tools>[^;|]*)/gm,
)
const scopes = [...rows].map(({ groups = {} }) => ({
  scope: groups.scope ?? '',
  also: groups.also ?? null,
  tools: [...(groups.tools ?? '').matchAll(/`(\w+)`/g)].map(([, tool]) => tool ?? ''),
}))

it.each(scopes)(
  'a key with $scope has the tools of the page, with $also those of both',
  async ({ scope, also, tools }) => {
    await using agent = await McpAgent.connect('http', await makeKey(...[scope, also].filter((each) => each !== null)))
    const more = scopes.find((each) => each.scope === also)?.tools ?? []
    expect((await agent.names()).sort()).toEqual([...tools, ...more].sort())
  },
)

it('a key that may only read has no tool that changes anything', async () => {
  await using agent = await McpAgent.connect('stdio', await makeKey('runtime:read'))
  const { tools } = await agent.client.listTools()
  expect(tools.length).toBeGreaterThan(0)
  expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual(tools.map(() => true))
})
