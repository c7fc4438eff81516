import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@holt/engine'

/**
 * A process, distinct from a later one with the same number. `startTicks` is field 22 of
 * `/proc/PID/stat` (`proc(5)`).
 */
export interface ProcessId {
  readonly pid: number
  readonly startTicks: number
}

/** Returns the process that has this number now, or null if there is none or only a zombie. */
export async function identifyProcess(pid: number): Promise<ProcessId | null> {
  let stat: string
  try {
    stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return null // No such process, or it ended during the read.
  }
  const startTicks = parseStat(stat)
  return startTicks === null ? null : { pid, startTicks }
}

/**
 * Returns the start time from a line of `/proc/PID/stat`, or null for a zombie or a dead process.
 * The name in brackets may hold anything, including `)`.
 */
export function parseStat(stat: string): number | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const state = fields[0]
  if (state === undefined || state === 'Z' || state === 'X' || state === '') return null
  const ticks = Number(fields[19])
  return Number.isSafeInteger(ticks) ? ticks : null
}

/** Returns true while exactly this process lives. */
export async function isAlive(process: ProcessId): Promise<boolean> {
  const now = await identifyProcess(process.pid)
  return now !== null && now.startTicks === process.startTicks
}

/** Sends SIGKILL to exactly this process, if it still lives. */
export async function killProcess(target: ProcessId): Promise<void> {
  if (!(await isAlive(target))) return
  try {
    process.kill(target.pid, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}

/**
 * Waits until none of these processes lives. Rejects with kind `failed` if one still lives after
 * `timeoutMs`.
 */
export async function waitGone(processes: readonly ProcessId[], timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let waitMs = 1
  for (;;) {
    const living = []
    for (const process of processes) if (await isAlive(process)) living.push(process.pid)
    if (living.length === 0) return
    if (performance.now() > deadline) throw new EngineError('failed', `processes do not end: ${living.join(', ')}`)
    await sleep(waitMs)
    waitMs = Math.min(waitMs * 2, 50)
  }
}

/** Returns the processes with an argument for which `isSuch` holds, except this one. */
export async function findByArgument(isSuch: (argument: string) => boolean): Promise<ProcessId[]> {
  return findByArguments((argv) => argv.some(isSuch))
}

/** Returns the processes whose arguments satisfy `isSuch`, except this one. */
export async function findByArguments(isSuch: (argv: readonly string[]) => boolean): Promise<ProcessId[]> {
  const found: ProcessId[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
    const argv = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '') // It ended meanwhile.
    if (!isSuch(argv.split('\0'))) continue
    const identity = await identifyProcess(Number(name))
    if (identity !== null) found.push(identity)
  }
  return found
}
