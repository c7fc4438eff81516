import { join } from 'node:path'
import { findProgram, runSilently } from './run-program.ts'

/** The environment of a raw runtime. */
export interface RawPlace {
  /** Its root file system, as the host sees it. */
  readonly rootfs: string
  /** Its own directory. */
  readonly scratch: string
  /** The parent of its cgroups. */
  readonly cgroupParent: string
}

const runTimeoutMs = 60_000

/**
 * Returns a function that runs `true` with podman in a place; null if podman is not installed. It
 * does not use the host's own podman storage.
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
    // Podman's default limits are higher than some hosts allow even for root.
    '--ulimit=nofile=1024:4096',
    '--ulimit=nproc=1024:4096',
    '--rootfs',
    place.rootfs,
    '/bin/true',
  ]
  return () => runSilently(argv, { timeoutMs: runTimeoutMs, signal })
}
