import { open, readFile, stat } from 'node:fs/promises'
import { EngineError } from '@holt/engine'
import { hasCode } from '../files/durable-files.ts'
import type { RuntimePaths } from '../installation/layout.ts'
import { readMounts } from '../mounts/mount-table.ts'
import { findProgram } from '../tools/find-program.ts'
import { mustRun } from '../tools/run-tool.ts'
import { checkRoom } from './room.ts'

/**
 * The time for each program, in milliseconds. It makes some system calls and writes little; longer
 * means a broken disk.
 */
const TOOL_TIMEOUT_MS = 60_000

/**
 * The number of the capability that the kernel requires to resize a mounted ext4
 * (`capabilities(7)`, Linux `fs/ext4/resize.c`).
 */
const CAP_SYS_RESOURCE = 24n

/** Returns true if this process may make a mounted disk larger and has the programs for it. */
export async function canResizeMounted(): Promise<boolean> {
  const hex = /^CapEff:\s*([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0'
  if (((BigInt(`0x${hex}`) >> CAP_SYS_RESOURCE) & 1n) === 0n) return false
  const programs = await Promise.all(['losetup', 'resize2fs'].map((name) => findProgram(name)))
  return programs.every((program) => program !== null)
}

/**
 * Makes the mounted disk of a runtime `sizeMiB` large while it is in use: the file, the loop
 * device, the filesystem, in this order. A step that is already done does nothing, so a repeated
 * call completes an interrupted one. Rejects with kind `no_space` if the host's disk is full.
 */
export async function growDisk(paths: RuntimePaths, sizeMiB: number, signal: AbortSignal): Promise<void> {
  const device = (await readMounts()).find((mount) => mount.point === paths.diskMount)?.source
  if (device === undefined) throw new EngineError('failed', `the disk of ${paths.id} is not mounted`)
  await checkRoom(paths.dir)
  await extendFile(paths.diskImage, sizeMiB * 2 ** 20)
  await mustRun(['losetup', '--set-capacity', device], { timeoutMs: TOOL_TIMEOUT_MS, signal })
  // An impatient caller must not interrupt this: the kernel would finish it all the same.
  await mustRun(['resize2fs', device], { timeoutMs: TOOL_TIMEOUT_MS })
}

/** Extends a file. Never makes it shorter: an interrupted grow may have been further. */
async function extendFile(path: string, sizeBytes: number): Promise<void> {
  if ((await stat(path)).size >= sizeBytes) return
  await using file = await open(path, 'r+')
  try {
    await file.truncate(sizeBytes)
  } catch (error) {
    if (hasCode(error, 'EFBIG')) throw new EngineError('no_space', 'the host has no files that large', { cause: error })
    throw error
  }
}
