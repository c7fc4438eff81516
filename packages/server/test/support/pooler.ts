import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@holt/testkit'
import { ask, type Cluster } from './postgres-cluster.ts'

/** A real PgBouncer before a server. */
export interface Pooler extends AsyncDisposable {
  /** The address of one of the server's databases through it, by name. */
  url(database: string): string
}

/** The user as whom it runs where the tests run as root, which it refuses. */
const nobody = 65_534

/** Returns true if PgBouncer is there. */
export function hasPooler(): boolean {
  try {
    execFileSync('pgbouncer', ['-V'], { stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    return false // scripts/lib/setup.sh fetches it.
  }
}

/**
 * Starts PgBouncer before a server. It knows every role of the server, and checks passwords as the
 * server does: with SCRAM, by a query.
 */
export async function startPooler({ url }: Cluster, mode: 'session' | 'transaction'): Promise<Pooler> {
  const dir = mkdtempSync(join(tmpdir(), 'holt-pooler-'))
  const port = await freePort()
  const password = 'correct-horse'
  await ask(url('postgres'), `ALTER ROLE holt PASSWORD '${password}'`)
  const socket = new URL(url('postgres')).searchParams.get('host')
  const config = `[databases]
* = host=${socket}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
pool_mode = ${mode}
default_pool_size = ${mode === 'session' ? 100 : 10}
max_client_conn = 1000
auth_type = scram-sha-256
auth_file = ${join(dir, 'users')}
auth_user = holt
auth_query = SELECT usename, passwd FROM pg_shadow WHERE usename = $1
log_connections = 0
log_disconnections = 0
`
  writeFileSync(join(dir, 'users'), `"holt" "${password}"\n`)
  writeFileSync(join(dir, 'pgbouncer.ini'), config)
  chmodSync(dir, 0o755)
  const as = process.getuid?.() === 0 ? [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : []
  const child = spawn('setpriv', [...as, '--pdeathsig=SIGKILL', '--', 'pgbouncer', '-q', join(dir, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  const at = (database: string) => `postgres://holt:${password}@127.0.0.1:${port}/${database}`
  await answering(at('postgres'), () => child.exitCode !== null)
  return {
    url: at,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function answering(url: string, hasEnded: () => boolean): Promise<void> {
  const deadline = Date.now() + 30_000
  for (;;) {
    try {
      await ask(url, 'SELECT 1')
      return
    } catch (error) {
      if (hasEnded() || Date.now() > deadline) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
