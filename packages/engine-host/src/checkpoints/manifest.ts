import { createHash } from 'node:crypto'
import type { CheckpointInfo, ImageDigest } from '@holt/engine'
import { z } from 'zod'

/**
 * The dependencies of the state in a checkpoint. A host that differs in any of them cannot restore
 * it.
 */
export interface CheckpointMaker {
  /** Runner and version. */
  readonly runner: string
  readonly platform: string
  readonly arch: string
  /** SHA-256 of the sorted CPU features. Programs have chosen their code by them. */
  readonly cpuFeatures: string
  /** SHA-256 of the guest binary whose memory is in it. */
  readonly guest: string
}

/** The runner of a host that restores no checkpoints. */
export const NO_RUNNER = 'none'

const hex = z.string().regex(/^[0-9a-f]{64}$/)

const Schema = z.object({
  format: z.literal(3),
  checkpointId: z.string(),
  isolation: z.enum(['gvisor', 'container']),
  imageDigest: z.templateLiteral(['sha256:', hex]).transform((digest): ImageDigest => digest),
  cpu: z.number().positive(),
  memoryMiB: z.int().positive(),
  diskMiB: z.int().positive(),
  maker: z.object({ runner: z.string(), platform: z.string(), arch: z.string(), cpuFeatures: hex, guest: hex }),
  files: z
    // `digest` as `digestFile` computes it.
    .array(z.object({ name: z.string().regex(/^[a-z_]+\.img$/), sizeBytes: z.int().nonnegative(), digest: hex }))
    .min(1)
    .max(16),
})

/** The manifest that is stored with a checkpoint's files. */
export type CheckpointManifest = Readonly<z.infer<typeof Schema>>

/** Parses a manifest. Returns null if it is not one of this format. */
export function parseManifest(text: string): CheckpointManifest | null {
  try {
    const parsed = Schema.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : null
  } catch {
    return null // Not JSON.
  }
}

/** The properties that must match on the restoring host, with any guest. */
const HOST_KEYS = ['runner', 'platform', 'arch', 'cpuFeatures'] as const

/**
 * Returns the reason why a checkpoint made by `made` cannot be restored by `here`, or null if it
 * can. With `anyGuest` the guests may differ.
 */
export function findDifference(made: CheckpointMaker, here: CheckpointMaker, anyGuest = false): string | null {
  for (const key of anyGuest ? HOST_KEYS : ([...HOST_KEYS, 'guest'] as const)) {
    if (made[key] !== here[key]) return `it was made with another ${key}: ${made[key]}, here ${here[key]}`
  }
  return null
}

/** Returns the class of hosts that restore what a maker made (`Transfer.classId`). */
export function classIdOf(maker: Pick<CheckpointMaker, (typeof HOST_KEYS)[number]>): string {
  const facts = HOST_KEYS.map((key) => maker[key])
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex')
}

/** Returns a manifest in the form of the contract. */
export function infoOf(manifest: CheckpointManifest): CheckpointInfo {
  const { checkpointId, imageDigest, isolation, cpu, memoryMiB, diskMiB, files } = manifest
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
  return { checkpointId, imageDigest, isolation, cpu, memoryMiB, diskMiB, sizeBytes }
}

/**
 * Returns the features in `/proc/cpuinfo`, each once, sorted: `flags` on x86, `Features` on Arm.
 */
export function cpuFeaturesOf(cpuinfo: string): string {
  const line = /^(?:flags|Features)\s*:(.*)$/m.exec(cpuinfo)?.[1] ?? ''
  return [...new Set(line.trim().split(/\s+/))].sort().join(' ')
}
