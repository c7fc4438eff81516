import { stat } from 'node:fs/promises'

/** The time in milliseconds after which nobody continues to write a file. */
const unchangedMs = 3600 * 1000

/** Returns true if an unfinished file was left by a process that has ended. */
export async function isLeftover(path: string): Promise<boolean> {
  const info = await stat(path).catch(orNone(null))
  return info !== null && info.mtimeMs < Date.now() - unchangedMs
}

/** Returns a value for a file or directory that is missing. */
export function orNone<Value>(none: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return none
    throw error
  }
}
