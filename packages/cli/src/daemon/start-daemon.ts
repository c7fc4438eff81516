import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile } from 'node:fs/promises'
import { daemonProgram, logPath, stateDir } from './state.ts'

/** The options for starting a service. */
export interface StartOptions {
  readonly port: number
  readonly isolation?: string | undefined
  /** True: clients of E2B may use it. Otherwise the environment decides. */
  readonly e2b?: boolean | undefined
}

/** A started service: the end of its process, and its output. */
export interface StartedDaemon {
  readonly pid: number
  /** Returns the way in which it ended; null while it runs. */
  readonly ended: () => string | null
  /** Returns the last lines of its output since the start. */
  readonly lastOutput: () => Promise<string>
}

const linesShown = 20

/**
 * The flags keep the space for young objects small. Streams make many objects that are garbage
 * within a millisecond. By default V8 lets a hundred MiB of them gather before a collection.
 */
const nodeFlags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=8']

/** Starts the service apart from this process. It outlives the terminal, and writes to its log. */
export async function startDaemon(options: StartOptions): Promise<StartedDaemon> {
  await mkdir(stateDir(), { recursive: true, mode: 0o700 })
  await using log = await open(logPath(), 'a', 0o600)
  const { size } = await log.stat()
  const child = spawn(process.execPath, [...nodeFlags, '--', daemonProgram(), 'serve'], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: environmentOf(options),
  })
  await once(child, 'spawn')
  child.unref()
  return { pid: child.pid ?? 0, ended: () => endOf(child), lastOutput: () => outputSince(size) }
}

/**
 * Returns the environment of a service that is started so. Without `port`, the environment's own or
 * the service's default applies.
 */
export function environmentOf({ port, isolation, e2b }: Partial<StartOptions>) {
  return {
    ...process.env,
    HOLT_STATE_DIR: stateDir(),
    ...(port === undefined ? {} : { HOLT_PORT: String(port) }),
    ...(isolation === undefined ? {} : { HOLT_ISOLATION: isolation }),
    ...(e2b === true ? { HOLT_E2B: 'on' } : {}),
  }
}

function endOf(child: ChildProcess): string | null {
  if (child.exitCode !== null) return `with exit code ${child.exitCode}`
  return child.signalCode === null ? null : `by ${child.signalCode}`
}

async function outputSince(offset: number): Promise<string> {
  const output = (await readFile(logPath())).subarray(offset).toString()
  return output.trimEnd().split('\n').slice(-linesShown).join('\n')
}
