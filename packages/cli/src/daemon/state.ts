import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The default state directory of the service. */
export const defaultStateDir = '/var/lib/holt'

/** Returns the state directory of the service. */
export function stateDir(): string {
  return process.env.HOLT_STATE_DIR || defaultStateDir
}

/** Returns the path of the log of a service that `holt up` started. */
export function logPath(): string {
  return join(stateDir(), 'holtd.log')
}

/** Returns the port of the service, from HOLT_PORT or the default. */
export function defaultPort(): number {
  return Number(process.env.HOLT_PORT || 4658)
}

/** Returns the path of the service's program. A package that puts it elsewhere sets HOLT_DAEMON. */
export function daemonProgram(): string {
  return process.env.HOLT_DAEMON || fileURLToPath(new URL('../../../server/src/main.ts', import.meta.url))
}

/**
 * Returns the service that runs over this state directory; null if none does. A pid that belongs to
 * another process now does not count.
 */
export async function findDaemon(): Promise<{ readonly pid: number } | null> {
  const { pid, start_time } = await readNoted('holtd.pid')
  if (typeof pid !== 'number' || start_time === undefined) return null
  return (await startTimeOf(pid)) === String(start_time) ? { pid } : null
}

/**
 * Returns true if a service was ever started over this state directory, so that there are settings
 * to compare with.
 */
export function wasStarted(): boolean {
  return existsSync(join(stateDir(), 'running.json'))
}

/**
 * Returns the systemd unit of a service that runs, or that did not end in order. The unit starts
 * the next service. Null if there is none.
 */
export async function findUnit(): Promise<string | null> {
  const { unit } = await readNoted('holtd.pid')
  return typeof unit === 'string' ? unit : null
}

/**
 * Returns the place of the last service's log: a file, or for a systemd unit the command that shows
 * its journal.
 */
export async function logPlace(): Promise<string> {
  const unit = await lastUnit()
  return unit === null ? logPath() : `journalctl -u ${unit}`
}

/**
 * Returns the systemd unit of the last service, even if that was stopped in order; null if there is
 * none.
 */
export async function lastUnit(): Promise<string | null> {
  const { unit } = await readNoted('running.json')
  return typeof unit === 'string' ? unit : null
}

/**
 * Reads the service's record of itself: `holtd.pid` while it runs, `running.json` also after a
 * stop. Returns an empty record if the file is missing or is not JSON.
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

/**
 * Returns the start time of a process, which together with its pid identifies it; null if it has
 * ended.
 */
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
