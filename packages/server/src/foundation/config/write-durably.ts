import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a file, of mode 0600 by default. A reader or a crash sees the old content or the new,
 * never a part.
 */
export async function writeDurably(path: string, content: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await using file = await open(temporary, 'wx', 0o600)
    await file.chmod(mode)
    await file.writeFile(content)
    await file.sync()
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await rename(temporary, path)
  await using directory = await open(dirname(path))
  await directory.sync()
}
