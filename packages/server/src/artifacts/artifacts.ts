import type { ArtifactRef, ImageDigest } from '@holt/engine'

/** Images and checkpoints: on this machine, and in the object store of the fleet. */
export interface Artifacts {
  /** True in a fleet: what this host makes has to be stored, and what it needs to be fetched. */
  readonly isShared: boolean
  /**
   * The class of checkpoints that this host restores. Checkpoints travel between hosts of one
   * class. Null: this host restores none, or is in no fleet.
   */
  readonly classId: string | null
  /**
   * Resolves when an artifact of this machine is in the object store, and its row says so. Throws
   * `unavailable` if the store cannot be reached or is full. On a machine that is in no fleet:
   * resolves at once.
   */
  store(ref: ArtifactRef, signal: AbortSignal): Promise<void>
  /**
   * Resolves when an artifact is on this machine: from the disk, another host, or the object store.
   * A fetch that has begun continues after the signal, for later callers. On a machine that is in
   * no fleet: resolves at once.
   *
   * * `unavailable`: no source can give it now. Its details have a `reason`.
   * * `snapshot_damaged`: the bytes of all sources are wrong.
   * * `snapshot_incompatible`: no host of the fleet restores this checkpoint.
   * * `capacity_exhausted`: hosts of another class restore it.
   */
  fetch(ref: ArtifactRef, signal: AbortSignal): Promise<void>
  /**
   * Returns those of some artifacts that are in the object store, the least recently used ones of
   * this host first. A machine that is in no fleet has none.
   */
  storedAmong(ids: readonly string[]): Promise<readonly string[]>
}

/** The reason of `unavailable` for an artifact that nobody can give, also later. */
export const artifactMissing = 'artifact_missing'

/** The artifacts of a machine that is in no fleet: they are on its disk. */
export const localArtifacts: Artifacts = {
  isShared: false,
  classId: null,
  store: async () => {},
  fetch: async () => {},
  storedAmong: async () => [],
}

/** The files of a runtime: its image, and perhaps the checkpoint that it continues from. */
export interface RuntimeFiles {
  readonly imageDigest: string
  readonly checkpointId: string | null
}

/** Returns the artifacts of a runtime, in the order in which they are fetched. */
export function artifactsOf({ imageDigest, checkpointId }: RuntimeFiles): readonly ArtifactRef[] {
  const image = { kind: 'image', id: imageDigest as ImageDigest } as const
  return checkpointId === null ? [image] : [image, { kind: 'checkpoint', id: checkpointId }]
}

/** Stores the image and the checkpoint of a runtime. */
export async function storeFiles(artifacts: Artifacts, files: RuntimeFiles, signal: AbortSignal): Promise<void> {
  if (artifacts.isShared) for (const ref of artifactsOf(files)) await artifacts.store(ref, signal)
}

/** Fetches the image and the checkpoint of a runtime. */
export async function fetchFiles(artifacts: Artifacts, files: RuntimeFiles, signal: AbortSignal): Promise<void> {
  if (artifacts.isShared) for (const ref of artifactsOf(files)) await artifacts.fetch(ref, signal)
}
