import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { service } from './facts.ts'

/** The directory of the checkpoints. */
export const checkpointsDir = join(service.stateDir, 'checkpoints')

/** The checkpoints that are there, by the names of their directories. */
export function checkpoints(): string[] {
  return readdirSync(checkpointsDir).sort()
}

/** The regular files of a checkpoint, the largest first. */
export function checkpointFiles(name: string): { readonly path: string; readonly size: number }[] {
  const directory = join(checkpointsDir, name)
  return readdirSync(directory)
    .map((file) => join(directory, file))
    .map((path) => ({ path, stats: statSync(path) }))
    .filter(({ stats }) => stats.isFile())
    .map(({ path, stats }) => ({ path, size: stats.size }))
    .toSorted((a, b) => b.size - a.size)
}

/** Turns one bit of a file's middle around; again, and it is as before. */
export function flipBit(path: string): void {
  const fd = openSync(path, 'r+')
  try {
    const at = Math.floor(statSync(path).size / 2)
    const byte = Buffer.alloc(1)
    readSync(fd, byte, 0, 1, at)
    byte.writeUInt8(byte.readUInt8() ^ 1)
    writeSync(fd, byte, 0, 1, at)
  } finally {
    closeSync(fd)
  }
}

/**
 * Has a small file system in the place of the checkpoints while something is done, so that none
 * fits.
 */
export async function withoutRoom(work: () => Promise<void>): Promise<void> {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'holt-e2e', checkpointsDir])
  try {
    await work()
  } finally {
    execFileSync('umount', [checkpointsDir])
  }
}
