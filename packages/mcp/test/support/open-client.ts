import type { Scope } from '@holt/protocol'
import { Holt } from '@holt/sdk'
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import type { TestService } from '../../../sdk/test/support/test-service.ts'
import { type BoundRuntime, McpEndpoint, makeServer, Session } from '../../src/index.ts'

/** The revisions that clients speak: the last one with sessions, and the current one. */
export const revisions = ['2025-11-25', '2026-07-28'] as const
type Revision = (typeof revisions)[number]

/** How a client is opened. */
export interface OpenHow {
  readonly revision?: Revision
  readonly scopes?: readonly Scope[]
  readonly bound?: (holt: Holt) => BoundRuntime
}

/** A client of an endpoint, and the endpoint. */
export interface OpenClient {
  readonly client: Client
  readonly endpoint: McpEndpoint
  readonly holt: Holt
  /** Calls a tool. */
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<CallToolResult>
  /** Calls a tool that has to succeed, and returns its texts. */
  text(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<string>
}

type CallOptions = Parameters<Client['callTool']>[1]

/** Opens a client of an endpoint over a service of a test. Both end with the test. */
export async function openClient(service: TestService, how: OpenHow = {}): Promise<OpenClient> {
  const { revision = '2026-07-28', scopes = ['admin'], bound } = how
  const holt = new Holt({ url: service.url, apiKey: service.key })
  const session = new Session({
    holt,
    scopes: new Set(scopes),
    bound: bound?.(holt) ?? null,
    address: 'http://holt.test',
  })
  const endpoint = new McpEndpoint((one) => makeServer(one, { version: '1.2.3' }))
  const caller = { keyId: 'ky', owner: 'digest', session }
  const transport = new StreamableHTTPClientTransport(new URL('http://holt.test/mcp'), {
    fetch: async (url, init) => {
      const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
      return endpoint.answer(new Request(url, init), body, caller)
    },
  })
  const versionNegotiation = revision === '2026-07-28' ? { mode: { pin: revision } as const } : undefined
  const client = new Client(
    { name: 'test', version: '1' },
    versionNegotiation === undefined ? {} : { versionNegotiation },
  )
  await client.connect(transport)
  onTestFinished(async () => {
    await client.close()
    await endpoint.close()
  })
  const call: OpenClient['call'] = (name, args = {}, options) => client.callTool({ name, arguments: args }, options)
  return {
    client,
    endpoint,
    holt,
    call,
    text: async (name, args, options) => {
      const result = await call(name, args, options)
      if (result.isError === true) throw new Error(textOf(result))
      return textOf(result)
    },
  }
}

/** Returns the texts of a result. */
export function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : `<${block.type}>`)).join('\n')
}
