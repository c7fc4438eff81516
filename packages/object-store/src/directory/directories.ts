import { mkdir, open, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from './file-errors.ts'

/** Makes the directories above a key durably. The root itself is not made: it may be a mount. */
export async function makeParents(root: string, key: string): Promise<void> {
  let parent = root
  for (const segment of key.split('/').slice(0, -1)) {
    const directory = join(parent, segment)
    if (await makeDirectory(directory)) await syncDirectory(parent)
    parent = directory
  }
}

async function makeDirectory(directory: string): Promise<boolean> {
  try {
    await mkdir(directory)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Removes the directories above a key that are empty, from the lowest up. */
export async function removeEmptyParents(root: string, key: string): Promise<void> {
  for (let parent = dirname(key); parent !== '.'; parent = dirname(parent)) {
    try {
      await rmdir(join(root, parent))
    } catch {
      return // It has other files, or another machine has removed it.
    }
  }
}

/** Makes the names in a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
