import { mkdir } from 'node:fs/promises'
import { unmount } from './mounted.ts'
import { run } from './run.ts'

/**
 * Has the kernel make one file of a delta and its base, and answers its path; mount and devices are
 * gone when the scope ends.
 */
export async function wholeImage(delta: string, base: string): Promise<{ readonly path: string } & AsyncDisposable> {
  const point = `${delta}.whole`
  await mkdir(point, { recursive: true })
  const device = (await run('losetup', ['--find', '--show', '--read-only', base])).trim()
  try {
    await run('mount', ['-t', 'erofs', '-o', `loop,ro,device=${device}`, delta, point])
  } finally {
    // The kernel keeps the device for as long as it is mounted.
    await run('losetup', ['--detach', device])
  }
  return {
    path: `${point}/image`,
    [Symbol.asyncDispose]: () => unmount(point),
  }
}
