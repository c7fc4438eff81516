import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { NewKey } from '@holt/protocol'
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect } from 'vitest'
import { call, success } from './api.ts'
import { service } from './facts.ts'
import { fetchOnce } from './fetch-once.ts'
import { repository } from './service-process.ts'

/** Real agents speak either of them. */
export const transports = ['stdio', 'http', 'http, current revision'] as const
type Transport = (typeof transports)[number]

/** An agent without a model: the official client, and tools that must succeed. */
export class McpAgent implements AsyncDisposable {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  /** Connects with a key. `args` are options of `holt mcp`. */
  static async connect(transport: Transport, key: string, args: readonly string[] = []): Promise<McpAgent> {
    const pin = { versionNegotiation: { mode: { pin: '2026-07-28' } as const } }
    const client = new Client({ name: 'e2e', version: '1' }, transport === 'http, current revision' ? pin : {})
    await client.connect(transport === 'stdio' ? overStdio(key, args) : overHttp(key))
    return new McpAgent(client)
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

/** Returns the texts of a result. */
export function textOf({ content }: CallToolResult): string {
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

/** Makes a key with scopes, and returns its secret. */
export async function makeKey(...scopes: string[]): Promise<string> {
  const json = { name: `mcp-${randomBytes(4).toString('hex')}`, scopes }
  return success(await call('POST', '/v1/agents/key', { json }), 201, NewKey).key
}

/** The scopes of an agent that works in runtimes. */
export const workScopes = ['runtime:read', 'runtime:write', 'template:read']
