import { mkdir } from 'node:fs/promises'
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
    [Symbol.asyncDispose]: async () => {
      await run('umount', [path])
    },
  }
}
