import { Progress } from '../output/progress.ts'

/**
 * Shows how far the copy of one large file is, on a terminal while it goes. `tell` counts bytes;
 * after a break it may go back.
 */
export async function showFile<Value>(
  what: string,
  totalBytes: number,
  copy: (tell: (bytes: number) => void) => Promise<Value>,
): Promise<Value> {
  const progress = new Progress()
  const tell = (bytes: number) => {
    // Drawing is only for the eye: it never holds up the copy. A file that is quickly there shows
    // nothing.
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

/** From this size on a copy takes long enough to be watched. */
const shownBytes = 8 * 1024 * 1024
