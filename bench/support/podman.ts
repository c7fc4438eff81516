import { join } from 'node:path'
import { findProgram, runSilently } from './run-program.ts'

/** Where a raw runtime runs. */
export interface RawPlace {
  /** Its root file system, as the host sees it. */
  readonly rootfs: string
  /** A directory of its own. */
  readonly scratch: string
  /** Below which cgroups are made. */
  readonly cgroupParent: string
}

const runTimeoutMs = 60_000

/**
 * The verb that runs `true` with podman in a place; null where podman is not installed. Nothing is
 * left in the host's own podman.
 */
export function podmanRun(place: RawPlace, signal: AbortSignal): (() => Promise<void>) | null {
  const podman = findProgram('podman')
  if (podman === null) return null
  const argv = [
    podman,
    `--root=${join(place.scratch, 'podman')}`,
    `--runroot=${join(place.scratch, 'podman-run')}`,
    '--storage-driver=vfs',
    '--cgroup-manager=cgroupfs',
    `--runtime=${findProgram('runc') ?? 'runc'}`,
    'run',
    '--rm',
    '--network=none',
    `--cgroup-parent=${place.cgroupParent}`,
    // Podman's own limits are above what some hosts let even root set.
    '--ulimit=nofile=1024:4096',
    '--ulimit=nproc=1024:4096',
    '--rootfs',
    place.rootfs,
    '/bin/true',
  ]
  return () => runSilently(argv, { timeoutMs: runTimeoutMs, signal })
}
