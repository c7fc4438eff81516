import { mkdir, realpath } from 'node:fs/promises'
import { basename } from 'node:path'
import { z } from 'zod'
import { mount } from '../mounts/mount.ts'
import { findByArguments, type ProcessId, waitGone } from '../tools/process-table.ts'
import { mustRun, runTool } from '../tools/run-tool.ts'

const LOSETUP_TIMEOUT_MS = 30_000

/** The time in which a `losetup` of a killed daemon has to end, in milliseconds. */
const LEFT_TOOL_TIMEOUT_MS = 5_000

/**
 * The output of `losetup --json --list`. The kernel detaches a device with `autoclear` by itself.
 */
const deviceList = z.object({
  loopdevices: z.array(z.object({ autoclear: z.boolean(), name: z.string(), 'back-file': z.string().nullable() })),
})

/** The files of a delta image. */
export interface DeltaFiles {
  readonly delta: string
  readonly base: string
}

/**
 * Mounts a delta and its base as one file, `image` below `point`
 * (`packages/erofs/src/layout/delta-layout.ts`). Unmounting `point` detaches the loop devices. The
 * mount has no `noexec`, because gVisor maps programs from the file.
 */
export async function mountDelta({ delta, base }: DeltaFiles, point: string, signal?: AbortSignal): Promise<void> {
  await mkdir(point, { recursive: true, mode: 0o700 })
  await withLoopDevice(base, (device) =>
    withLoopDevice(delta, (source) =>
      mount({ type: 'erofs', source, point, options: ['ro', 'nodev', 'nosuid', `device=${device}`] }, signal),
    ),
  )
}

/** Mounts an image that is one file: read-only, without devices and set-user-ID programs. */
export async function mountImage(file: string, point: string, signal: AbortSignal): Promise<void> {
  await mkdir(point, { recursive: true, mode: 0o700 })
  await withLoopDevice(file, (source) =>
    mount({ type: 'erofs', source, point, options: ['ro', 'nodev', 'nosuid'] }, signal),
  )
}

/**
 * Attaches a file to a loop device of its own. `mount -o loop` would reuse a device that has the
 * file (mount(8)). The kernel refuses that if the device is in use as the base of a delta.
 */
async function withLoopDevice(file: string, use: (device: string) => Promise<void>): Promise<void> {
  const options = { timeoutMs: LOSETUP_TIMEOUT_MS }
  const { stdout } = await mustRun(['losetup', '--find', '--show', '--read-only', '--', file], options)
  const device = stdout.trim()
  try {
    await use(device)
  } finally {
    // The kernel keeps a mounted device until it is unmounted (`LO_FLAGS_AUTOCLEAR`).
    await mustRun(['losetup', '--detach', device], options)
  }
}

/**
 * Detaches the loop devices on files below `dir` that a daemon has attached and not detached.
 * Mounted ones stay until they are unmounted. Waits first for a `losetup` of a killed daemon, which
 * may still attach one.
 */
export async function detachLeftDevices(dir: string): Promise<void> {
  const below = `${await realpath(dir)}/`
  await waitGone(await findLosetups(below), LEFT_TOOL_TIMEOUT_MS).catch(() => {
    // It waits for a disk. The next start detaches its device.
  })
  const options = { timeoutMs: LOSETUP_TIMEOUT_MS }
  const argv = ['losetup', '--json', '--list', '--output', 'AUTOCLEAR,NAME,BACK-FILE']
  const { stdout } = await mustRun(argv, options)
  if (stdout.trim() === '') return // No loop devices.
  for (const { autoclear, name, 'back-file': file } of deviceList.parse(JSON.parse(stdout)).loopdevices) {
    if (autoclear || !file?.startsWith(below)) continue
    await runTool(['losetup', '--detach', name], options)
  }
}

/** Returns the processes of `losetup` for files below a directory. Other programs may name them. */
function findLosetups(below: string): Promise<ProcessId[]> {
  const isBelow = (argument: string) => argument.startsWith(below)
  return findByArguments((argv) => argv.some(isBelow) && argv.some((argument) => basename(argument) === 'losetup'))
}
