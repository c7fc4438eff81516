import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isDiskFull } from '../store/disk-full.ts'
import { giveUpReserve } from '../store/disk-reserve.ts'
import { databasePath } from '../store/open-store.ts'
import { readJsonIfThere } from './installation.ts'
import { writeDurably } from './write-durably.ts'

const Holder = z.object({
  pid: z.number().int().positive(),
  start_time: z.string(),
  unit: z.string().nullable().optional(),
})

/**
 * A process that holds the state directory: its pid, its start time in clock ticks since boot, so
 * that a reused pid is not mistaken for it, and the unit of systemd that starts it again when it
 * ends.
 */
export type LockHolder = z.infer<typeof Holder>

/** The daemon that runs over this state directory; null when none does. */
export async function findDaemon(stateDir: string): Promise<LockHolder | null> {
  const holder = await readHolder(stateDir)
  if (holder === null) return null
  return (await startTimeOf(holder.pid)) === holder.start_time ? holder : null
}

/**
 * The unit of systemd that runs the daemon of this state directory, or that has run the last one
 * where that did not end in order: such a unit may start the next one any moment. Null: there is
 * none.
 */
export async function findUnit(stateDir: string): Promise<string | null> {
  return (await readHolder(stateDir))?.unit ?? null
}

/**
 * What to type so that no daemon runs over a state directory. What a unit runs, the unit starts
 * again, so that has to be stopped.
 */
export function stopCommand(unit: string | null | undefined): string {
  return unit == null ? 'holt down' : `systemctl stop ${unit}`
}

/**
 * What to type so that a daemon runs over a state directory: what has run it last starts it again.
 */
export function startCommand(unit: string | null): string {
  return unit === null ? 'holt up' : `systemctl start ${unit}`
}

/**
 * Takes the state directory for this process, which a unit of systemd may run. Fails while another
 * daemon holds it. Where the disk is full it gives up what the store has in reserve, so that a
 * service can be started by which room is made.
 */
export async function takeLock(stateDir: string, unit: string | null = null): Promise<void> {
  const holder = await findDaemon(stateDir)
  if (holder !== null && holder.pid !== process.pid)
    throw new Error(`holtd runs already as process ${holder.pid} over ${stateDir}`)
  const startTime = await startTimeOf(process.pid)
  const ours: LockHolder = { pid: process.pid, start_time: startTime ?? '', unit }
  const text = `${JSON.stringify(ours)}\n`
  giveUpReserve(databasePath(stateDir))
  try {
    await writeDurably(lockPath(stateDir), text)
  } catch (cause) {
    if (!isDiskFull(cause)) throw cause
    await overwrite(lockPath(stateDir), text).catch(() => {
      throw fullDisk(stateDir, cause)
    })
  }
}

/**
 * Writes over the lock that an earlier daemon has left, which has its room already. One that is cut
 * off half-way names nobody.
 */
async function overwrite(path: string, text: string): Promise<void> {
  await using file = await open(path, 'r+')
  await file.write(text, 0)
  await file.truncate(Buffer.byteLength(text))
  await file.sync()
}

/** Why a daemon cannot start where there is no room left, and what to do. */
export function fullDisk(stateDir: string, cause: unknown): Error {
  const why = `the file system of ${stateDir} is full, or has no inode left`
  return new Error(`${why}: make some room there first; runtimes go on meanwhile`, { cause })
}

/** Lets go of the state directory. */
export async function releaseLock(stateDir: string): Promise<void> {
  const holder = await findDaemon(stateDir)
  if (holder?.pid === process.pid) await rm(lockPath(stateDir), { force: true })
}

async function readHolder(stateDir: string): Promise<LockHolder | null> {
  const holder = Holder.safeParse(await readJsonIfThere(lockPath(stateDir)))
  return holder.success ? holder.data : null
}

/**
 * Field 22 of `/proc/PID/stat` (proc_pid_stat(5)); null when there is no such process, or only a
 * zombie that nobody has waited for.
 */
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
