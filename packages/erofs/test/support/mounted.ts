import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from './run.ts'

/** Mounts an image read-only through a loop device; both are gone when the scope ends. */
export async function mounted(
  image: string,
  path = `${image}.mnt`,
): Promise<{ readonly path: string } & AsyncDisposable> {
  await mkdir(path, { recursive: true })
  await run('mount', ['-t', 'erofs', '-o', 'loop,ro', image, path])
  return {
    path,
    [Symbol.asyncDispose]: () => unmount(path),
  }
}

/** The time in which the users of a mount have to end, in milliseconds. */
const busyMs = 20_000

/**
 * Unmounts, and waits for the last user. The kernel detaches the loop device of a file in this
 * mount a moment after the mount of that device is gone.
 */
export async function unmount(path: string): Promise<void> {
  for (const since = performance.now(); ; await sleep(20)) {
    try {
      await run('umount', [path])
      return
    } catch (error) {
      if (!String(error).includes('busy') || performance.now() - since > busyMs) throw error
    }
  }
}
