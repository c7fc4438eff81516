import type { CheckpointInfo, ImageDigest } from '@holt/engine'
import { z } from 'zod'

/**
 * What the state in a checkpoint depends on: a host that differs in any of it cannot restore it.
 */
export interface CheckpointMaker {
  /** Runner and version. */
  readonly runner: string
  readonly platform: string
  readonly arch: string
  /** SHA-256 of the sorted CPU features: programs have chosen their code by them. */
  readonly cpuFeatures: string
  /** SHA-256 of the guest binary whose memory is in it. */
  readonly guest: string
}

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

/** The page that goes with a checkpoint's files. */
export type CheckpointManifest = Readonly<z.infer<typeof Schema>>

/** Reads a manifest; null when it is not one of this format. */
export function parseManifest(text: string): CheckpointManifest | null {
  try {
    const parsed = Schema.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : null
  } catch {
    return null // Not JSON.
  }
}

/** What has to be the same where a checkpoint is restored, whichever guest is in it. */
const HOST_KEYS = ['runner', 'platform', 'arch', 'cpuFeatures'] as const

/**
 * Why a checkpoint made by `made` cannot be restored by `here`; null when it can. With `anyGuest`
 * its own guest need not be the one of today.
 */
export function findDifference(made: CheckpointMaker, here: CheckpointMaker, anyGuest = false): string | null {
  for (const key of anyGuest ? HOST_KEYS : ([...HOST_KEYS, 'guest'] as const)) {
    if (made[key] !== here[key]) return `it was made with another ${key}: ${made[key]}, here ${here[key]}`
  }
  return null
}

/** A manifest as the contract shows it. */
export function infoOf(manifest: CheckpointManifest): CheckpointInfo {
  const { checkpointId, imageDigest, isolation, cpu, memoryMiB, diskMiB, files } = manifest
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
  return { checkpointId, imageDigest, isolation, cpu, memoryMiB, diskMiB, sizeBytes }
}

/** The features in `/proc/cpuinfo`, each once, sorted: `flags` on x86, `Features` on Arm. */
export function cpuFeaturesOf(cpuinfo: string): string {
  const line = /^(?:flags|Features)\s*:(.*)$/m.exec(cpuinfo)?.[1] ?? ''
  return [...new Set(line.trim().split(/\s+/))].sort().join(' ')
}
