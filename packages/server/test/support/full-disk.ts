import { execFileSync } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'

/**
 * Mounts a file system at `disk` until the test ends, on which nothing has room once `before` has
 * put there what it does. Options are those of tmpfs(5).
 */
export async function mountFullDisk(disk: string, options: string, before: () => Promise<void>): Promise<void> {
  await mkdir(disk)
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'holt-test', disk])
  onTestFinished(() => void execFileSync('umount', [disk]))
  await before()
  await writeFile(join(disk, 'rest'), Buffer.alloc(2 ** 20)).catch(() => undefined)
  await expect(writeFile(join(disk, 'more'), 'x')).rejects.toThrow('ENOSPC')
  await rm(join(disk, 'more'), { force: true })
}
