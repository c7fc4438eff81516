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
 * A process that holds the state directory. Its start time, in clock ticks since boot,
 * distinguishes it from a process that reuses its pid. `unit` is the unit of systemd that starts it
 * again when it ends.
 */
export type LockHolder = z.infer<typeof Holder>

/** Returns the daemon that runs over this state directory; null if there is none. */
export async function findDaemon(stateDir: string): Promise<LockHolder | null> {
  const holder = await readHolder(stateDir)
  if (holder === null) return null
  return (await startTimeOf(holder.pid)) === holder.start_time ? holder : null
}

/**
 * Returns the unit of systemd that runs the daemon of this state directory; null if there is none.
 * It may also be the unit of an earlier daemon that was not stopped in order. Such a unit may start
 * the next daemon at any moment.
 */
export async function findUnit(stateDir: string): Promise<string | null> {
  return (await readHolder(stateDir))?.unit ?? null
}

/**
 * Returns the command that stops the daemon of a state directory. A unit starts its daemon again,
 * so the unit has to be stopped.
 */
export function stopCommand(unit: string | null | undefined): string {
  return unit == null ? 'holt down' : `systemctl stop ${unit}`
}

/** Returns the command that starts the daemon of a state directory, in the way it was last run. */
export function startCommand(unit: string | null): string {
  return unit === null ? 'holt up' : `systemctl start ${unit}`
}

/**
 * Takes the lock of the state directory for this process, which a unit of systemd may run. Throws
 * while another daemon holds it. On a full disk it removes the store's reserve, so that a service
 * can start and room can be freed.
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
 * Overwrites the lock file of an earlier daemon, whose room is already allocated. A file that is
 * cut off halfway names no process.
 */
async function overwrite(path: string, text: string): Promise<void> {
  await using file = await open(path, 'r+')
  await file.write(text, 0)
  await file.truncate(Buffer.byteLength(text))
  await file.sync()
}

/** Returns the error for a daemon that cannot start on a full disk. It says what to do. */
export function fullDisk(stateDir: string, cause: unknown): Error {
  const why = `the file system of ${stateDir} is full, or has no inode left`
  return new Error(`${why}: free space there first. Runtimes continue meanwhile`, { cause })
}

/** Releases the lock of the state directory. */
export async function releaseLock(stateDir: string): Promise<void> {
  const holder = await findDaemon(stateDir)
  if (holder?.pid === process.pid) await rm(lockPath(stateDir), { force: true })
}

async function readHolder(stateDir: string): Promise<LockHolder | null> {
  const holder = Holder.safeParse(await readJsonIfThere(lockPath(stateDir)))
  return holder.success ? holder.data : null
}

/**
 * Returns field 22 of `/proc/PID/stat` (proc_pid_stat(5)). Returns null if there is no such
 * process, or only a zombie that its parent has not waited for.
 */
async function startTimeOf(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
  } catch {
    return null // The process has ended, and the caller asks for that.
  }
}

function lockPath(stateDir: string): string {
  return join(stateDir, 'holtd.pid')
}
