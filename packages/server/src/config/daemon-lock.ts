import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readIfThere } from './installation.ts'
import { writeDurably } from './write-durably.ts'

const Holder = z.object({ pid: z.number().int().positive(), start_time: z.string() })

/** A process that holds the state directory: its pid, and its start time in clock ticks since boot, so that a reused pid is not mistaken for it. */
export type LockHolder = z.infer<typeof Holder>

/** The daemon that runs over this state directory; null when none does. */
export async function findDaemon(stateDir: string): Promise<LockHolder | null> {
  const text = await readIfThere(lockPath(stateDir))
  const holder = Holder.safeParse(parse(text ?? ''))
  if (!holder.success) return null
  return (await startTimeOf(holder.data.pid)) === holder.data.start_time ? holder.data : null
}

/** Takes the state directory for this process. Fails while another daemon holds it. */
export async function takeLock(stateDir: string): Promise<void> {
  const holder = await findDaemon(stateDir)
  if (holder !== null && holder.pid !== process.pid)
    throw new Error(`holtd runs already as process ${holder.pid} over ${stateDir}`)
  const startTime = await startTimeOf(process.pid)
  await writeDurably(lockPath(stateDir), `${JSON.stringify({ pid: process.pid, start_time: startTime ?? '' })}\n`)
}

/** Lets go of the state directory. */
export async function releaseLock(stateDir: string): Promise<void> {
  const holder = await findDaemon(stateDir)
  if (holder?.pid === process.pid) await rm(lockPath(stateDir), { force: true })
}

/** Field 22 of `/proc/PID/stat` (proc_pid_stat(5)); null when there is no such process, or only a zombie that nobody has waited for. */
async function startTimeOf(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
  } catch {
    return null // The process has ended, which is what is asked.
  }
}

function lockPath(stateDir: string): string {
  return join(stateDir, 'holtd.pid')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // A file that is not JSON names no process.
  }
}
