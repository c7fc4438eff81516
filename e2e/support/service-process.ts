import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { programFile } from '@holt/testkit'
import { type Lane, ownLane, repository } from './lane.ts'
import type { RigFacts } from './rig/records.ts'
import { vendorHosts } from './rig/vendor-apis.ts'
import { until } from './until.ts'

export { repository } from './lane.ts'

/** The state directory of the service under test. */
export const { stateDir } = ownLane

/** A word in the service's environment that no runtime may ever see. */
export const canary = 'canary-of-the-host-6f1d2c'

/** The daemon's program. */
export const mainFile = programFile('holtd')

/** A daemon stops listening and exits; a second is much. */
const STOP_TIMEOUT_MS = 20_000

/** Node as the repository pins it. */
export function nodeBinary(): string {
  const pinned = join(repository, 'node_modules', '.bin', 'node')
  return existsSync(pinned) ? pinned : process.execPath
}

/** Starts every later service of the lane with the rig as its Internet. */
export function useRig(rig: RigFacts, lane: Lane): void {
  const { resolver, caFile, listedAddress, packageIndex, npmRegistry, debianArchive } = rig
  // The index of a machine may be a mirror in a network that is not public.
  const indexes = [...Object.values(packageIndex), ...Object.values(debianArchive), npmRegistry]
  const addresses = new Set([listedAddress, ...indexes.flat()])
  const environment = {
    HOLT_EGRESS_RESOLVERS: resolver,
    HOLT_EGRESS_ALLOWED_NETWORKS: [...addresses].map((address) => `${address}/32`).join(','),
    HOLT_EGRESS_CA_FILE: caFile,
    // The vendors of models have no name in the rig: the operator says where their APIs are.
    HOLT_EGRESS_OVERRIDES: vendorHosts.map((host) => `${host}:443=${listedAddress}:443`).join(','),
  }
  writeFileSync(rigFile(lane), JSON.stringify(environment))
}

function rigEnvironment(lane: Lane): NodeJS.ProcessEnv {
  const path = rigFile(lane)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as NodeJS.ProcessEnv) : {}
}

/**
 * Returns the file of the settings that make the rig a service's Internet. Daemons that tests start
 * themselves use it too.
 */
function rigFile({ rigDir }: Lane): string {
  return join(rigDir, 'environment.json')
}

function logFile(lane: Lane): string {
  return join(lane.stateDir, 'holtd.log')
}

/** Settings of the service that a test wants otherwise, as variables of its environment. */
export type Settings = Readonly<Record<string, string>>

/** The environment of every program of the installation under test. */
export function serviceEnvironment(port: number, settings: Settings = {}, lane = ownLane): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOLT_STATE_DIR: lane.stateDir,
    HOLT_PORT: String(port),
    HOLT_LOG_LEVEL: 'info',
    HOLT_E2E_SECRET: canary,
    // Tests start registries of their own on loopback.
    HOLT_REGISTRY_INSECURE: '127.0.0.1:*',
    // A runtime in a pool would look like a leak. The tests of pools turn them on.
    HOLT_POOL_MAX: '0',
    HOLT_E2B: 'on',
    ...rigEnvironment(lane),
    TMPDIR: lane.temporaryDir,
    ...settings,
  }
}

/**
 * Starts the daemon. It outlives the process that started it. Answers its pid; the caller waits for
 * `/readyz`.
 */
export async function startService(port: number, settings: Settings = {}, lane = ownLane): Promise<number> {
  await mkdir(lane.stateDir, { recursive: true, mode: 0o700 })
  await using log = await open(logFile(lane), 'a', 0o600)
  // As `holt up` starts it.
  const child = spawn(nodeBinary(), ['--max-semi-space-size=8', mainFile, 'serve'], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: serviceEnvironment(port, settings, lane),
  })
  child.unref()
  if (child.pid === undefined) throw new Error('holtd cannot be started')
  return child.pid
}

/**
 * The pid of the running daemon, from its lock file; null when none runs. The start time tells it
 * from a later process of the same number.
 */
export function findService(lane = ownLane): number | null {
  const path = join(lane.stateDir, 'holtd.pid')
  if (!existsSync(path)) return null
  const holder = JSON.parse(readFileSync(path, 'utf8')) as { pid: number; start_time: string }
  return startTimeOf(holder.pid) === holder.start_time ? holder.pid : null
}

/** Returns true if a process runs. */
export function isRunning(pid: number): boolean {
  return startTimeOf(pid) !== null
}

/** Ends the daemon and waits until it is gone. None is success. */
export async function stopService(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM', lane = ownLane): Promise<void> {
  const pid = findService(lane)
  if (pid === null) return
  const startTime = startTimeOf(pid)
  process.kill(pid, signal)
  const gone = async () => startTimeOf(pid) !== startTime
  await until('holtd has ended', gone, STOP_TIMEOUT_MS).catch(() => process.kill(pid, 'SIGKILL'))
  await until('holtd has ended', gone, STOP_TIMEOUT_MS)
}

/** Runs a subcommand of the daemon's program, such as `purge`. */
export async function runService(
  subcommand: string,
  port: number,
  lane: Lane,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(nodeBinary(), [mainFile, subcommand], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: serviceEnvironment(port, {}, lane),
    timeout: 60_000,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  return { code, output }
}

/** The last lines the daemon has logged. */
export function serviceLog(lane: Lane, lines = 40): string {
  const path = logFile(lane)
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n') : ''
}

/**
 * Field 22 of `/proc/PID/stat` (proc_pid_stat(5)); null for no process and for one that has ended
 * but is not reaped.
 */
function startTimeOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? null : (fields[19] ?? null)
  } catch {
    return null // No such process is an answer.
  }
}
