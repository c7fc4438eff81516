import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { NewKey } from '@holt/protocol'
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it } from 'vitest'
import { call, runtimesPath, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { fetchOnce } from './support/fetch-once.ts'
import { repairProject } from './support/repair-project.ts'
import { repository } from './support/service-process.ts'

/** Real agents speak either of them. */
const transports = ['stdio', 'http', 'http, current revision'] as const
type Transport = (typeof transports)[number]

/** An agent without a model: the official client, and tools that must succeed. */
class Agent implements AsyncDisposable {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  /** Connects with a key. `args` are options of `holt mcp`. */
  static async connect(transport: Transport, key: string, args: readonly string[] = []): Promise<Agent> {
    const pin = { versionNegotiation: { mode: { pin: '2026-07-28' } as const } }
    const client = new Client({ name: 'e2e', version: '1' }, transport === 'http, current revision' ? pin : {})
    await client.connect(transport === 'stdio' ? overStdio(key, args) : overHttp(key))
    return new Agent(client)
  }

  async names(): Promise<string[]> {
    return (await this.#client.listTools()).tools.map(({ name }) => name)
  }

  call(name: string, args: object): Promise<CallToolResult> {
    return this.#client.callTool({ name, arguments: { ...args } }, { timeout: 120_000 })
  }

  async use(name: string, args: object = {}): Promise<string> {
    const result = await this.call(name, args)
    const text = textOf(result)
    expect(result.isError ?? false, text).toBe(false)
    return text
  }

  get client(): Client {
    return this.#client
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close()
  }
}

function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : block.type)).join('\n')
}

function overStdio(key: string, args: readonly string[]): StdioClientTransport {
  const env = { PATH: process.env.PATH ?? '', HOME: '/root', HOLT_URL: service.url, HOLT_API_KEY: key }
  return new StdioClientTransport({
    command: join(repository, 'packages/cli/bin/holt'),
    args: ['mcp', ...args],
    env,
    stderr: 'inherit',
  })
}

function overHttp(key: string): StreamableHTTPClientTransport {
  const headers = { authorization: `Bearer ${key}` }
  return new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), {
    requestInit: { headers },
    fetch: fetchOnce,
  })
}

async function makeKey(...scopes: string[]): Promise<string> {
  const json = { name: `mcp-${randomBytes(4).toString('hex')}`, scopes }
  return success(await call('POST', '/v1/agents/key', { json }), 201, NewKey).key
}

const workScopes = ['runtime:read', 'runtime:write', 'template:read']

describeClasses('MCP', (isolation) => {
  it.each(transports)('an agent repairs the project of the quickstart over %s', async (transport) => {
    await using agent = await Agent.connect(transport, await makeKey(...workScopes))
    await repairProject((name, args) => agent.use(name, args), isolation)
  })

  it('forks, snapshots, ports and long output work', async () => {
    await using agent = await Agent.connect('http', await makeKey(...workScopes))
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
      await using agent = await Agent.connect(transport, await makeKey(...workScopes))
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
      await using agent = await Agent.connect('stdio', await makeKey(...workScopes), options)
      expect(await agent.names()).not.toContain('create_runtime')
      expect(await agent.use('run_command', { command: 'echo hello' })).toContain('hello')
      expect(await own()).toMatchObject([{ state: 'running', isolation, on_timeout: 'terminate' }])
    }
    await expect.poll(async () => (await own())[0].state).toBe('terminated')
  })
})

it('a key that may only read has no tool that changes anything', async () => {
  await using agent = await Agent.connect('stdio', await makeKey('runtime:read'))
  const { tools } = await agent.client.listTools()
  expect(tools.length).toBeGreaterThan(0)
  expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual(tools.map(() => true))
})
