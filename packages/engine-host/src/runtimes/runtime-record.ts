import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { ImageDigest, Observed } from '@holt/engine'
import { z } from 'zod'
import { hasCode, replaceFile } from '../files/durable-files.ts'

const Spec = z.object({
  id: z.string(),
  isolation: z.enum(['gvisor', 'container']),
  imageDigest: z
    .templateLiteral(['sha256:', z.string().regex(/^[0-9a-f]{64}$/)])
    .transform((digest): ImageDigest => digest),
  cpu: z.number().positive(),
  memoryMiB: z.int().positive(),
  diskMiB: z.int().positive(),
  pidsMax: z.int().positive(),
  checkpointId: z.string().nullable(),
  restoreOnly: z.boolean().exactOptional(),
})

const Record = z.object({
  format: z.literal(1),
  installationId: z.string(),
  /**
   * The host's boot id (`/proc/sys/kernel/random/boot_id`) when the runtime started. After another
   * boot, its processes and mounts no longer exist.
   */
  bootId: z.string(),
  /** SHA-256 of the guest binary that the runtime was made with. */
  guest: z.string(),
  spec: Spec,
  /**
   * The host's id of user 0 of a container. Null in gVisor, and for containers of an engine without
   * user namespaces.
   */
  firstId: z.int().positive().nullable().default(null),
  state: z.enum(['preparing', 'running', 'ended']),
  restored: z.boolean(),
  /** Also null in a record of an engine that did not note it. */
  fallback: z
    .object({ reason: z.enum(['absent', 'incompatible', 'damaged', 'failed']), why: z.string() })
    .nullable()
    .default(null),
  process: z.object({ pid: z.int().positive(), startTicks: z.int() }).nullable(),
  ending: z
    .object({ reason: z.enum(['out_of_memory', 'crashed', 'host_restarted', 'start_failed']), message: z.string() })
    .nullable(),
})

/**
 * The stored record of a runtime. It holds everything that a later daemon needs to find the
 * runtime.
 */
export type RuntimeRecord = Readonly<z.infer<typeof Record>>

/** Replaces a record as a whole. With `durable` it survives a power cut. */
export function writeRecord(path: string, record: RuntimeRecord, durable: boolean): Promise<void> {
  return replaceFile(path, `${JSON.stringify(record)}\n`, durable)
}

/**
 * Reads a record. Returns `absent` if there is none, `unreadable` if it is not one of this format.
 */
export async function readRecord(path: string): Promise<RuntimeRecord | 'absent' | 'unreadable'> {
  let text: string
  try {
    // Opening another kind of file, such as a FIFO, could wait forever.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    if (!(await file.stat()).isFile()) return 'unreadable'
    text = await file.readFile('utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return 'absent'
    if (hasCode(error, 'ELOOP', 'ENXIO')) return 'unreadable'
    throw error
  }
  try {
    const parsed = Record.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : 'unreadable'
  } catch {
    return 'unreadable' // Not JSON.
  }
}

/** Returns a runtime in the form of the contract. */
export function observedOf({
  record,
  frozen,
  memoryKills,
}: Pick<Observed, 'memoryKills' | 'frozen'> & { readonly record: RuntimeRecord }): Observed {
  const { spec, state, ending, restored, fallback } = record
  return { id: spec.id, spec, state, ending, restored, fallback, frozen: frozen && state === 'running', memoryKills }
}
