import { open, readFile, stat } from 'node:fs/promises'
import { EngineError } from '@holt/engine'
import { checkRoom } from '../host/room.ts'
import type { RuntimePaths } from '../layout.ts'
import { readMounts } from '../mounts/mount-table.ts'
import { hasCode } from '../tools/durable-files.ts'
import { findProgram } from '../tools/find-program.ts'
import { mustRun } from '../tools/run-tool.ts'

/** Each is some system calls and little writing; longer means a broken disk. */
const TOOL_TIMEOUT_MS = 60_000

/**
 * The number of the capability without which the kernel resizes no mounted ext4 (`capabilities(7)`,
 * Linux `fs/ext4/resize.c`).
 */
const CAP_SYS_RESOURCE = 24n

/** Whether this process may make a mounted disk larger, and has the programs for it. */
export async function canResizeMounted(): Promise<boolean> {
  const hex = /^CapEff:\s*([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0'
  if (((BigInt(`0x${hex}`) >> CAP_SYS_RESOURCE) & 1n) === 0n) return false
  const programs = await Promise.all(['losetup', 'resize2fs'].map((name) => findProgram(name)))
  return programs.every((program) => program !== null)
}

/**
 * Makes the mounted disk of a runtime `sizeMiB` large while it is written to: the file, the loop
 * device, the filesystem, in this order. Each step that is done already does nothing, so one that
 * died half-way is finished by the next. Kind `no_space` when the host's disk is full.
 */
export async function growDisk(paths: RuntimePaths, sizeMiB: number, signal: AbortSignal): Promise<void> {
  const device = (await readMounts()).find((mount) => mount.point === paths.diskMount)?.source
  if (device === undefined) throw new EngineError('failed', `the disk of ${paths.id} is not mounted`)
  await checkRoom(paths.dir)
  await extendFile(paths.diskImage, sizeMiB * 2 ** 20)
  await mustRun(['losetup', '--set-capacity', device], { timeoutMs: TOOL_TIMEOUT_MS, signal })
  // Not to be ended half-way by an impatient caller: the kernel would finish it all the same.
  await mustRun(['resize2fs', device], { timeoutMs: TOOL_TIMEOUT_MS })
}

/** Never shorter: a grow that died may have been further. */
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
