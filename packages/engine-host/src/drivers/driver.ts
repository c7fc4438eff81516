import type { RuntimePaths } from '../installation/layout.ts'
import type { ProcessId } from '../tools/process-table.ts'

/** The bundle that a driver boots. */
export interface Bundle {
  readonly paths: RuntimePaths
  /** The path at which the kernel has mounted the image of a container. */
  readonly imageMount: string
  /** The host's id of user 0 of a container; null in gVisor. */
  readonly firstId: number | null
}

/**
 * The way in which one class of isolation starts a bundle. Ending one needs no driver: a runtime is
 * its cgroups, its mounts and its runner's state directory. They are removed in the same way for
 * every class and every stage of a start.
 */
export interface Driver {
  /**
   * Starts the bundle in `paths.dir` from nothing. Returns the process whose end is the runtime's
   * end.
   */
  boot(bundle: Bundle, signal: AbortSignal): Promise<ProcessId>
}

/** A driver that can checkpoint a runtime's memory and start from it. */
export interface CheckpointDriver extends Driver {
  /** Starts the bundle in `paths.dir` from the files that `checkpoint` has written. */
  restore(paths: RuntimePaths, image: ImageFiles, signal: AbortSignal): Promise<ProcessId>
  /** Writes the runtime into an empty directory. The runtime continues, even if this fails. */
  checkpoint(paths: RuntimePaths, image: ImageFiles, signal: AbortSignal): Promise<void>
}

/**
 * The path of a runtime's stored memory, and its approximate size. A slow disk needs long for a
 * large one.
 */
export interface ImageFiles {
  readonly dir: string
  readonly sizeBytes: number
}
