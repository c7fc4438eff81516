import type { ImageDigest } from '@holt/engine'
import { z } from 'zod'
import type { CachedState } from './contract.ts'

/** A state of a build at rest, which a runtime can go on from. */
export interface RestState {
  readonly imageDigest: ImageDigest
  /** Null: the image as it is. */
  readonly checkpointId: string | null
  /** Of the image. */
  readonly baseBytes: number
  /** What was written since. */
  readonly usedBytes: number
  /** What it takes on the host's disk. */
  readonly sizeBytes: number
}

const Facts = z.object({ baseBytes: z.number().min(0), usedBytes: z.number().min(0) })

/** A state as the cache keeps it. */
export function toCached({ imageDigest, checkpointId, baseBytes, usedBytes, sizeBytes }: RestState): CachedState {
  const rest = { imageDigest, sizeBytes, facts: { baseBytes, usedBytes } }
  return checkpointId === null ? { type: 'image', ...rest } : { type: 'checkpoint', checkpointId, ...rest }
}

/** A state from the cache; null where it is of another form. */
export function fromCached(cached: CachedState): RestState | null {
  const facts = Facts.safeParse(cached.facts)
  if (!facts.success) return null
  const checkpointId = cached.type === 'checkpoint' ? cached.checkpointId : null
  return { imageDigest: cached.imageDigest, checkpointId, sizeBytes: cached.sizeBytes, ...facts.data }
}

/** A state that was thought to be there is not. */
export class StateGone extends Error {
  override readonly name = 'StateGone'
  readonly key: string
  constructor(key: string) {
    super('a state of the build is gone')
    this.key = key
  }
}
