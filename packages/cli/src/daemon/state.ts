import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the service keeps everything unless told otherwise. */
export const defaultStateDir = '/var/lib/holt'

/** The directory in which the service keeps everything. */
export function stateDir(): string {
  return process.env.HOLT_STATE_DIR || defaultStateDir
}

/** Where the words of a service go that `holt up` has started. */
export function logPath(): string {
  return join(stateDir(), 'holtd.log')
}

/** The port the service listens on unless told otherwise. */
export function defaultPort(): number {
  return Number(process.env.HOLT_PORT || 4658)
}

/** The service's program. HOLT_DAEMON names it where a package has put it elsewhere. */
export function daemonProgram(): string {
  return process.env.HOLT_DAEMON || fileURLToPath(new URL('../../../server/src/main.ts', import.meta.url))
}

/**
 * The service that runs over this state directory; null when none does. A pid that another process
 * has now does not count.
 */
export async function findDaemon(): Promise<{ readonly pid: number } | null> {
  const { pid, start_time } = await readNoted('holtd.pid')
  if (typeof pid !== 'number' || start_time === undefined) return null
  return (await startTimeOf(pid)) === String(start_time) ? { pid } : null
}

/**
 * Whether a service has ever been started over this state directory, so that there are settings to
 * compare with.
 */
export function wasStarted(): boolean {
  return existsSync(join(stateDir(), 'running.json'))
}

/**
 * The unit of systemd that runs the service, or has run one that did not end in order: it starts
 * the next one. Null: there is none.
 */
export async function findUnit(): Promise<string | null> {
  const { unit } = await readNoted('holtd.pid')
  return typeof unit === 'string' ? unit : null
}

/**
 * Where the words of the last service are: a file, or for a unit of systemd the command that shows
 * its journal.
 */
export async function logPlace(): Promise<string> {
  const unit = await lastUnit()
  return unit === null ? logPath() : `journalctl -u ${unit}`
}

/**
 * The unit of systemd that has run the last service, also where it was stopped in order. Null: none
 * has.
 */
export async function lastUnit(): Promise<string | null> {
  const { unit } = await readNoted('running.json')
  return typeof unit === 'string' ? unit : null
}

/**
 * What the service has written of itself: in `holtd.pid` while it runs, in `running.json` also when
 * it was stopped. Nothing where it has not, or where that cannot be read.
 */
async function readNoted(
  name: 'holtd.pid' | 'running.json',
): Promise<{ pid?: unknown; start_time?: unknown; unit?: unknown }> {
  try {
    return JSON.parse(await readFile(join(stateDir(), name), 'utf8')) ?? {}
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return {}
    throw error
  }
}

/** Whether exactly this process still runs. */
export async function startTimeOf(pid: number): Promise<string | null> {
  try {
    // Field 22 of proc_pid_stat(5), counted after the name, which may contain anything. A zombie
    // has ended.
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? null : (fields[19] ?? null)
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}
