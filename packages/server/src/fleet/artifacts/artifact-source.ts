import type { ArtifactDescription, ArtifactFile, ArtifactRef } from '@holt/engine'

/** A place that may have artifacts: another host, or the object store. It can be wrong or lie. */
export interface ArtifactSource {
  /** Its name in the log: the id of a host, or `store`. */
  readonly name: string
  /**
   * The description of a checkpoint is believed from the store alone, unless its digest is known.
   * Bytes are believed from nobody.
   */
  readonly type: 'peer' | 'store'
  /** Returns the description of an artifact, or null if the source does not have it. */
  describe(ref: ArtifactRef, signal: AbortSignal): Promise<ArtifactDescription | null>
  /**
   * Returns the content of a file from `offset` to its end. Throws `Absent` if the source does not
   * have it.
   */
  read(ref: ArtifactRef, file: ArtifactFile, offset: number, signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** A source does not have an artifact or a file of it. */
export class Absent extends Error {
  override readonly name = 'Absent'
}

/** No source can give an artifact now. `cause` is the last failure. */
export class ArtifactUnavailable extends Error {
  override readonly name = 'ArtifactUnavailable'
}
