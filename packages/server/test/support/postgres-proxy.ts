import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The moment at which a connection breaks: before the server gets the request, or after its answer
 * and before the client gets it. `unnoticed`: before the server gets the request, and the server
 * goes on waiting for it.
 */
export type Break = 'unsent' | 'unanswered' | 'unnoticed'

/** A way to a PostgreSQL server that can be broken. */
export interface PostgresProxy extends AsyncDisposable {
  /** The address of a database through it. */
  url(database: string): string
  /** Breaks the connection over which a text is sent next, and once. */
  breakAt(text: string, where: Break): void
  /**
   * Ends every connection on the client's side alone, as a partition does: the server goes on
   * believing in them.
   */
  abandon(): void
}

/** Stands before a server, whose address is given for a database of any name. */
export async function startProxy(upstream: string): Promise<PostgresProxy> {
  const dir = mkdtempSync(join(tmpdir(), 'holt-proxy-'))
  const target = join(new URL(upstream).searchParams.get('host') ?? '', '.s.PGSQL.5432')
  const pairs = new Set<readonly [Socket, Socket]>()
  const abandoned: Socket[] = []
  let next: { readonly text: string; readonly where: Break } | null = null
  const server = createServer((client) => {
    const far = connect(target)
    const pair = [client, far] as const
    pairs.add(pair)
    let breaking: Break | null = null
    const end = () => {
      pairs.delete(pair)
      for (const socket of pair) if (!abandoned.includes(socket)) socket.destroy()
    }
    client.on('data', (bytes) => {
      if (next !== null && bytes.includes(next.text)) {
        breaking = next.where
        next = null
        if (breaking === 'unnoticed') abandoned.push(far)
        if (breaking !== 'unanswered') return end()
      }
      far.write(bytes)
    })
    far.on('data', (bytes) => {
      if (breaking === 'unanswered') return end()
      client.write(bytes)
    })
    for (const socket of pair) socket.on('close', end).on('error', end)
  })
  await new Promise<void>((resolve) => server.listen(join(dir, '.s.PGSQL.5432'), resolve))
  return {
    url: (database) => `postgres://holt@localhost/${database}?host=${encodeURIComponent(dir)}`,
    breakAt: (text, where) => {
      next = { text, where }
    },
    abandon: () => {
      for (const [client, far] of pairs) {
        abandoned.push(far)
        client.destroy()
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of [...abandoned, ...[...pairs].flat()]) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
