import { expect } from 'vitest'
import type { ServerConfig, ServerOptions } from '../../src/index.ts'
import { startTestServer, type TestServer } from './start-test-server.ts'
import { storedRows, tamper } from './test-store.ts'

/** A server with pools. */
export interface PooledServer extends TestServer {
  /** The ids of the runtimes that wait, oldest first, by the database. */
  waiting(template?: string): Promise<readonly string[]>
  /** Waits until so many wait. */
  filled(count: number, template?: string): Promise<readonly string[]>
  /** A sample of the metrics; 0 where there is none. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>
  /** Changes rows behind the service's back. */
  tamper(sql: string): Promise<void>
}

/**
 * Starts a server whose default pool has `floor` members, and whose pools together have up to
 * `ceiling`.
 */
export async function startPooledServer(
  { floor = 2, ceiling = 16, ...options }: Partial<ServerOptions> & { floor?: number; ceiling?: number } = {},
  state?: string,
): Promise<PooledServer> {
  const config = { pools: { floor, ceiling } } as ServerConfig
  const server = await startTestServer({ ...options, config }, state)
  const waiting = async (template = 'base-small') => {
    const rows = await storedRows(
      server.stateDir,
      `SELECT runtime_id FROM pool_members JOIN templates USING (template_id)
      WHERE pool_members.state = 'ready' AND name = '${template}' ORDER BY pool_members.created_at, runtime_id`,
    )
    return rows.map(({ runtime_id }) => String(runtime_id))
  }
  return {
    ...server,
    waiting,
    filled: async (count, template) => {
      await expect.poll(async () => (await waiting(template)).length, { timeout: 10_000 }).toBe(count)
      return waiting(template)
    },
    metric: async (name, labels = {}) => {
      const { text } = await server.ask('GET', '/metrics')
      for (const line of text.split('\n')) {
        const [, found, inside = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
        if (found !== name) continue
        if (Object.entries(labels).every(([key, text]) => inside.includes(`${key}="${text}"`))) return Number(value)
      }
      return 0
    },
    tamper: (sql) => tamper(server.stateDir, sql),
  }
}
