import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTemporaries, syncPath } from '../files/durable-files.ts'
import { type WriteVerified, writeVerified } from '../files/write-verified.ts'
import { hexOf, type Layout } from '../installation/layout.ts'
import type { GuestFile } from './host.ts'

/**
 * The time of modification of every copy. gVisor refuses a checkpoint if a file that it had open
 * has another one (`vfs.CompleteRestoreOptions`).
 */
const MODIFIED_SECS = 1

/**
 * The mode of every copy, independent of the umask of this process. Users inside run it, too: in
 * images of earlier versions `sudo` leads to it.
 */
const MODE = 0o555

/**
 * Installs the guest binary under its digest, so that a new version never changes the file that
 * runtimes and checkpoints refer to.
 */
export async function installGuest(layout: Layout, source: string): Promise<GuestFile> {
  const content = await readFile(source)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const path = layout.guest(sha256)
  const present = await stat(path).catch(() => null) // Absent.
  if (present?.size === content.length && (present.mode & 0o777) === MODE) return { path, sha256 }
  const temporary = await temporaryIn(layout)
  await writeFile(temporary, content, { flush: true })
  await giveName(layout, sha256, temporary)
  return { path, sha256 }
}

/** Installs a guest binary that comes from another host, durably, under its digest. */
export async function receiveGuest(layout: Layout, received: WriteVerified, signal: AbortSignal): Promise<void> {
  const temporary = await temporaryIn(layout)
  try {
    await writeVerified(temporary, received, signal)
    await giveName(layout, hexOf(received.file.digest), temporary)
    await syncPath(layout.guests)
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Removes the guests that no runtime and no checkpoint uses, and incomplete ones. */
export async function removeOldGuests(layout: Layout, used: ReadonlySet<string>): Promise<void> {
  await removeTemporaries(layout.guests)
  for (const name of await readdir(layout.guests)) {
    if (/^[0-9a-f]{64}$/.test(name) && !used.has(name))
      await rm(join(layout.guests, name), { recursive: true, force: true })
  }
}

/** Returns the path of a temporary file of a guest. Its directory exists. */
async function temporaryIn(layout: Layout): Promise<string> {
  await mkdir(layout.guests, { recursive: true, mode: 0o700 })
  return join(layout.guests, `.tmp-${randomBytes(8).toString('hex')}`)
}

async function giveName(layout: Layout, sha256: string, temporary: string): Promise<void> {
  const path = layout.guest(sha256)
  await chmod(temporary, MODE)
  await utimes(temporary, MODIFIED_SECS, MODIFIED_SECS)
  await mkdir(join(layout.guests, sha256), { recursive: true, mode: 0o700 })
  await rename(temporary, path)
  await syncPath(join(layout.guests, sha256))
}
