import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import type { ServerConfig, ServerOptions } from '../../src/index.ts'
import { startTestServer, type TestServer } from './start-test-server.ts'

/** A server with pools. */
export interface PooledServer extends TestServer {
  /** The ids of the runtimes that wait, oldest first, by the database. */
  waiting(template?: string): readonly string[]
  /** Waits until so many wait. */
  filled(count: number, template?: string): Promise<readonly string[]>
  /** A sample of the metrics; 0 where there is none. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>
  /** Changes rows behind the service's back. */
  tamper(sql: string): void
}

/** Starts a server whose default pool has `floor` members, and whose pools together have up to `ceiling`. */
export async function startPooledServer(
  { floor = 2, ceiling = 16, ...options }: Partial<ServerOptions> & { floor?: number; ceiling?: number } = {},
  state?: string,
): Promise<PooledServer> {
  const config = { pools: { floor, ceiling } } as ServerConfig
  const server = await startTestServer({ ...options, config }, state)
  const query = <Result>(run: (database: DatabaseSync) => Result): Result => {
    const database = new DatabaseSync(join(server.stateDir, 'holt.db'), { timeout: 5000 })
    try {
      return run(database)
    } finally {
      database.close()
    }
  }
  const waiting = (template = 'base-small') =>
    query((database) =>
      database
        .prepare(
          `SELECT runtime_id FROM pool_members JOIN templates USING (template_id)
          WHERE pool_members.state = 'ready' AND name = ? ORDER BY pool_members.created_at, runtime_id`,
        )
        .all(template)
        .map(({ runtime_id }) => String(runtime_id)),
    )
  return {
    ...server,
    waiting,
    filled: async (count, template) => {
      await expect.poll(() => waiting(template).length, { timeout: 10_000 }).toBe(count)
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
    tamper: (sql) => query((database) => database.exec(sql)),
  }
}
