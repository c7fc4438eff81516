import { pause } from './pause.ts'

/** Returns the result of work, or null if it does not arrive within a time in milliseconds. */
export async function inTime<Result>(work: Promise<Result>, ms: number): Promise<Result | null> {
  const over = new AbortController()
  try {
    return await Promise.race([work, pause(ms, over.signal).then(() => null)])
  } finally {
    over.abort()
  }
}
