import { printable } from './visible.ts'

/** The shortest wait that is displayed, in milliseconds. */
const shownAfterMs = 400
const drawEveryMs = 1_000

/**
 * Prints on a terminal the reason and the length of a wait, until it ends. Prints nothing
 * elsewhere.
 */
export async function whileWaiting<Answer>(
  what: string,
  work: () => Promise<Answer>,
  stream: NodeJS.WriteStream = process.stderr,
): Promise<Answer> {
  if (!stream.isTTY) return work()
  const sinceMs = performance.now()
  let isThere = false
  const draw = () => {
    const seconds = Math.round((performance.now() - sinceMs) / 1000)
    const text = seconds < 1 ? `${printable(what)}…` : `${printable(what)}… ${seconds}s`
    stream.write(`\r\u001b[K${text.slice(0, (stream.columns || 80) - 1)}`)
    isThere = true
  }
  const first = setTimeout(draw, shownAfterMs)
  const timer = setInterval(draw, drawEveryMs)
  try {
    return await work()
  } finally {
    clearTimeout(first)
    clearInterval(timer)
    if (isThere) stream.write('\r\u001b[K')
  }
}
