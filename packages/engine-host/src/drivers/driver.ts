import type { RuntimePaths } from '../layout.ts'
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
 * How one class of isolation starts a bundle. Ending one needs no driver: a runtime is its cgroups,
 * its mounts and its runner's state directory, and those are taken away in the same way whatever
 * started it and however far it came.
 */
export interface Driver {
  /**
   * Starts the bundle in `paths.dir` from nothing. Answers the process whose end is the runtime's
   * end.
   */
  boot(bundle: Bundle, signal: AbortSignal): Promise<ProcessId>
}

/** A driver that can write a runtime's memory down and start from it. */
export interface CheckpointDriver extends Driver {
  /** Starts the bundle in `paths.dir` from what `checkpoint` has written. */
  restore(paths: RuntimePaths, image: ImageFiles, signal: AbortSignal): Promise<ProcessId>
  /** Writes the runtime into an empty directory. It goes on, whatever becomes of that. */
  checkpoint(paths: RuntimePaths, image: ImageFiles, signal: AbortSignal): Promise<void>
}

/**
 * The path of a runtime's stored memory, and its approximate size: a slow disk takes long for much
 * of it.
 */
export interface ImageFiles {
  readonly dir: string
  readonly sizeBytes: number
}
