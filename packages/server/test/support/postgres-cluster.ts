import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryDir } from '@holt/testkit'
import { Session } from '../../src/foundation/store/postgres/session.ts'

/** The directory in which Debian keeps the programs, with a directory for each version. */
const debianPrograms = '/usr/lib/postgresql'

/** The user that the server runs as where the tests run as root, which PostgreSQL refuses. */
const nobody = { uid: 65_534, gid: 65_534 }

/** Settings for tests: small, quiet, and reached by a socket in its own directory alone. */
const settings = {
  listen_addresses: '',
  max_connections: '200',
  shared_buffers: '64MB',
  autovacuum: 'off',
  log_min_messages: 'panic',
}

/** A PostgreSQL server of the tests' own. */
export interface Cluster extends AsyncDisposable {
  /** The directory of its files. */
  readonly directory: string
  /** The address of one of its databases, by name. */
  url(database: string): string
  /** Runs a statement in its first database, as a superuser. */
  run(sql: string): Promise<readonly unknown[]>
  /** Starts it again after `kill` or `stop`. */
  start(): Promise<void>
  /** Ends it as a crash would. */
  kill(): Promise<void>
  /** Ends it in order, cutting its connections. */
  stop(): Promise<void>
}

/** Returns true if the server's programs are installed. */
export function hasPostgres(): boolean {
  return existsSync(debianPrograms)
}

/** The options of a server. */
interface ClusterOptions {
  /** True for one that survives a power cut, as a user's does. The others are quicker. */
  readonly durable?: boolean
  /** A network namespace in which it listens, too, for clients of the same network. */
  readonly listen?: { readonly namespace: string; readonly address: string } | null
}

/** Starts a server. */
export async function startCluster({ durable = false, listen = null }: ClusterOptions = {}): Promise<Cluster> {
  const dir = mkdtempSync(join(durable ? tmpdir() : memoryDir(), 'holt-postgres-'))
  const asUser = runAs(dir, listen?.namespace)
  const program = (name: string) => join(debianPrograms, newestVersion(), 'bin', name)
  const init = ['-D', join(dir, 'data'), '-U', 'holt', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(...asUser(program('initdb'), init), { stdio: ['ignore', 'ignore', 'inherit'] })
  const quick = durable ? {} : { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }
  if (listen !== null) appendFileSync(join(dir, 'data', 'pg_hba.conf'), 'host all all samenet trust\n')
  const heard = listen === null ? {} : { listen_addresses: listen.address }
  const options = Object.entries({ ...settings, ...quick, ...heard, unix_socket_directories: dir })
  const args = ['-D', join(dir, 'data'), ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const url = (database: string) => `postgres://holt@localhost/${database}?host=${encodeURIComponent(dir)}`
  let server: ChildProcess | null = null
  const end = async (signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL') => {
    const ending = server
    server = null
    if (ending === null) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    await gone
  }
  const start = async () => {
    server = spawn(...asUser(program('postgres'), args), { stdio: ['ignore', 'inherit', 'inherit'] })
    await answering(url('postgres'), server)
  }
  await start()
  return {
    directory: join(dir, 'data'),
    url,
    start,
    run: (sql) => ask(url('postgres'), sql),
    // A server that is killed leaves its children, which end by themselves; an immediate shutdown
    // writes as little and leaves none.
    kill: () => end('SIGQUIT'),
    stop: () => end('SIGINT'),
    [Symbol.asyncDispose]: async () => {
      await end('SIGQUIT')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Asks one statement over a connection of its own. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into rows of every shape
export async function ask(url: string, sql: string): Promise<readonly any[]> {
  const session = await Session.open(url, 'test')
  try {
    return (await session.script(sql)).rows
  } finally {
    await session.close()
  }
}

/** How a program is started as a user that PostgreSQL accepts; it ends with this process. */
function runAs(dir: string, namespace?: string): (program: string, args: readonly string[]) => [string, string[]] {
  if (process.getuid?.() !== 0) return (program, args) => [program, [...args]]
  chownSync(dir, nobody.uid, nobody.gid)
  const drop = [`--reuid=${nobody.uid}`, `--regid=${nobody.gid}`, '--clear-groups', '--pdeathsig=SIGQUIT', '--']
  if (namespace === undefined) return (program, args) => ['setpriv', [...drop, program, ...args]]
  return (program, args) => ['nsenter', [`--net=/run/netns/${namespace}`, 'setpriv', ...drop, program, ...args]]
}

function newestVersion(): string {
  const [newest] = readdirSync(debianPrograms).sort((a, b) => Number(b) - Number(a))
  if (newest === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql')
  return newest
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  const deadline = Date.now() + 30_000
  for (;;) {
    try {
      await ask(url, 'SELECT 1')
      return
    } catch (error) {
      if (server.exitCode !== null || Date.now() > deadline) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
