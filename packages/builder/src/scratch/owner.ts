import { readFile, readlink } from 'node:fs/promises'
import { z } from 'zod'

const ownerSchema = z.strictObject({
  pid: z.int().positive(),
  start_time: z.string().min(1),
  pid_namespace: z.string().min(1),
  boot_id: z.string().min(1),
})

/**
 * The identity of a process. It differs from that of a later process with the same number, and of a
 * process in another container or boot.
 */
export type Owner = z.infer<typeof ownerSchema>

/** Returns the identity of this process. */
export async function thisProcess(): Promise<Owner> {
  const [startTime, pidNamespace, bootId] = await Promise.all([startTimeOf(process.pid), ownNamespace(), ownBoot()])
  if (startTime === null) throw new Error('/proc has no start time of this process')
  return { pid: process.pid, start_time: startTime, pid_namespace: pidNamespace, boot_id: bootId }
}

/** Parses an owner as `thisProcess` returns it. Returns null for any other text. */
export function parseOwner(text: string): Owner | null {
  try {
    return ownerSchema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null // The text is no JSON.
  }
}

/**
 * Returns true if a process is certainly gone. A process of another PID namespace is not visible
 * from here, so it may still run.
 */
export async function isCertainlyGone(owner: Owner): Promise<boolean> {
  if (owner.boot_id !== (await ownBoot())) return true
  if (owner.pid_namespace !== (await ownNamespace())) return false
  return (await startTimeOf(owner.pid)) !== owner.start_time
}

const ownNamespace = () => readlink('/proc/self/ns/pid')
const ownBoot = async () => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()

/**
 * Returns field 22 of `/proc/PID/stat` (proc_pid_stat(5)), counted after the name, which may
 * contain any characters. Returns null if there is no such process, or only a zombie.
 */
async function startTimeOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '') // There is no such process.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? null : (fields[19] ?? null)
}
