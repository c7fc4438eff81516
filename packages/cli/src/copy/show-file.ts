import { Progress } from '../output/progress.ts'

/**
 * Shows the progress of one large file on a terminal. `tell` reports bytes; after a break the
 * number may decrease.
 */
export async function showFile<Value>(
  what: string,
  totalBytes: number,
  copy: (tell: (bytes: number) => void) => Promise<Value>,
): Promise<Value> {
  const progress = new Progress()
  const tell = (bytes: number) => {
    // The display never delays the copy. A fast copy shows nothing.
    if (process.stderr.isTTY && totalBytes >= shownBytes)
      progress.update({ phase: what, done: bytes, total: totalBytes })
  }
  try {
    const value = await copy(tell)
    progress.end(what)
    return value
  } catch (error) {
    progress.fail(`${what}: failed`)
    throw error
  }
}

/** The size from which a copy takes long enough for a display. */
const shownBytes = 8 * 1024 * 1024
