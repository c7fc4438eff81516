import type { ImageDigest } from '@holt/engine'
import { z } from 'zod'
import type { CachedState } from '../contract/build-contract.ts'

/** A saved state of a build, from which a runtime can continue. */
export interface RestState {
  readonly imageDigest: ImageDigest
  /** The checkpoint, or null for the image as it is. */
  readonly checkpointId: string | null
  /** The bytes of the image. */
  readonly baseBytes: number
  /** The bytes written since. */
  readonly usedBytes: number
  /** The bytes on the host's disk. */
  readonly sizeBytes: number
}

const Facts = z.object({ baseBytes: z.number().min(0), usedBytes: z.number().min(0) })

/** Converts a state to an entry of the cache. */
export function toCached({ imageDigest, checkpointId, baseBytes, usedBytes, sizeBytes }: RestState): CachedState {
  const rest = { imageDigest, sizeBytes, facts: { baseBytes, usedBytes } }
  return checkpointId === null ? { type: 'image', ...rest } : { type: 'checkpoint', checkpointId, ...rest }
}

/** Returns the state of an entry of the cache, or null if the entry has another form. */
export function fromCached(cached: CachedState): RestState | null {
  const facts = Facts.safeParse(cached.facts)
  if (!facts.success) return null
  const checkpointId = cached.type === 'checkpoint' ? cached.checkpointId : null
  return { imageDigest: cached.imageDigest, checkpointId, sizeBytes: cached.sizeBytes, ...facts.data }
}

/** The error for a state that is missing although the cache has an entry. */
export class StateGone extends Error {
  override readonly name = 'StateGone'
  readonly key: string
  constructor(key: string) {
    super('a state of the build is gone')
    this.key = key
  }
}
