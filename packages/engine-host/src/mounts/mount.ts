import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@holt/engine'
import { mustRun, runTool } from '../tools/run-tool.ts'
import { readMounts } from './mount-table.ts'

/**
 * The time for a mount, in milliseconds. It takes milliseconds; one that takes this long hangs on a
 * broken disk.
 */
const MOUNT_TIMEOUT_MS = 30_000

/** The time in which the last process has to leave a mount, in milliseconds. */
const BUSY_TIMEOUT_MS = 10_000

/** The arguments of one `mount(8)`. */
export interface MountRequest {
  readonly type: string
  readonly source: string
  readonly point: string
  readonly options: readonly string[]
}

/**
 * Mounts a file system. With the option `loop` the kernel detaches the loop device by itself after
 * the unmount.
 */
export async function mount(request: MountRequest, signal?: AbortSignal): Promise<void> {
  const argv = ['mount', '-n', '-t', request.type, '-o', request.options.join(','), '--', request.source, request.point]
  await mustRun(argv, { timeoutMs: MOUNT_TIMEOUT_MS, ...(signal && { signal }) })
}

/**
 * Unmounts everything mounted at `dir` or below it, innermost first. Succeeds if nothing is
 * mounted. Never lazily: success means that the mount is gone.
 */
export async function unmountTree(dir: string): Promise<void> {
  const points = (await readMounts())
    .map((entry) => entry.point)
    .filter((point) => point === dir || point.startsWith(`${dir}/`))
  for (const point of points.reverse()) await unmount(point)
}

async function unmount(point: string): Promise<void> {
  const deadline = performance.now() + BUSY_TIMEOUT_MS
  for (let waitMs = 2; ; waitMs = Math.min(waitMs * 2, 200)) {
    const result = await runTool(['umount', '-n', '--', point], { timeoutMs: MOUNT_TIMEOUT_MS })
    if (result.code === 0) return
    if (!/busy/.test(result.stderr) || performance.now() > deadline) {
      throw new EngineError('failed', `cannot unmount ${point}: ${result.stderr.trim()}`)
    }
    await sleep(waitMs)
  }
}
